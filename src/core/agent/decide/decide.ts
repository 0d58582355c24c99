/**
 * The path of a decision, from asking to the record. One loop for all four kinds; `kinds.ts` has the differences.
 *
 *   opened ─► recorded ─► routed ─┬─► remembered, given beforehand, configured, default ─┐
 *     ▲           (policy: unasked)├─► model ─► escalated ─┐                              ├─► settled: judged, claimed, recorded
 *     │                ▲          ├─► person ◄────────────┘   elsewhere: who is first ───┘
 *     │                └──────────┴─── overdue, unavailable
 *     └── void: the subject has changed,              deferred: it waits on the record
 *               or no one was in time and others are asked
 */
import {
  type Decider,
  type ForWhom,
  type InquiryOutcome,
  isForSome,
  type KnownCancellationReason,
  refuse,
  STRANGER_CODES,
} from "../../../record/conversation/index.ts";
import { assertNever, isNotLoaded, messageOf } from "../../../util/index.ts";
import { askModel } from "../ask-model.ts";
import type { Asked, AskedCall, AskedQuestion } from "../asked.ts";
import type { TurnContext } from "../context.ts";
import { directoryMissing } from "../directory-missing.ts";
import { answerIn, type GivenAnswer, withDeclines } from "../given-answers.ts";
import { explainGrant, findGrantable, type Grantable } from "../grants.ts";
import { findNext } from "../ladder.ts";
import {
  cancelledText,
  inquiryFailed,
  promptFailed,
  questionDeclined,
  tooManyAnswers,
} from "../model-texts.ts";
import { warnOnce } from "../observer.ts";
import type {
  AnsweredPrompt,
  DecisionRequest,
  NoAnswerReason,
  PromptResult,
  QuestionRequest,
} from "../ports.ts";
import type { OpenPrompt } from "../prompt-queue.ts";
import { personOf, promptRequest } from "../prompts.ts";
import { type Route, routeOf, withConfiguredExclusive } from "../route.ts";
import { promptCause, stopCause, type StopCause } from "../stop-cause.ts";
import { verdictOf } from "../verdict-of.ts";
import { kindOf } from "./kinds.ts";
import { openCall, type OpenDecision, openQuestions, type Round } from "./open.ts";
import {
  cancelQuestion,
  type Decided,
  decideByPolicy,
  type GivenReply,
  grantingOf,
  type NotCounted,
  noteUsed,
  PENDING,
  policyOf,
  settleElsewhere,
  settleReply,
} from "./settle.ts";

export type { Round } from "./open.ts";
export { type Decided, PENDING } from "./settle.ts";

/** The decider may have changed, so it has to be routed again. */
interface Rerouted {
  readonly type: "rerouted";
}

const STOPPED = { type: "stopped" } as const satisfies Decided;
const REROUTED = { type: "rerouted" } as const satisfies Rerouted;

/** Decides about a call, asking and waiting if necessary. */
export async function decideCall(context: TurnContext, asked: AskedCall): Promise<Decided> {
  using decision = new Decision(await openCall(context, asked));
  return decision.settle(await decision.decide());
}

/** The answers in the order of the questions, or why one of them has none. */
export type QuestionsResult =
  | {
      readonly type: "answered";
      readonly answers: readonly GivenAnswer[];
      /** The start of the next attempt is on record. */
      readonly isStarted: boolean;
    }
  | Unanswered
  | typeof PENDING;

/** The call ends here, and the model sees `content`. */
export interface Unanswered {
  readonly type: "unanswered";
  readonly reason: KnownCancellationReason | { readonly unknown: string };
  readonly content: string;
  readonly isError: boolean;
}

type QuestionResult = ({ readonly type: "answered" } & GivenAnswer) | Unanswered | typeof PENDING;

/** Asks several questions together: see `form.ts`. */
export type AskForm = (
  context: TurnContext,
  decisions: readonly Decision[],
) => Promise<readonly Decided[]>;

/** How the questions of an attempt are asked. */
export interface Attempting {
  /**
   * Whether everything the next attempt relies on still counts. If not, the answers are recorded, but not the start of
   * the attempt.
   */
  readonly isCurrent: Round["isCurrent"];
  /** Required for more than one question. */
  readonly askForm?: AskForm | undefined;
}

/** Asks the questions of one attempt. */
export async function answerQuestions(
  context: TurnContext,
  questions: readonly AskedQuestion[],
  { isCurrent, askForm = askEach }: Attempting,
): Promise<QuestionsResult> {
  const asksSecret = questions.some(({ question }) => question.answerType.type === "secret");
  const listening = asksSecret ? await context.state.waiting.listenForSecrets() : undefined;
  const round: Round = { open: questions.length, answered: [], isStarted: false, isCurrent };
  const decisions = await openAll(context, questions, round);
  let results: readonly Decided[];
  try {
    const isForm = decisions.length > 1 && decisions[0]?.asked.signal.aborted === false;
    const answered = await (isForm ? askForm : askEach)(context, decisions);
    results = await Promise.all(
      decisions.map(async (decision, index) => {
        const result = answered[index] ?? PENDING;
        // One that was left open may have been answered while others were asked.
        return result.type === "pending" && decision.hasChanged ? decision.decide() : result;
      }),
    );
  } finally {
    for (const decision of decisions) decision[Symbol.dispose]();
    listening?.[Symbol.dispose]();
  }
  const settled = await Promise.all(
    decisions.map(async (decision, index) =>
      toResult(decision, await decision.settle(results[index] ?? PENDING)),
    ),
  );
  const unanswered = settled.find((result) => result.type === "unanswered");
  const pending = decisions.filter((_, index) => settled[index]?.type === "pending");
  if (unanswered !== undefined) {
    await closeAll(pending, unanswered);
    return unanswered;
  }
  if (pending.length > 0) return PENDING;
  const answers = settled.flatMap((result) => (result.type === "answered" ? [result] : []));
  return { type: "answered", answers, isStarted: round.isStarted };
}

async function askEach(
  _context: TurnContext,
  decisions: readonly Decision[],
): Promise<readonly Decided[]> {
  return Promise.all(decisions.map((decision) => decision.decide()));
}

async function openAll(
  context: TurnContext,
  questions: readonly AskedQuestion[],
  round: Round,
): Promise<readonly Decision[]> {
  const configured = questions.map((asked) => {
    const { question, source, tool } = asked;
    return { ...asked, question: withConfiguredExclusive(question, source, tool.settings) };
  });
  const opened = await openQuestions(context, configured, round);
  return opened.map((open) => new Decision(open));
}

/** Nothing starts after questions that are refused. */
const NEVER = async () => false;

/** Records the questions and refuses them, without asking anyone. */
export async function refuseQuestions(
  context: TurnContext,
  questions: readonly AskedQuestion[],
  { reason, content }: Pick<Unanswered, "content"> & { readonly reason: KnownCancellationReason },
): Promise<Unanswered> {
  const round: Round = { open: questions.length, answered: [], isStarted: false, isCurrent: NEVER };
  const decisions = await openAll(context, questions, round);
  for (const decision of decisions) decision[Symbol.dispose]();
  await Promise.all(decisions.map((decision) => decision.refuse(reason, content)));
  return { type: "unanswered", reason, content, isError: true };
}

/** The answer for the tool, or the result for the model if there is none. */
export function toResult(decision: Decision, decided: Decided): QuestionResult {
  const { asked, request } = decision;
  if (decided.type !== "decided" || asked.kind !== "question") return PENDING;
  const { event, message, secret, reply } = decided;
  if (event.type !== "inquiry_response" || request?.type !== "inquiry_request") return PENDING;
  const { tool } = asked;
  if (event.outcome === "cancelled") {
    const { content, isError } = cancelledText(tool.settings.name, event.reason);
    return { type: "unanswered", reason: event.reason, content: message ?? content, isError };
  }
  const given: GivenAnswer = {
    recorded: { request, response: event },
    ...(secret !== undefined && { secret }),
    ...(reply !== undefined && { reply }),
  };
  // Without its secret, it has to be asked again.
  return answerIn(given) === undefined ? PENDING : { type: "answered", ...given };
}

/** One unanswered question ends the call, so the others are closed for the same reason. */
export function closeAll(
  decisions: readonly Decision[],
  { reason, content }: Unanswered,
): Promise<readonly Decided[]> {
  if (reason === "user" || reason === "interrupted") return cancelAll(decisions, reason);
  const known = typeof reason === "string" ? reason : "interrupted";
  return Promise.all(decisions.map((decision) => decision.refuse(known, content)));
}

export function cancelAll(
  decisions: readonly Decision[],
  cause: StopCause,
): Promise<readonly Decided[]> {
  return Promise.all(decisions.map((decision) => decision.cancel(cause)));
}

/** One decision, from its request to its end. */
export class Decision implements Disposable {
  readonly #open: OpenDecision;
  /** Grants that a person may add to a yes, once there is a prompt. */
  #grantable: Grantable | undefined;
  /** How many grants the turn had when it was judged. */
  #judgedAt = 0;
  /** Set if the prompter said that no one will answer. */
  #noAnswer: NoAnswerReason | undefined;

  constructor(open: OpenDecision) {
    this.#open = open;
  }

  /** It no longer waits here. */
  [Symbol.dispose](): void {
    this.#open[Symbol.dispose]();
  }

  get asked(): Asked {
    return this.#open.asked;
  }

  /** The request, once it is on record. */
  get request(): OpenDecision["request"] {
    return this.#open.request;
  }

  /** Who may decide. */
  get whom(): ForWhom {
    return this.#open.whom;
  }

  /** Aborted when it must no longer wait here. */
  get signal(): AbortSignal {
    return this.#open.signal;
  }

  /** It was answered elsewhere, or timed out. Both change its route. */
  get hasChanged(): boolean {
    return this.#open.item?.signal.aborted === true || this.#open.isOverdue;
  }

  /** Routes it and gets it decided. */
  async decide(): Promise<Decided> {
    const { signal } = this.asked;
    for (;;) {
      if (signal.aborted) return this.cancel(stopCause(signal));
      const decided = await this.follow(this.route());
      if (decided.type !== "rerouted") return decided;
    }
  }

  /** Call this once it no longer waits: an answer from elsewhere may have come after it was deferred. */
  async settle(decided: Decided): Promise<Decided> {
    return decided.type === "decided" || this.#open.item?.elsewhere === undefined
      ? decided
      : settleElsewhere(this.#open);
  }

  route(): Route {
    const open = this.#open;
    if (open.item?.elsewhere !== undefined) return { type: "elsewhere" };
    const { shown, asked, context, ladder } = open;
    return routeOf(context, asked, {
      digest: open.digest,
      remembered: context.state.remembersAny
        ? context.state.find(asked.tool.settings.name, shown)
        : undefined,
      whom: open.whom,
      askedAt: open.request?.timestamp,
      votes: open.votes,
      isForPerson: shown.isForPerson,
      escalation: open.escalation,
      rung: shown.rung,
      hasNext: findNext(ladder) !== undefined,
      isOverdue: this.#noAnswer === "timed_out" || open.isOverdue,
      isUnavailable: this.#noAnswer === "unavailable",
    });
  }

  /** Decides it by this route. The request is on record before anyone is asked. */
  async follow(route: Route): Promise<Decided | Rerouted> {
    if (route.type === "policy") return this.#byPolicy(route);
    await this.#open.ensureRecorded();
    switch (route.type) {
      case "elsewhere":
        return settleElsewhere(this.#open);
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
        // Already counted when the model was asked.
        return this.#settleReply({
          reply: { answer: false },
          by: route.answeredBy,
          why: route.answerReason,
        });
      case "given":
        return this.#answerUnasked({ reply: route, by: route.decidedBy });
      case "remembered":
        return this.#answerUnasked({
          reply: { answer: route.answer },
          by: { kind: "remembered", from: route.from },
        });
      case "configured":
        return this.#answerUnasked({
          reply: { answer: route.answer },
          by: { kind: "config", key: route.key },
        });
      case "ruled":
        noteUsed(this.#open, this.asked.verdict);
        return this.#answerUnasked({ reply: route, by: policyOf(this.asked) });
      case "default":
        return this.#answerUnasked({ reply: { answer: route.answer }, by: { kind: "default" } });
      case "model":
        return this.#countAnswer() ?? this.#askModel(route);
      default:
        return assertNever(route);
    }
  }

  /** No person will answer: it ends if the client declined, and is rerouted otherwise. */
  async giveUp(reason: NoAnswerReason): Promise<Decided | Rerouted> {
    if (reason === "declined_by_client") return this.#decline(reason);
    this.#noAnswer = reason;
    return REROUTED;
  }

  /** Ends a question without an answer. `message` is for the model. */
  async refuse(
    reason: KnownCancellationReason,
    message: string,
    problem?: string,
  ): Promise<Decided> {
    const detail = problem === undefined || problem === "" ? {} : { problem };
    const outcome = { outcome: "cancelled", reason, ...detail } as const;
    return ended(await cancelQuestion(this.#open, outcome, message));
  }

  /**
   * Ends it because the call or the prompt was stopped. Only its tool or a person can end a question; other interrupted
   * decisions wait for another process.
   */
  async cancel(cause: StopCause, by = this.#person()): Promise<Decided> {
    if (this.#open.item?.elsewhere !== undefined) return settleElsewhere(this.#open);
    const { asked } = this;
    if (asked.kind !== "question") {
      if (asked.signal.aborted) return STOPPED;
      if (cause === "interrupted") return PENDING;
      return ended(await settleReply(this.#open, { reply: { isCancelled: true }, by }));
    }
    const isWithdrawn = asked.withdrawn?.aborted === true && asked.signal.aborted;
    if (cause === "interrupted" && !isWithdrawn) return PENDING;
    return ended(await cancelQuestion(this.#open, { outcome: "cancelled", reason: cause }));
  }

  /** The request for a prompter. */
  toPrompt(signal: AbortSignal): DecisionRequest {
    const { request, escalation, changed, context, asked } = this.#open;
    if (request === undefined) throw new Error("it is not on record");
    const shown = { request, escalation, changed, signal, grantable: this.#grantable };
    return promptRequest(context, asked, shown);
  }

  /** The request as a field of a form. */
  toField(signal: AbortSignal): QuestionRequest {
    const prompt = this.toPrompt(signal);
    if (prompt.kind !== "question") throw new Error("it is not a question");
    return prompt;
  }

  /** Handles a prompter's result. `signal` is the one that the prompter got. */
  async accept(result: PromptResult, signal: AbortSignal): Promise<Decided | Rerouted> {
    const open = this.#open;
    if (result.inquiryId !== open.id) return this.failPrompt("the answer is for another question");
    if (open.item?.elsewhere !== undefined) return settleElsewhere(this.#open);
    if (result.type === "later") return PENDING;
    if (result.type === "unanswered" && !signal.aborted) return this.giveUp(result.reason);
    if (result.type === "form") return this.failPrompt("the answer is for a form");
    if (result.type === "answered") return this.#acceptAnswer(result, signal);
    const named = result.type === "cancelled" ? result : {};
    return this.cancel(promptCause(result, signal), this.#person(named));
  }

  async failPrompt(message: string): Promise<Decided> {
    const { end } = kindOf(this.asked);
    if (end.type === "cancelled") {
      return this.refuse(end.promptFailed, promptFailed("Question", message), message);
    }
    const { key } = end;
    return this.#byPolicy({ isApproved: false, key, cause: "prompt_failed", problem: message });
  }

  async #decline(reason: "declined_by_client"): Promise<Decided> {
    const { end } = kindOf(this.asked);
    if (end.type === "denied") {
      return this.#byPolicy({ isApproved: false, key: end.key, cause: reason });
    }
    return this.refuse(reason, questionDeclined(this.asked.tool.settings.name));
  }

  async #byPolicy(policy: Parameters<typeof decideByPolicy>[1]): Promise<Decided> {
    return ended(await decideByPolicy(this.#open, policy));
  }

  #person(decided?: { readonly userName?: string }): Decider {
    return personOf(this.#open.context, this.whom, decided);
  }

  async #askPerson(): Promise<Decided | Rerouted> {
    const { prompter, prompts } = this.#open.context;
    // Decisions assigned to certain people are shown only to them.
    const isGathered =
      this.asked.kind === "permission" &&
      prompter.showsPermissions === true &&
      !isForSome(this.whom);
    using open = await prompts.open(this.signal, this.asked.place, { isGathered });
    if (open === undefined) return this.#closed();
    // While this waited, the person may have decided the same for the whole turn, or for longer. Other routes are
    // followed outside the queue, so that no prompt waits for them.
    await this.#judgeAgain();
    return this.route().type === "person" ? await this.#prompt(open) : REROUTED;
  }

  /** Judges it again if something was granted since. */
  async #judgeAgain(): Promise<void> {
    const { asked } = this;
    const { context } = this.#open;
    const { grantCount } = context.state;
    if (asked.kind === "delivery" || asked.verdict === undefined) return;
    if (grantCount === this.#judgedAt) return;
    this.#judgedAt = grantCount;
    const { tool, arguments: args } = asked;
    const verdict = await verdictOf(context, { tool, arguments: args });
    this.#open.update({ ...asked, verdict });
  }

  async #prompt(open: OpenPrompt): Promise<Decided | Rerouted> {
    const { signal, member } = open;
    const { context } = this.#open;
    let result: PromptResult | undefined;
    try {
      // No rule decides what is reserved for certain people.
      if (!isForSome(this.whom))
        this.#grantable = await findGrantable(context, grantingOf(this.asked));
      const { prompter } = context;
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
      this.asked.place.retake(); // Before this one closes, so that the rest of the group is asked together.
      return REROUTED;
    }
    const isClosed = result.type !== "answered";
    if (isClosed && this.hasChanged) return REROUTED;
    return this.accept(result, signal);
  }

  /** Called once `signal` is aborted. */
  async #closed(): Promise<Decided | Rerouted> {
    return this.hasChanged ? REROUTED : this.cancel(stopCause(this.asked.signal));
  }

  async #acceptAnswer(result: AnsweredPrompt, signal: AbortSignal): Promise<Decided | Rerouted> {
    const misfit = result.grant && (await explainGrant(this.#grantable, result.grant.rule));
    if (misfit !== undefined) return this.failPrompt(misfit);
    // Some prompters report being closed as a no. That is not the person's decision.
    const isNo = this.asked.kind !== "question" && result.answer === false;
    if (isNo && signal.aborted) return this.cancel(stopCause(signal));
    return this.#settleReply({ reply: result, by: this.#person(result) });
  }

  /** A reply that does not count leaves the decision as it is, unless it could never count: then the prompter is broken. */
  async #settleReply(given: GivenReply): Promise<Decided | Rerouted> {
    const settled = await settleReply(this.#open, given);
    if (settled.type !== "refused") return settled;
    if (settled.code === "overdue" || settled.code === "changed") return REROUTED;
    if (settled.code === "directory_missing") throw directoryMissing();
    const { reason } = refuse(settled, this.whom);
    // Someone else can still decide, or the same person with their key.
    const isUnsigned = settled.code === "unsigned" || settled.code === "wrong_signature";
    if (!STRANGER_CODES.has(settled.code) && !isUnsigned) return this.failPrompt(reason);
    warnOnce(`An answer to ${this.#open.id} was ignored`)(reason);
    return PENDING;
  }

  async #askModel(route: Extract<Route, { type: "model" }>): Promise<Decided | Rerouted> {
    const { asked } = this;
    if (asked.kind !== "question") throw new Error("only questions go to a model");
    const { id: inquiryId, context } = this.#open;
    asked.place.pass(); // A model may take its time.
    const { signal } = this;
    const result = await askModel(context, { ...asked, ...route, inquiryId, signal });
    switch (result.type) {
      case "answered": {
        const { answer, answeredBy: by, answerReason: why, reply: modelReply } = result;
        return this.#settleReply({ reply: { answer }, by, why, modelReply });
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

  /** Escalates the question to a person, and records the model's outcome. */
  async #escalate(outcome: InquiryOutcome): Promise<Rerouted> {
    const { asked } = this;
    const open = this.#open;
    if (asked.kind !== "question" || open.item?.elsewhere !== undefined) return REROUTED;
    const { onTimeout } = asked.tool.settings.questions.get(asked.question.id) ?? {};
    const { id, now: timestamp } = open;
    const escalation = { type: "inquiry_escalation", timestamp, id, ...outcome } as const;
    await open.escalate(escalation, onTimeout !== "escalate");
    return REROUTED;
  }

  async #passOn(): Promise<Rerouted> {
    if (await this.#open.passOn()) this.#noAnswer = undefined;
    return REROUTED;
  }

  async #answerUnasked(given: GivenReply): Promise<Decided | Rerouted> {
    return this.#countAnswer() ?? this.#settleReply(given);
  }

  /** Counts an answer to a question without a person. Returns how it ends if there were too many. */
  #countAnswer(): Promise<Decided> | undefined {
    const { asked } = this;
    if (asked.kind !== "question") return undefined;
    const limit = asked.budget.countAnswer();
    if (limit === undefined) return undefined;
    return this.refuse("attempts_exhausted", tooManyAnswers(asked.tool.settings.name, limit));
  }

  /** Tells the calling model if another model said no. */
  #refuseBy({ reason, message, problem }: Extract<Route, { type: "refused" }>): Promise<Decided> {
    const { escalation } = this.#open;
    const { asked } = this;
    if (asked.kind !== "question" || escalation === undefined) {
      return this.refuse(reason, message, problem);
    }
    const declined = { question: asked.question, response: escalation };
    return this.refuse(reason, withDeclines(message, [declined]), problem);
  }

  #addDenial(what: "question" | "permission" | "delivery"): void {
    this.#open.context.state.addDenial({ tool: this.asked.tool.settings.name, what });
  }
}

/** Only a person's reply can be refused, and a person can always cancel. */
function ended(decided: Decided | NotCounted): Decided {
  return decided.type === "refused" ? PENDING : decided;
}
