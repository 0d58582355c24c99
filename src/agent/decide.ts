/**
 * Decisions: whatever waits for someone. One state machine for all four kinds, whose differences are in `KINDS`.
 *
 *   described ─► recorded ─► routed ─┬─► remembered, given beforehand, configured, default ─► checked ─► recorded
 *      ▲             (policy: unasked)├─► model ─► escalated ─┐
 *      │                  ▲          ├─► person ◄────────────┘   elsewhere: whoever answers first
 *      │                  └──────────┴─── expired, unavailable
 *      └── void: what was decided has changed,         deferred: it waits on the record
 *                or no one was in time and others are asked
 *
 * An answer is claimed (`WaitingItem`) before it is recorded, so that only one counts, wherever it comes from.
 */
import {
  ACTIONS,
  type AnswerEvent,
  type AttemptStart,
  type CallDecisionKind,
  type Decider,
  type DecisionSubject,
  type DecisionVote,
  type DenialCause,
  digestQuestion,
  explainPerson,
  explainUnsigned,
  countVote,
  type ForWhom,
  grantOf,
  type InquiryEscalation,
  type InquiryId,
  type InquiryOutcome,
  type InquiryRequest,
  isForSeveral,
  isForSigners,
  isForSome,
  needsSignature,
  signEvent,
  isPassedOn,
  isSameWhom,
  narrowWhom,
  type KnownCancellationReason,
  PASSED_ON,
  type PermissionDecision,
  type PermissionRequestEvent,
  questionAbout,
  type Reply,
  type ReplyOrCancel,
  replyToEvent,
  type SubjectDigest,
  timestampFromDate,
  type Timestamp,
  votesOn,
  whomOf,
} from "../conversation/index.ts";
import type { PeopleTarget } from "../config/index.ts";
import { checkArguments, type ModelReply } from "../executor/index.ts";
import { addresseesOf, explainMisfit, type Question, type ToolSource } from "../tool/index.ts";
import type { Verdict } from "../policy/index.ts";
import {
  assertNever,
  isDeepEqual,
  isJpError,
  isNotLoaded,
  JpError,
  type Json,
  messageOf,
} from "../util/index.ts";
import { askModel } from "./ask-model.ts";
import type { Asked, AskedCall, AskedQuestion } from "./asked.ts";
import type { TurnContext } from "./context.ts";
import { Deadline } from "./deadline.ts";
import { type AnsweredInquiry, declineOf, withDeclines } from "./given-answers.ts";
import { explainGrant, findGrantable, type Grantable, type Granting, saveGrant } from "./grants.ts";
import { lastTurn } from "./journal.ts";
import { findNext, findRung, findWithin, peopleAt, type Rung, rungOfCall } from "./ladder.ts";
import { inquiryFailed, promptFailed, questionDeclined, tooManyAnswers } from "./model-texts.ts";
import type {
  AnsweredPrompt,
  DecisionRequest,
  NoAnswerReason,
  PromptResult,
  QuestionRequest,
} from "./ports.ts";
import type { OpenPrompt } from "./prompt-queue.ts";
import { isFromOther, personOf, promptRequest } from "./prompts.ts";
import { type PolicyKey, type Route, routeOf } from "./route.ts";
import { promptCause, stopCause, type StopCause } from "./stop-cause.ts";
import {
  changesSince,
  describeCall,
  describeDecision,
  startOf,
  voidEvent,
  targetNow,
  whomOfCall,
} from "./subject.ts";
import { judge } from "./judge.ts";
import type { WaitingItem } from "./waiting.ts";

/** How a decision ended, or that it has not. */
export type Decided =
  | DecidedHere
  /** It stays open on the record, for another process. */
  | { readonly type: "pending" }
  /** The call was stopped first. */
  | { readonly type: "stopped" };

/** It has ended: here, elsewhere, or in an earlier process. */
export interface DecidedHere {
  readonly type: "decided";
  readonly event: AnswerEvent;
  /** False for what policy decides unasked: it is recorded with what follows from it. */
  readonly isRecorded: boolean;
  /** The answer, if it is a secret. */
  readonly secret?: { readonly answer: Json; readonly note?: string };
  /** Set if a model answered a prompt that the tool wrote for it. */
  readonly reply?: ModelReply;
  /** The text for the model, if the record alone does not say it. */
  readonly message?: string;
}

/** Something has changed who decides, so it has to be routed again. */
interface Rerouted {
  readonly type: "rerouted";
}

export const PENDING = { type: "pending" } as const satisfies Decided;
const STOPPED = { type: "stopped" } as const satisfies Decided;
const REROUTED = { type: "rerouted" } as const satisfies Rerouted;

type Request = InquiryRequest | PermissionRequestEvent;

/** Shared by the questions of one attempt: the last answer lets the tool run again. */
export interface Round {
  /** How many of them have no answer. */
  open: number;
  readonly answered: AnsweredInquiry[];
  /** The start of the next attempt is on record. */
  isStarted: boolean;
  /** Whether every decision that the next attempt relies on still counts, those of this round included. */
  readonly isCurrent: (answered: readonly AnsweredInquiry[]) => Promise<boolean>;
}

/** The kinds that are reported as denied if there was no one to ask, and the setting that asks. */
const KINDS = {
  permission: { denial: "permission", key: "run" },
  delivery: { denial: "delivery", key: "result" },
  in_doubt: { denial: undefined, key: "run" },
} as const satisfies Record<
  CallDecisionKind,
  { readonly denial: "permission" | "delivery" | undefined; readonly key: PolicyKey }
>;

/** Decides about a call: asks if need be, and waits. */
export async function decideCall(context: TurnContext, asked: AskedCall): Promise<Decided> {
  const { subject, source } = await describeDecision(context, asked);
  using decision = new Decision(context, asked, { subject, ...shownSource(source) });
  const decided = await decision.decide();
  return decision.settle(decided);
}

function shownSource(source: ToolSource | undefined): Pick<DecisionSubject, "origin" | "folder"> {
  const { origin, folder = "." } = source ?? {};
  return { ...(origin !== undefined && { origin }), ...(folder !== "." && { folder }) };
}

/**
 * Undefined for what no rule decides: a result, a call that may have run, and the questions of tools that are not jp's own, which
 * are about more than whether the call may run.
 */
function grantingOf(asked: Asked): Granting | undefined {
  if (asked.kind === "delivery" || asked.kind === "in_doubt") return undefined;
  const { verdict, tool, arguments: args } = asked;
  if (verdict === undefined) return undefined;
  const about = { tool, arguments: args, verdict };
  return asked.kind === "question" ? { ...about, questionId: asked.question.id } : about;
}

/** Records questions before anything is decided about them, unless an earlier process has. Dispose of them afterwards. */
export async function openQuestions(
  context: TurnContext,
  questions: readonly AskedQuestion[],
  round: Round,
): Promise<readonly Decision[]> {
  const [first] = questions;
  if (first === undefined) return [];
  const { clock, journal, state } = context;
  const timestamp = timestampFromDate(clock.now());
  const { toolCallId, tool, arguments: args } = first;
  const call = await describeCall(context, { toolCallId, tool, arguments: args });
  // The questions of all other tools are about more than whether the call may run.
  const isOurs = call.source.origin.type === "builtin";
  const verdict = isOurs ? await judge(context, { tool, arguments: args }) : undefined;
  const judged = questions.map((asked) => (verdict === undefined ? asked : { ...asked, verdict }));
  const opened = judged.map((asked) => {
    const { recorded } = asked;
    const own = toRequest(context, asked, timestamp);
    const subject = digestQuestion(call, own);
    const shown = { subject, ...shownSource(call.source) };
    const isSame = recorded !== undefined && recorded.request.subject?.digest === subject.digest;
    if (isSame) return { asked, shown, request: recorded.request, events: [] };
    const replaced = asked.replaces ?? replacedBy(asked, subject);
    const request: InquiryRequest = {
      ...own,
      id: state.nextInquiryId(asked.toolCallId, asked.question.id),
      ...shown,
      ...(replaced !== undefined && { replaces: replaced.id }),
      ...(replaced?.isForPerson === true && { isForPerson: true }),
    };
    const isVoid = replaced !== undefined && !replaced.isRecorded;
    const events = isVoid ? [voidEvent(replaced, timestamp), request] : [request];
    return { asked, shown, request, events, changed: replaced?.changed };
  });
  const decisions = opened.map(
    ({ asked, shown, request, changed }) =>
      new Decision(context, asked, { ...shown, request, changed, round }),
  );
  const events = opened.flatMap((each) => each.events);
  if (events.length > 0) await journal.record(...events);
  return decisions;
}

/** Set if the request on record is about something else than what would be asked now. */
function replacedBy(
  { recorded }: AskedQuestion,
  subject: SubjectDigest,
): AskedQuestion["replaces"] {
  if (recorded === undefined) return undefined;
  const { id, isForPerson = false, rung = 0 } = recorded.request;
  const changed = changesSince(recorded.request.subject, subject);
  return { id, changed, isForPerson, whom: whomOf(recorded.request), rung, isRecorded: false };
}

/** Without its id and subject. What an earlier process has recorded stays, but for the deadline. */
function toRequest(
  context: TurnContext,
  asked: AskedQuestion,
  timestamp: Timestamp,
): Omit<InquiryRequest, "id"> {
  const { question, source, toolCallId, state, isBound, recorded, replaces } = asked;
  const { id: questionId, ...shown } = question;
  const earlier = recorded?.request ?? replaces?.whom;
  const { rung: before = 0 } = recorded?.request ?? replaces ?? {};
  // Its process has died before it could ask whoever is next.
  const isNext = replaces?.isRecorded === true && isPassedOn(replaces.changed);
  const rung = isNext ? before + 1 : before;
  const found = findRung(asked, rung);
  const isKept = earlier !== undefined && (!isNext || found?.type !== "people");
  const isForPerson = replaces?.isForPerson ?? recorded?.request.isForPerson ?? false;
  return {
    type: "inquiry_request",
    timestamp,
    source,
    question: shown,
    toolCallId,
    questionId,
    ...(state !== undefined && { state }),
    ...(isBound === true && { isBound }),
    ...(rung > 0 && { rung }),
    ...deadlineIn(context, findWithin(asked, { rung, isForPerson, isEscalated: false })),
    ...(isKept ? whomOf(earlier) : whomOfRung(context, found, question)),
  };
}

/** `question`: the tool that asks it may say that it is for fewer. */
function whomOfRung(
  context: TurnContext,
  rung: Rung | undefined,
  question: Pick<Question, "for"> = {},
): ReturnType<typeof whomOf> {
  const whom = rung?.type === "people" ? targetNow(context, rung.people) : {};
  return whomOf(narrowWhom(whom, addresseesOf(question)));
}

function deadlineIn(
  { clock }: Pick<TurnContext, "clock">,
  milliseconds: number | undefined,
): { readonly deadline?: Timestamp } {
  if (milliseconds === undefined) return {};
  return { deadline: timestampFromDate(new Date(clock.now().getTime() + milliseconds)) };
}

interface OpenedDecision extends DecisionSubject {
  readonly subject: SubjectDigest;
  /** Set for a question, which is on record. */
  readonly request?: InquiryRequest;
  readonly changed?: readonly string[] | undefined;
  readonly round?: Round;
}

/** One decision, from its request to its end. */
export class Decision implements Disposable {
  readonly #context: TurnContext;
  #asked: Asked;
  #opened: OpenedDecision;
  #request: Request | undefined;
  #item: WaitingItem | undefined;
  #changed: readonly string[] | undefined;
  #deadline: Deadline | undefined;
  #escalation: InquiryEscalation | undefined;
  /** What a person may add to a yes, once there is a prompt. */
  #grantable: Grantable | undefined;
  /** How much had been granted in the turn when it was judged. */
  #judgedAt = 0;
  /** Set if the prompter said that no one will answer. */
  #noAnswer: NoAnswerReason | undefined;

  constructor(context: TurnContext, asked: Asked, opened: OpenedDecision) {
    this.#context = context;
    this.#asked = asked;
    this.#opened = opened;
    this.#changed = opened.changed;
    const { request } = opened;
    if (request === undefined || asked.kind !== "question") {
      const waiting = this.#waiting();
      // Its time may be up by now.
      const isSame = waiting?.subject?.digest === opened.subject.digest;
      if (isSame && waiting?.deadline !== undefined) this.#open(waiting);
      return;
    }
    this.#escalation = asked.recorded?.request === request ? asked.recorded.escalation : undefined;
    this.#open(request);
  }

  /** It no longer waits here. */
  [Symbol.dispose](): void {
    this.#deadline?.stop();
    this.#item?.[Symbol.dispose]();
  }

  get asked(): Asked {
    return this.#asked;
  }

  /** The request as it is on record, once it is. */
  get request(): Request | undefined {
    return this.#request;
  }

  /** The id on record. Empty before it is recorded. */
  get id(): string {
    return this.#request?.id ?? "";
  }

  /** Who may decide. */
  get whom(): ForWhom {
    return whomOf(this.#request ?? this.#unrecorded());
  }

  /** Aborted when it must not wait here any longer, for whatever reason. */
  get signal(): AbortSignal {
    const { signal } = this.#asked;
    const others = [this.#item?.signal, this.#deadline?.signal].filter(
      (each) => each !== undefined,
    );
    return AbortSignal.any([signal, ...others]);
  }

  /** It was answered elsewhere, or not in time. In both cases its route is another one now. */
  get hasChanged(): boolean {
    return this.#item?.signal.aborted === true || this.#deadline?.signal.aborted === true;
  }

  /** Routes it and gets it decided. */
  async decide(): Promise<Decided> {
    const { signal } = this.#asked;
    for (;;) {
      if (signal.aborted) return this.cancel(stopCause(signal));
      const decided = await this.follow(this.route());
      if (decided.type !== "rerouted") return decided;
    }
  }

  /** To be called once it no longer waits: an answer from elsewhere may have come after it was left for later. */
  async settle(decided: Decided): Promise<Decided> {
    return decided.type === "decided" || this.#item?.elsewhere === undefined
      ? decided
      : this.#endElsewhere(this.#item);
  }

  route(): Route {
    if (this.#item?.elsewhere !== undefined) return { type: "elsewhere" };
    const request = this.#request ?? this.#unrecorded();
    const { name } = this.#asked.tool.settings;
    return routeOf(this.#context, this.#asked, {
      digest: this.#opened.subject.digest,
      remembered: this.#context.state.find(name, request),
      whom: whomOf(request),
      votes: this.#votes(),
      isForPerson: request.isForPerson,
      escalation: this.#escalation,
      rung: request.rung,
      hasNext: this.#next() !== undefined,
      isOverdue: this.#noAnswer === "timed_out" || this.#deadline?.signal.aborted === true,
      isUnavailable: this.#noAnswer === "unavailable",
    });
  }

  #soFar() {
    const { rung = 0, isForPerson = false } = this.#request ?? this.#unrecorded();
    return { rung, isForPerson, isEscalated: this.#escalation !== undefined };
  }

  /** Who is asked once time is up. */
  #next(): Rung | undefined {
    return findNext(this.#asked, this.#soFar());
  }

  /** What people have said so far, if several have to. */
  #votes(): readonly DecisionVote[] {
    const { id } = this;
    if (id === "" || !isForSeveral(this.whom)) return [];
    return votesOn(lastTurn(this.#context.journal), id as InquiryId); // It is on record.
  }

  /** No person will answer: it ends if the client declined, and takes another route otherwise. */
  async giveUp(reason: NoAnswerReason): Promise<Decided | Rerouted> {
    if (reason === "declined_by_client") return this.#decline(reason);
    this.#noAnswer = reason;
    return REROUTED;
  }

  /** Gets it decided by this route. Whatever asks someone is on record before. */
  async follow(route: Route): Promise<Decided | Rerouted> {
    if (route.type === "policy") return this.#decideByPolicy(route);
    await this.#ensureRecorded();
    switch (route.type) {
      case "elsewhere":
        return this.#item === undefined ? PENDING : this.#endElsewhere(this.#item);
      case "person":
        return this.#askPerson();
      case "deferred":
        return PENDING;
      case "refused":
        if (route.reason === "no_prompt_backend") this.#addDenial("question");
        return this.#refuseBy(route);
      case "passed_on":
        return this.#passOn();
      case "escalated":
        return this.#escalate({ outcome: "cancelled", reason: "timed_out" });
      case "upheld":
        // It was counted when the model was asked.
        return this.#answer({ answer: false }, route.answeredBy, { why: route.answerReason });
      case "given":
        return this.#answerUncounted(route) ?? this.#answer(route, route.decidedBy);
      case "remembered": {
        const by: Decider = { kind: "remembered", from: route.from };
        return this.#answerUncounted(route) ?? this.#answer({ answer: route.answer }, by);
      }
      case "configured": {
        const by: Decider = { kind: "config", key: route.key };
        return this.#answerUncounted(route) ?? this.#answer({ answer: route.answer }, by);
      }
      case "ruled":
        this.#noteUsed(this.#asked.verdict);
        return this.#answerUncounted(route) ?? this.#answer(route, this.#policy());
      case "default":
        return (
          this.#answerUncounted(route) ??
          this.#answer({ answer: route.answer }, { kind: "default" })
        );
      case "model":
        return this.#answerUncounted(route) ?? this.#askModel(route);
      default:
        return assertNever(route);
    }
  }

  /** Ends a question without an answer. `message` is for the model. */
  async refuse(
    reason: KnownCancellationReason,
    message: string,
    problem?: string,
  ): Promise<Decided> {
    const detail = problem === undefined || problem === "" ? {} : { problem };
    return this.#endQuestion({ outcome: "cancelled", reason, ...detail }, { message });
  }

  /**
   * Ends it because the call or the prompt was stopped. A question ends only by its tool or a person; anything else that
   * is interrupted waits for another process.
   */
  async cancel(cause: StopCause): Promise<Decided> {
    if (this.#item?.elsewhere !== undefined) return this.#endElsewhere(this.#item);
    const asked = this.#asked;
    if (asked.kind !== "question") {
      if (asked.signal.aborted) return STOPPED;
      return cause === "interrupted"
        ? PENDING
        : this.#decideBy({ isCancelled: true }, this.#person());
    }
    const isWithdrawn = asked.withdrawn?.aborted === true && asked.signal.aborted;
    if (cause === "interrupted" && !isWithdrawn) return PENDING;
    return this.#endQuestion({ outcome: "cancelled", reason: cause }, {});
  }

  /** The request for a prompter. */
  toPrompt(signal: AbortSignal): DecisionRequest {
    const request = this.#request;
    if (request === undefined) throw new Error("it is not on record");
    const [escalation, changed] = [this.#escalation, this.#changed];
    const shown = { request, escalation, changed, signal, grantable: this.#grantable };
    return promptRequest(this.#context, this.#asked, shown);
  }

  /** The same for a field of a form. */
  toField(signal: AbortSignal): QuestionRequest {
    const prompt = this.toPrompt(signal);
    if (prompt.kind !== "question") throw new Error("it is not a question");
    return prompt;
  }

  /** Checks and records what a prompter returned. `signal` is the one that the prompter got. */
  async accept(result: PromptResult, signal: AbortSignal): Promise<Decided | Rerouted> {
    if (result.inquiryId !== this.id) return this.failPrompt("the answer is for another question");
    if (this.#item?.elsewhere !== undefined) return this.#endElsewhere(this.#item);
    if (result.type === "later") return PENDING;
    if (result.type === "unanswered" && !signal.aborted) {
      return this.giveUp(result.reason);
    }
    if (result.type === "form") return this.failPrompt("the answer is for a form");
    if (result.type !== "answered") {
      const cause = promptCause(result, signal);
      const isNamed = cause === "user" && result.type === "cancelled";
      if (this.#asked.kind === "question" || !isNamed || this.#asked.signal.aborted) {
        return this.cancel(cause);
      }
      return this.#decideBy({ isCancelled: true }, this.#person(result));
    }
    return this.#acceptAnswer(result, signal);
  }

  async failPrompt(message: string): Promise<Decided> {
    const { kind } = this.#asked;
    if (kind === "question") {
      return this.refuse("backend_error", promptFailed("Question", message), message);
    }
    return this.#decideByPolicy({
      isApproved: false,
      key: KINDS[kind].key,
      cause: "prompt_failed",
      problem: message,
    });
  }

  #decline(reason: "declined_by_client"): Promise<Decided> {
    const { kind, tool } = this.#asked;
    if (kind === "question") return this.refuse(reason, questionDeclined(tool.settings.name));
    return this.#decideByPolicy({ isApproved: false, key: KINDS[kind].key, cause: reason });
  }

  #person(decided?: { readonly userName?: string }): Decider {
    return personOf(this.#context, this.whom, decided);
  }

  async #askPerson(): Promise<Decided | Rerouted> {
    // What is for some is shown to them alone.
    const isGathered =
      this.#asked.kind === "permission" &&
      this.#context.prompter.showsPermissions === true &&
      !isForSome(this.whom);
    const { signal } = this;
    using open = await this.#context.prompts.open(signal, this.#asked.place, { isGathered });
    if (open === undefined) return this.#closed();
    // While this waited, the person may have decided the same for the whole turn, or for longer. Other routes are
    // followed outside the queue, so that no prompt waits for them.
    await this.#judgeAgain();
    return this.route().type === "person" ? await this.#prompt(open) : REROUTED;
  }

  /** If something was granted since. */
  async #judgeAgain(): Promise<void> {
    const asked = this.#asked;
    const { grantCount } = this.#context.state;
    if (asked.kind === "delivery" || asked.verdict === undefined) return;
    if (grantCount === this.#judgedAt) return;
    this.#judgedAt = grantCount;
    const { tool, arguments: args } = asked;
    const verdict = await judge(this.#context, { tool, arguments: args });
    this.#asked = { ...asked, verdict };
  }

  async #prompt(open: OpenPrompt): Promise<Decided | Rerouted> {
    const { signal, member } = open;
    let result: PromptResult | undefined;
    try {
      // No rule decides what only some people may decide.
      if (!isForSome(this.whom))
        this.#grantable = await findGrantable(this.#context, grantingOf(this.#asked));
      const { prompter } = this.#context;
      const request = this.toPrompt(signal);
      const isOneOfSeveral = member !== undefined && request.kind === "permission";
      result = await (isOneOfSeveral ? member.ask(request, prompter) : prompter.ask(request));
    } catch (error) {
      if (isNotLoaded(error)) throw error; // No one has seen the prompt: it stays open.
      return this.failPrompt(messageOf(error));
    } finally {
      open.end(); // Ctrl-C while the answer is recorded is about the work.
    }
    if (result === undefined) {
      this.#asked.place.retake(); // Before this one closes: what is left of them is asked together again.
      return REROUTED;
    }
    const isClosed = result.type !== "answered";
    if (isClosed && this.hasChanged) return REROUTED;
    return this.accept(result, signal);
  }

  /** Its `signal` was aborted. */
  async #closed(): Promise<Decided | Rerouted> {
    return this.hasChanged ? REROUTED : this.cancel(stopCause(this.#asked.signal));
  }

  /** Remembers the answer only if that is allowed, and never remembers a secret. */
  async #acceptAnswer(result: AnsweredPrompt, signal: AbortSignal): Promise<Decided> {
    const asked = this.#asked;
    const prompt = this.toPrompt(signal);
    if (isFromOther(this.#context, prompt, result)) return PENDING;
    const misfit =
      explainMisfit(prompt.question.answerType, result.answer) ??
      (result.grant && (await explainGrant(this.#grantable, result.grant.rule)));
    if (misfit !== undefined) return this.failPrompt(misfit);
    // Some prompters report that they were closed as a no. That is not the person's decision.
    const isNo = asked.kind !== "question" && result.answer === false;
    if (isNo && signal.aborted) return this.cancel(stopCause(signal));
    const isRemembered = result.isRemembered === true && prompt.canRemember;
    return this.#answer({ ...result, isRemembered }, this.#person(result));
  }

  async #askModel(route: Extract<Route, { type: "model" }>): Promise<Decided | Rerouted> {
    const asked = this.#asked;
    if (asked.kind !== "question") throw new Error("only questions go to a model");
    const inquiryId = this.id as InquiryId; // It is on record.
    asked.place.pass(); // A model may take its time.
    const result = await askModel(this.#context, {
      ...asked,
      ...route,
      inquiryId,
      signal: this.signal,
    });
    switch (result.type) {
      case "answered": {
        const { answer, answeredBy, answerReason: why, reply } = result;
        return this.#answer({ answer }, answeredBy, { why, reply });
      }
      case "escalated":
        return this.#escalate(result.outcome);
      case "failed": {
        const { problem } = result;
        const content = inquiryFailed(asked.tool.settings.name, asked.question, problem);
        return this.refuse("backend_error", content, problem);
      }
      case "cancelled":
        return this.#closed();
      default:
        return assertNever(result);
    }
  }

  /** Leaves the question to a person, with what the model made of it on record. */
  async #escalate(outcome: InquiryOutcome): Promise<Rerouted> {
    const asked = this.#asked;
    if (asked.kind !== "question" || this.#item?.elsewhere !== undefined) return REROUTED;
    const { onTimeout } = asked.tool.settings.questions.get(asked.question.id) ?? {};
    // It was the model's alone. Otherwise one deadline is for both of them.
    if (onTimeout === "escalate") {
      this.#deadline?.stop();
      this.#deadline = undefined;
    }
    // Unless the person has a time of their own.
    const rung = findRung(asked, this.#soFar().rung);
    const { withinMs } = rung?.type === "people" ? rung.people : {};
    const escalation: InquiryEscalation = {
      type: "inquiry_escalation",
      timestamp: this.#now(),
      id: this.id as InquiryId, // It is on record.
      ...outcome,
      ...(this.#deadline !== undefined && { deadline: this.#deadline.at }),
      ...deadlineIn(this.#context, withinMs),
    };
    await this.#context.journal.record(escalation);
    this.#escalation = escalation;
    if (withinMs !== undefined) this.#startDeadline(escalation);
    return REROUTED;
  }

  /** No one has decided in time: whoever is next is asked the same, under another id. */
  async #passOn(): Promise<Rerouted> {
    const { journal, state } = this.#context;
    const [request, item] = [this.#request, this.#item];
    if (request === undefined) throw new Error("it is not on record");
    await state.waiting.counted(request.id);
    if (item?.takeHere() === false) return REROUTED;
    const next = await this.#nextRequest(request);
    const madeVoid = voidEvent({ id: request.id, changed: PASSED_ON }, next.timestamp);
    const { deadline: _deadline, ...said } = this.#escalation ?? {};
    const { timestamp, deadline } = next;
    const escalation =
      this.#escalation === undefined
        ? []
        : [{ ...said, timestamp, id: next.id, ...(deadline && { deadline }) } as InquiryEscalation]; // With the fields of the earlier one.
    [this.#escalation] = escalation;
    this.#changed = PASSED_ON;
    this.#noAnswer = undefined;
    this.#open(next); // Before it is on record: from then on it may be answered elsewhere.
    await journal.record(madeVoid, next, ...escalation);
    item?.[Symbol.dispose]();
    return REROUTED;
  }

  /** The same for whoever is next, as it is now. A model is asked while those before it may still answer. */
  async #nextRequest(request: Request): Promise<Request> {
    const { state } = this.#context;
    const asked = this.#asked;
    const next = this.#next();
    const soFar = this.#soFar();
    const rung = soFar.rung + 1;
    const question = asked.kind === "question" ? asked.question : {};
    const whom =
      next?.type === "people" ? whomOfRung(this.#context, next, question) : whomOf(request);
    const { metadata: _metadata, extra: _extra, deadline: _deadline, ...known } = request;
    const { for: _for, forAny: _forAny, terms: _terms, ...same } = known;
    const again = {
      timestamp: this.#now(),
      rung,
      replaces: request.id,
      ...whom,
      ...deadlineIn(this.#context, findWithin(asked, { ...soFar, rung })),
    };
    if (asked.kind === "question") {
      if (same.type !== "inquiry_request") throw new Error("a question has another request");
      const { toolCallId, tool, arguments: args } = asked;
      const call = await describeCall(this.#context, { toolCallId, tool, arguments: args });
      const id = state.nextInquiryId(toolCallId, asked.question.id);
      const own = { ...same, ...again, id };
      const shown = { subject: digestQuestion(call, own), ...shownSource(call.source) };
      this.#opened = { ...this.#opened, ...shown };
      return { ...own, ...shown };
    }
    if (same.type !== "permission_request") throw new Error("a call has another request");
    const action = ACTIONS[asked.kind];
    const { progress } = asked;
    const id = state.nextPermissionId(progress.request.id, action);
    const own = { ...same, ...again, id };
    const call = this.#withRequest(asked, own);
    this.#asked = call;
    const { subject, source } = await describeDecision(this.#context, call);
    const shown = { subject, ...shownSource(source) };
    this.#opened = { ...this.#opened, ...shown };
    return { ...own, ...shown };
  }

  #withRequest(asked: AskedCall, request: PermissionRequestEvent): AskedCall {
    const { progress } = asked;
    const permissions = { ...progress.permissions, [ACTIONS[asked.kind]]: { request } };
    return { ...asked, progress: { ...progress, permissions } };
  }

  /** Counts an answer to a question without a person. Returns how it ends if there were too many. */
  #answerUncounted(route: Route): Promise<Decided> | undefined {
    const asked = this.#asked;
    if (asked.kind !== "question" || route.type === "upheld") return undefined;
    const limit = asked.budget.countAnswer();
    if (limit === undefined) return undefined;
    const { name } = asked.tool.settings;
    return this.refuse("attempts_exhausted", tooManyAnswers(name, limit));
  }

  /** The model that made the call learns if another one has said no. */
  #refuseBy({ reason, message, problem }: Extract<Route, { type: "refused" }>): Promise<Decided> {
    const [asked, escalation] = [this.#asked, this.#escalation];
    if (asked.kind !== "question" || escalation?.outcome !== "answered") {
      return this.refuse(reason, message, problem);
    }
    const { question } = asked;
    const noted = withDeclines(message, [{ question, ...declineOf(question, escalation) }]);
    return this.refuse(reason, noted, problem);
  }

  /** Takes a reply that fits. Arguments that were edited are checked first, and make a subject of their own. */
  async #answer(
    reply: Reply & Pick<AnsweredPrompt, "userName">,
    by: Decider,
    {
      why,
      reply: modelReply,
    }: { readonly why?: string | undefined; readonly reply?: ModelReply | undefined } = {},
  ): Promise<Decided> {
    const asked = this.#asked;
    if (asked.kind !== "question") return this.#decideBy(reply, by);
    const { allowsNote = false, answerType } = asked.question;
    const { note = "", answer } = reply;
    const isNo = answerType.type === "boolean" && answer === false;
    const given = {
      answer,
      isRemembered: reply.isRemembered ?? false,
      // Whoever says no may always say why.
      ...((allowsNote || isNo) && { note }),
      ...(reply.redirects === true && { redirects: true }),
      ...(reply.grant !== undefined && { grant: reply.grant }),
    };
    const live = {
      ...(answerType.type === "secret" && {
        secret: { answer, ...(allowsNote && note !== "" && { note }) },
      }),
      ...(modelReply !== undefined && { reply: modelReply }),
    };
    const event = replyToEvent(this.#decidable(), given, { by, at: this.#now() });
    if (event.type !== "inquiry_response") throw new Error("a question has another response");
    const isReasoned = why !== undefined && event.outcome === "answered";
    return this.#end(isReasoned ? { ...event, answerReason: why } : event, live);
  }

  #endQuestion(outcome: InquiryOutcome, live: Partial<DecidedHere>): Promise<Decided> {
    const response = { type: "inquiry_response" as const, timestamp: this.#now() };
    return this.#end({ ...response, id: this.id as InquiryId, ...outcome }, live); // It is on record.
  }

  /** A reply to a decision about a call. */
  async #decideBy(
    reply: ReplyOrCancel & Pick<AnsweredPrompt, "userName">,
    by: Decider,
  ): Promise<Decided> {
    const asked = this.#asked;
    const edited = "arguments" in reply ? reply.arguments : undefined;
    if (asked.kind !== "permission" || edited === undefined) {
      return this.#end(replyToEvent(this.#decidable(), reply, { by, at: this.#now() }));
    }
    const checked = await checkArguments(asked.tool.description, edited);
    if (!checked.ok) {
      const problem = checked.message;
      return this.#decideByPolicy({
        isApproved: false,
        key: "run",
        cause: "prompt_failed",
        problem,
      });
    }
    const { arguments: args } = checked;
    // A rule may stop what the person has made of the call.
    const verdict = await judge(this.#context, { tool: asked.tool, arguments: args });
    if (verdict.mode === "skip") {
      const cause = verdict.cause ?? "skipped";
      return this.#decideByPolicy({ isApproved: false, key: "run", cause, verdict });
    }
    const other = targetNow(this.#context, this.#peopleAfterEdit(verdict));
    // What the call has become may be for others to decide.
    if (verdict.mode !== "unattended" && by.kind === "user") {
      const problem = explainPerson(other, personOf(this.#context, other, reply));
      const denied = { isApproved: false, key: "run", cause: "skipped", verdict } as const;
      if (problem !== undefined) return this.#decideByPolicy({ ...denied, problem });
    }
    // It may take more than it did, whoever has been asked so far.
    const isStricter = other.terms !== undefined && !isSameWhom(other, this.whom);
    const isAskedAnew = isStricter || isForSeveral(this.whom);
    const isPerson = by.kind === "user" && by.auth !== "owner";
    if (isAskedAnew && isPerson && "answer" in reply && reply.answer === true) {
      const whom = isStricter ? other : this.whom;
      return this.#askAboutEdited({ ...asked, arguments: args, verdict }, { reply, by, whom });
    }
    const { subject } = await describeDecision(this.#context, { ...asked, arguments: args });
    const decidable = { ...this.#decidable(), digest: subject.digest };
    return this.#end(
      replyToEvent(decidable, { ...reply, arguments: args }, { by, at: this.#now() }),
    );
  }

  /** Whoever has been passed over stays so, unless the call has become one for others. */
  #peopleAfterEdit({ target = {} }: Verdict): PeopleTarget {
    const isSame = isDeepEqual(target, this.#asked.verdict?.target ?? {});
    const { rung } = this.#soFar();
    return (isSame ? peopleAt(target, rung) : undefined) ?? target;
  }

  async #decideByPolicy({
    isApproved,
    key,
    cause,
    problem,
    verdict,
  }: {
    readonly isApproved: boolean;
    readonly key: PolicyKey;
    readonly cause?: DenialCause;
    readonly problem?: string;
    /** On other arguments than those that were asked about. */
    readonly verdict?: Verdict;
  }): Promise<Decided> {
    const asked = this.#asked;
    if (asked.kind === "question") throw new Error("questions have no policy");
    const { name: tool } = asked.tool.settings;
    const { denial } = KINDS[asked.kind];
    if (cause === "unavailable" && denial !== undefined) this.#addDenial(denial);
    if (isApproved) this.#noteUsed(asked.verdict);
    const event: PermissionDecision = {
      type: "permission_decision",
      timestamp: this.#now(),
      toolCallId: asked.toolCallId,
      tool,
      action: ACTIONS[asked.kind],
      decision: isApproved ? "approved" : "denied",
      decidedBy: this.#policy(key, verdict),
      ...(cause !== undefined && { cause }),
      ...(problem !== undefined && { problem }),
      ...this.#checked(),
      digest: this.#opened.subject.digest,
    };
    if (this.#request === undefined && this.#waiting() === undefined) {
      return { type: "decided", event, isRecorded: false };
    }
    await this.#ensureRecorded();
    return this.#end({ ...event, id: this.id as InquiryId }); // It is on record.
  }

  /** What the tool itself has said of a call in doubt. */
  #checked(): Pick<PermissionRequestEvent, "check"> {
    const asked = this.#asked;
    if (asked.kind !== "in_doubt") return {};
    const { check = asked.progress.permissions.rerun?.request?.check } = asked;
    return check === undefined ? {} : { check };
  }

  /** What decided unasked: a rule, the mode, or a setting of the tool. */
  #policy(key: PolicyKey = "run", verdict = this.#asked.verdict): Decider {
    const isSetting = key === "detached.run" || key === "detached.deliver";
    if (verdict === undefined || isSetting) {
      const { name } = this.#asked.tool.settings;
      return { kind: "policy", key: `conversation.tools.${name}.${key}` };
    }
    const { key: place, rules } = verdict;
    return { kind: "policy", key: place, ...(rules !== undefined && { rules }) };
  }

  #noteUsed(verdict: Verdict | undefined): void {
    if (verdict?.rules !== undefined) this.#context.policy?.grants?.noteUsed(verdict.rules);
  }

  #addDenial(what: "question" | "permission" | "delivery"): void {
    this.#context.state.addDenial({ tool: this.#asked.tool.settings.name, what });
  }

  #now(): Timestamp {
    return timestampFromDate(this.#context.clock.now());
  }

  #decidable() {
    const asked = this.#asked;
    const { name: tool } = asked.tool.settings;
    return {
      kind: asked.kind,
      id: this.id as InquiryId, // It is on record.
      tool,
      toolCallId: asked.toolCallId,
      question: asked.kind === "question" ? asked.question : questionAbout(asked.kind, tool),
      digest: this.#opened.subject.digest,
      result: asked.kind === "delivery" ? asked.result : undefined,
    };
  }

  /** The request of an earlier process that still waits, of a decision about a call. */
  #waiting(): PermissionRequestEvent | undefined {
    const asked = this.#asked;
    if (asked.kind === "question") return undefined;
    const { request, decision } = asked.progress.permissions[ACTIONS[asked.kind]] ?? {};
    return decision === undefined ? request : undefined;
  }

  #unrecorded(): Omit<PermissionRequestEvent, "id" | "timestamp"> {
    const asked = this.#asked;
    if (asked.kind === "question") throw new Error("the question is not on record");
    const { subject, origin, folder } = this.#opened;
    const action = ACTIONS[asked.kind];
    const { request, isForPerson = request?.isForPerson } =
      asked.progress.permissions[action] ?? {};
    return {
      type: "permission_request",
      toolCallId: asked.toolCallId,
      tool: asked.tool.settings.name,
      action,
      ...(asked.kind === "delivery" ? { result: asked.result } : { arguments: asked.arguments }),
      ...this.#checked(),
      subject,
      ...(origin !== undefined && { origin }),
      ...(folder !== undefined && { folder }),
      ...(isForPerson === true && { isForPerson }),
      ...whomOf(whomOfCall(this.#context, asked)),
      ...(rungOfCall(asked) > 0 && { rung: rungOfCall(asked) }),
    };
  }

  /** Before someone is asked about a call. What an earlier process has asked counts if it is about the same. */
  async #ensureRecorded(): Promise<void> {
    const asked = this.#asked;
    if (this.#request !== undefined || asked.kind === "question") return;
    const { journal, state } = this.#context;
    const { subject } = this.#opened;
    const waiting = this.#waiting();
    if (waiting !== undefined && waiting.subject?.digest === subject.digest) {
      this.#open(waiting);
      return;
    }
    const timestamp = this.#now();
    const action = ACTIONS[asked.kind];
    const { madeVoid } = asked.progress.permissions[action] ?? {};
    const replaced =
      waiting === undefined
        ? madeVoid
        : voidEvent({ id: waiting.id, changed: changesSince(waiting.subject, subject) }, timestamp);
    const request: PermissionRequestEvent = {
      ...this.#unrecorded(),
      timestamp,
      id: state.nextPermissionId(asked.progress.request.id, action),
      ...deadlineIn(this.#context, findWithin(asked, this.#soFar())),
      ...(replaced !== undefined && { replaces: replaced.id }),
    };
    this.#changed = replaced?.changed;
    // Before it is on record: from then on it may be answered elsewhere.
    this.#open(request);
    const events =
      waiting === undefined || replaced === undefined ? [request] : [replaced, request];
    await journal.record(...events);
  }

  #open(request: Request): void {
    this.#request = request;
    this.#item = this.#context.state.waiting.open(request.id);
    this.#startDeadline(this.#escalation ?? request);
  }

  #startDeadline({
    deadline,
    timestamp,
  }: Pick<Request, "timestamp"> & { readonly deadline?: Timestamp }): void {
    this.#deadline?.stop();
    this.#deadline =
      deadline === undefined ? undefined : new Deadline(this.#context.clock, deadline, timestamp);
  }

  /** Records what someone has said here, if others have to say the same. Undefined if it decides. */
  async #count(event: AnswerEvent): Promise<Decided | undefined> {
    const whom = { ...this.whom, askedAt: this.#request?.timestamp };
    if (!isForSeveral(whom)) return undefined;
    const { journal, state, directory } = this.#context;
    const { waiting } = state;
    await waiting.counted(this.id);
    if (this.#item?.elsewhere !== undefined) return undefined;
    const counted = countVote({ ...whom, votes: this.#votes() }, event, directory);
    if (counted.type === "decides") return undefined;
    if (counted.type === "counts") await waiting.count(this.id, () => journal.record(counted.vote));
    return PENDING;
  }

  /** The person has made something else of the call, which has to be looked at anew: what was said before is void. */
  async #askAboutEdited(
    edited: AskedCall,
    { reply, by, whom }: { readonly reply: Reply; readonly by: Decider; readonly whom: ForWhom },
  ): Promise<Decided> {
    const { journal, state } = this.#context;
    const timestamp = this.#now();
    const replaced = { id: this.id as InquiryId, changed: ["arguments"] }; // It is on record.
    const { for: _for, forAny: _forAny, terms: _terms, ...same } = this.#unrecorded();
    const asked: PermissionRequestEvent = {
      ...same,
      timestamp,
      id: state.nextPermissionId(edited.progress.request.id, "run"),
      arguments: edited.arguments,
      isEdited: true,
      replaces: replaced.id,
      ...whomOf(whom),
      ...(this.#request?.deadline !== undefined && { deadline: this.#request.deadline }),
    };
    const { subject } = await describeDecision(this.#context, this.#withRequest(edited, asked));
    await state.waiting.counted(this.id);
    if (this.#item?.takeHere() === false) return this.#endElsewhere(this.#item);
    const request = { ...asked, subject };
    const decidable = { ...this.#decidable(), id: request.id, digest: subject.digest };
    const { arguments: _, ...said } = reply;
    const counted = countVote(whom, replyToEvent(decidable, said, { by, at: timestamp }));
    // What has to be signed is signed when it is asked about as it is now.
    const vote = counted.type === "counts" && !isForSigners(whom) ? [counted.vote] : [];
    await journal.record(voidEvent(replaced, timestamp), request, ...vote);
    return PENDING;
  }

  /** What a person has to sign, they sign before it is recorded. Undefined if they cannot: they are told, and it stays open. */
  async #sign(event: AnswerEvent): Promise<AnswerEvent | undefined> {
    const { directory, observer } = this.#context;
    if (!isForSigners(this.whom) || !needsSignature(this.whom, event)) return event;
    try {
      const signed = await signEvent(event, directory);
      const asked = { ...this.whom, askedAt: this.#request?.timestamp };
      const problem = explainUnsigned(asked, signed, directory);
      if (problem === undefined) return signed;
      throw new JpError("cannot_sign", `This could not be signed: ${problem}.`);
    } catch (error) {
      if (!isJpError(error) || error.code !== "cannot_sign") throw error;
      const { message, hint } = error;
      const notice = hint === undefined ? message : `${message}\n${hint}`;
      const inquiryId = this.id as InquiryId; // It is on record.
      const { toolCallId } = this.#asked;
      observer?.observe({ type: "notice", message: notice, inquiryId, toolCallId });
      return undefined;
    }
  }

  /** Records how it ended here, unless it was answered elsewhere before. */
  async #end(given: AnswerEvent, live: Partial<DecidedHere> = {}): Promise<Decided> {
    const event = await this.#sign(given);
    if (event === undefined) return PENDING;
    const counted = await this.#count(event);
    if (counted !== undefined) return counted;
    if (this.#item?.takeHere() === false) return this.#endElsewhere(this.#item);
    await this.#context.journal.record(event, ...(await this.#startAfter(event)));
    this.#remember(event);
    if (grantOf(event) !== undefined)
      await saveGrant(this.#context, grantingOf(this.#asked), event);
    return { ...live, type: "decided", event, isRecorded: true };
  }

  /** The answer from elsewhere is on record already. */
  async #endElsewhere(item: WaitingItem): Promise<Decided> {
    const event = await item.elsewhere;
    if (event === undefined) return PENDING;
    const start = await this.#startAfter(event);
    if (start.length > 0) await this.#context.journal.record(...start);
    this.#remember(event);
    if (grantOf(event) !== undefined)
      await saveGrant(this.#context, grantingOf(this.#asked), event);
    const secret = item.secret?.reveal();
    return { type: "decided", event, isRecorded: true, ...(secret !== undefined && { secret }) };
  }

  /** The last answer of a round lets the tool run again, which is recorded in the same write. */
  async #startAfter(event: AnswerEvent): Promise<readonly AttemptStart[]> {
    const { round } = this.#opened;
    const [asked, request] = [this.#asked, this.#request];
    if (round === undefined || asked.kind !== "question") return [];
    if (event.type !== "inquiry_response" || event.outcome === "cancelled") return [];
    if (request?.type !== "inquiry_request") return [];
    round.open -= 1;
    round.answered.push({ request, response: event });
    if (round.open > 0 || !(await round.isCurrent(round.answered))) return [];
    round.isStarted = true;
    return [startOf(this.#context, asked, this.#now())];
  }

  #remember(event: AnswerEvent): void {
    const request = this.#request;
    const { name } = this.#asked.tool.settings;
    if (request !== undefined) this.#context.state.remember(name, request, event);
  }
}
