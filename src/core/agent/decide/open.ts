/**
 * Opening a decision: its terms are worked out once, recorded with the request, and binding from then on. Asking the
 * next rung, or about a call that a person has edited, opens a new request with its own id.
 */
import {
  type CallSubject,
  type ConversationEvent,
  type DecisionSubject,
  type DecisionVote,
  digestCall,
  digestDelivery,
  findPerson,
  type ForWhom,
  type InquiryEscalation,
  type InquiryId,
  isForKnown,
  isForSeveral,
  type JudgedDecision,
  narrowWhom,
  PASSED_ON,
  type PermissionRequestEvent,
  questionAbout,
  type SubjectDigest,
  type Timestamp,
  timestampFromDate,
  votesOn,
  whomOf,
  lastTurn,
} from "../../../record/conversation/index.ts";
import { addresseesOf, type InquiryQuestion, type ToolSource } from "../../../record/tool/index.ts";
import { JpError } from "../../../util/index.ts";
import type { Asked, AskedCall, AskedQuestion } from "../asked.ts";
import type { TurnContext } from "../context.ts";
import { Deadline } from "../deadline.ts";
import { directoryMissing } from "../directory-missing.ts";
import type { AnsweredInquiry } from "../given-answers.ts";
import { verdictOf } from "../verdict-of.ts";
import { findNext, findRung, findWithin, type Ladder } from "../ladder.ts";
import { changesSince, describeCall, targetNow, voidEvent, withIds } from "../subject.ts";
import type { AnswerClaim } from "../answer-claims.ts";
import { type Draft, type Earlier, kindOf, type Request } from "./kinds.ts";

/** Shared by the questions of one attempt: the last answer starts the tool again. */
export interface Round {
  /** How many questions are unanswered. */
  open: number;
  readonly answered: AnsweredInquiry[];
  /** The start of the next attempt is on record. */
  isStarted: boolean;
  /** Whether every decision the next attempt relies on still counts, including this round's. */
  readonly isCurrent: (answered: readonly AnsweredInquiry[]) => Promise<boolean>;
}

/** A decision in progress. */
export class OpenDecision implements Disposable {
  readonly context: TurnContext;
  /** Absent for a decision about a call. */
  readonly round: Round | undefined;
  #asked: Asked;
  #draft: Draft;
  /** The subject of now, in the version of the request that waits. */
  readonly #compared: SubjectDigest | undefined;
  #request: Request | undefined;
  #item: AnswerClaim | undefined;
  #changed: readonly string[] | undefined;
  #deadline: Deadline | undefined;
  #escalation: InquiryEscalation | undefined;

  constructor(
    context: TurnContext,
    asked: Asked,
    { described, round }: { readonly described: DescribedCall; readonly round?: Round },
  ) {
    this.context = context;
    this.round = round;
    this.#asked = asked;
    this.#draft = draftOf(context, asked, described);
    const { waiting } = this.#earlier ?? {};
    const compared = { draft: this.#draft, recorded: waiting?.subject };
    this.#compared = waiting && kindOf(asked).digest(described.call, asked, compared);
    // It may be overdue by now.
    if (waiting?.deadline !== undefined && isSameSubject(waiting, this.#compared)) {
      this.#open(waiting);
    }
  }

  /** It no longer waits here. */
  [Symbol.dispose](): void {
    this.#deadline?.stop();
    this.#item?.[Symbol.dispose]();
  }

  get asked(): Asked {
    return this.#asked;
  }

  /** Undefined until it is on record. */
  get request(): Request | undefined {
    return this.#request;
  }

  /** The id on record. Throws before it is recorded. */
  get id(): InquiryId {
    if (this.#request === undefined) throw new Error("it is not on record");
    return this.#request.id;
  }

  /** The request on record, or the draft of it. */
  get shown(): Request | Draft {
    return this.#request ?? this.#draft;
  }

  get whom(): ForWhom {
    return whomOf(this.shown);
  }

  get digest(): string {
    return this.shown.subject?.digest ?? "";
  }

  get item(): AnswerClaim | undefined {
    return this.#item;
  }

  get escalation(): InquiryEscalation | undefined {
    return this.#escalation;
  }

  /** Changes since the last request. */
  get changed(): readonly string[] | undefined {
    return this.#changed;
  }

  get isOverdue(): boolean {
    return this.#deadline?.signal.aborted === true;
  }

  /** Aborted when it must no longer wait here. */
  get signal(): AbortSignal {
    const others = [this.#item?.signal, this.#deadline?.signal].filter(
      (each) => each !== undefined,
    );
    return AbortSignal.any([this.#asked.signal, ...others]);
  }

  get now(): Timestamp {
    return timestampFromDate(this.context.clock.now());
  }

  /** The escalation ladder, and the current rung. */
  get ladder(): Ladder {
    const { rung = 0, isForPerson = false } = this.shown;
    const isEscalated = this.#escalation !== undefined;
    return { ...kindOf(this.#asked).ladder(this.#asked), rung, isForPerson, isEscalated };
  }

  /** The votes so far. Read only if several people decide. */
  get votes(): readonly DecisionVote[] {
    if (this.#request === undefined || !isForSeveral(this.whom)) return [];
    return votesOn(lastTurn(this.context.journal), this.#request.id);
  }

  /** The input for the judge. `digest`: of the call as a person has edited it. */
  judged(digest = this.digest): JudgedDecision & { readonly id: InquiryId } {
    const { shown, votes } = this;
    const { timestamp: askedAt } = this.#request ?? {};
    return {
      kind: this.#asked.kind,
      id: this.id,
      askedAt,
      deadline: this.#deadline?.at,
      digest,
      takes: shown.takes,
      votes,
      question: questionOf(this.#asked),
      ...whomOf(shown),
    };
  }

  /** The verdict of the rules may have changed. */
  update(asked: Asked): void {
    this.#asked = asked;
  }

  /** Records the request, unless it is on record. An earlier process's request counts if its subject is the same. */
  async ensureRecorded(): Promise<void> {
    if (this.#request !== undefined) return;
    await OpenDecision.openAll(this.context, [this]);
  }

  /** It may be answered elsewhere as soon as it is on record, so it starts waiting before. Throws as `assertAsker`. */
  #openNow(): readonly ConversationEvent[] {
    const [asked, earlier] = [this.#asked, this.#earlier];
    if (earlier?.waiting !== undefined && isSameSubject(earlier.waiting, this.#compared)) {
      this.#escalation = earlier.escalation;
      this.#open(earlier.waiting);
      return [];
    }
    assertAsker(this.context, this.#draft);
    const timestamp = this.now;
    const changed = earlier && changedIn(earlier, this.#compared);
    const request = {
      ...this.#draft,
      timestamp,
      id: kindOf(asked).id(this.context.state, asked),
      ...deadlineIn(this.context, findWithin(this.ladder)),
      ...(earlier !== undefined && { replaces: earlier.id }),
    } as Request; // The draft with its missing fields.
    this.#changed = changed;
    this.#open(request);
    const isReplaced = earlier !== undefined && !earlier.isVoid;
    const madeVoid = isReplaced
      ? [voidEvent({ id: earlier.id, changed: changed ?? [] }, timestamp)]
      : [];
    return [...madeVoid, request];
  }

  get #earlier(): Earlier | undefined {
    return kindOf(this.#asked).void(this.#asked);
  }

  /**
   * Opens questions together, recording them in one write. Throws `directory_missing` if this process cannot tell who
   * may decide: they are on record then, for a process that can.
   */
  static async openAll(context: TurnContext, decisions: readonly OpenDecision[]): Promise<void> {
    const events = decisions.flatMap((decision) => decision.#openNow());
    if (events.length > 0) await context.journal.record(...events);
    const isMissing = context.directory === undefined;
    if (isMissing && decisions.some(({ whom }) => isForKnown(whom))) throw directoryMissing();
  }

  /** Asks a person instead of the model that could not answer. */
  async escalate(escalation: InquiryEscalation, keepsDeadline: boolean): Promise<void> {
    // The deadline was the model's, unless config sets one for both.
    if (!keepsDeadline) this.#stopDeadline();
    const rung = findRung(this.ladder);
    const { withinMs } = rung?.type === "people" ? rung.people : {};
    const recorded = {
      ...escalation,
      ...(this.#deadline !== undefined && { deadline: this.#deadline.at }),
      ...deadlineIn(this.context, withinMs),
    };
    await this.context.journal.record(recorded);
    this.#escalation = recorded;
    if (withinMs !== undefined) this.#startDeadline(recorded);
  }

  /** No one decided in time: asks the next rung the same, under another id. False if it was answered elsewhere. */
  async passOn(): Promise<boolean> {
    const { journal, state } = this.context;
    const { id } = this;
    const item = this.#item;
    await state.waiting.counted(id);
    if (item?.takeHere() === false) return false;
    const next = await this.#nextRequest();
    const { timestamp, deadline } = next;
    const madeVoid = voidEvent({ id, changed: PASSED_ON }, timestamp);
    const { deadline: _deadline, ...said } = this.#escalation ?? {};
    const escalation =
      this.#escalation === undefined
        ? []
        : [{ ...said, timestamp, id: next.id, ...(deadline && { deadline }) } as InquiryEscalation]; // With the fields of the earlier one.
    [this.#escalation] = escalation;
    this.#changed = PASSED_ON;
    this.#open(next);
    await journal.record(madeVoid, next, ...escalation);
    item?.[Symbol.dispose]();
    return true;
  }

  /**
   * The request for the next rung, with the current subject. A model is asked while the people before it may still
   * answer.
   */
  async #nextRequest(): Promise<Request> {
    const { context, ladder } = this;
    const asked = this.#asked;
    const next = findNext(ladder);
    const { metadata: _metadata, extra: _extra, deadline: _deadline, ...same } = this.#recorded;
    const people = next?.type === "people" ? targetNow(context, next.people) : undefined;
    // The tool that asks may name fewer people.
    const named = asked.kind === "question" ? addresseesOf(asked.question) : undefined;
    const whom = people === undefined ? same : withIds(context, narrowWhom(people, named));
    const rung = ladder.rung + 1;
    const draft = await this.#described({
      ...without(same),
      rung,
      replaces: same.id,
      ...whomOf(whom),
    });
    assertAsker(context, draft);
    this.#draft = draft;
    return {
      ...draft,
      timestamp: this.now,
      id: kindOf(asked).id(context.state, asked),
      ...deadlineIn(context, findWithin({ ...ladder, rung })),
    };
  }

  get #recorded(): Request {
    if (this.#request === undefined) throw new Error("it is not on record");
    return this.#request;
  }

  /** Updates the digest to the current subject. */
  async #described(draft: Draft): Promise<Draft> {
    const asked = this.#asked;
    const { call, source } = await describe(this.context, asked);
    return withSubject(draft, kindOf(asked).digest(call, asked, { draft }), source);
  }

  /** A request for the call as a person has edited it, which needs a new decision. */
  async editedRequest(
    edited: AskedCall,
    whom: ForWhom,
  ): Promise<PermissionRequestEvent & { readonly subject: SubjectDigest }> {
    const { context } = this;
    const { deadline } = this.shown;
    const draft = {
      ...without(this.#recorded),
      arguments: edited.arguments,
      isEdited: true,
      replaces: this.id,
      ...whomOf(withIds(context, whom)),
    } as Omit<PermissionRequestEvent, "id" | "timestamp">; // The request of a call.
    const { call } = await describe(context, edited);
    return {
      ...draft,
      timestamp: this.now,
      id: kindOf(edited).id(context.state, edited),
      subject: digestCall(call, draft),
      ...(deadline !== undefined && { deadline }),
    };
  }

  #open(request: Request): void {
    this.#request = request;
    this.#item = this.context.state.waiting.open(request.id);
    this.#startDeadline(this.#escalation ?? request);
  }

  #startDeadline({
    deadline,
    timestamp,
  }: Pick<Request, "timestamp"> & { readonly deadline?: Timestamp }): void {
    this.#stopDeadline();
    if (deadline !== undefined) {
      this.#deadline = new Deadline(this.context.clock, deadline, timestamp);
    }
  }

  #stopDeadline(): void {
    this.#deadline?.stop();
    this.#deadline = undefined;
  }
}

/** A decision about a call. It is recorded only if someone is asked. */
export async function openCall(context: TurnContext, asked: AskedCall): Promise<OpenDecision> {
  const described = await describe(context, asked);
  return new OpenDecision(context, asked, { described });
}

/** Records questions before they are decided, unless an earlier process did. Dispose of them afterwards. */
export async function openQuestions(
  context: TurnContext,
  questions: readonly AskedQuestion[],
  round: Round,
): Promise<readonly OpenDecision[]> {
  const [first] = questions;
  if (first === undefined) return [];
  const described = await describe(context, first);
  // Rules never answer questions of other tools, which are about more than whether the call may run.
  const isOurs = described.source?.origin.type === "builtin";
  const verdict = isOurs ? { verdict: await verdictOf(context, first) } : {};
  const decisions = questions.map(
    (question) => new OpenDecision(context, { ...question, ...verdict }, { described, round }),
  );
  await OpenDecision.openAll(context, decisions);
  return decisions;
}

interface DescribedCall {
  readonly call: CallSubject;
  /** Undefined if the tool is gone. */
  readonly source: ToolSource | undefined;
}

/** The call as it would run now. A result outlives its tool: only the name of its call matters. */
async function describe(context: TurnContext, asked: Asked): Promise<DescribedCall> {
  if (asked.kind !== "delivery") {
    const { toolCallId, tool, arguments: args } = asked;
    const call = await describeCall(context, { toolCallId, tool, arguments: args });
    return { call, source: call.source };
  }
  const { journal } = context;
  const { toolCallId, progress, arguments: args } = asked;
  const source = await asked.tool.describeSource?.(args, { isShared: journal.isShared });
  const call = { conversation: journal.conversation, toolCallId, tool: progress.request.name };
  return { call: { ...call, arguments: args } as CallSubject, source }; // A delivery has no part of its source.
}

/** The digest of a decision about a call, for these deciders. */
export async function digestNow(
  context: TurnContext,
  asked: AskedCall,
  whom: ForWhom,
): Promise<SubjectDigest> {
  const { call } = await describe(context, asked);
  return asked.kind === "delivery"
    ? digestDelivery(call, asked.result, { whom })
    : digestCall(call, whom);
}

function draftOf(context: TurnContext, asked: Asked, { call, source }: DescribedCall): Draft {
  const kind = kindOf(asked);
  const whom = kind.whom(context, asked);
  const { turn, note } = kind.takes(asked);
  // A decision with terms cannot be answered for the whole turn.
  const isOffered = turn !== undefined && whom.terms === undefined;
  const takes = { ...(isOffered && { turn }), ...(note !== undefined && { note }) };
  const { rung, isForPerson } = kind.ladder(asked);
  const draft: Draft = {
    ...kind.request(asked),
    ...(isForPerson && { isForPerson }),
    ...whomOf(whom),
    ...(Object.keys(takes).length > 0 && { takes }),
    ...(rung > 0 && { rung }),
  };
  return withSubject(draft, kind.digest(call, asked, { draft }), source);
}

function withSubject(draft: Draft, subject: SubjectDigest, source: ToolSource | undefined): Draft {
  const { origin, folder = ".", outside = [] } = source ?? {};
  const { origin: _origin, folder: _folder, outside: _outside, ...others } = draft;
  const shown: DecisionSubject = {
    ...(origin !== undefined && { origin }),
    ...(folder !== "." && { folder }),
    ...(outside.length > 0 && { outside }),
  };
  return { ...others, subject, ...shown };
}

/** The request without its addressees and the fields that belong to one request alone. */
function without(request: Request): Draft & { readonly id: InquiryId } {
  const { for: _for, forAny: _any, terms: _terms, personIds: _ids, ...others } = request;
  const { timestamp: _timestamp, deadline: _deadline, ...same } = others;
  return same;
}

function isSameSubject({ subject }: Request, now: SubjectDigest | undefined): boolean {
  return subject !== undefined && subject.digest === now?.digest;
}

/** Why the earlier request no longer counts, or how its subject has changed. */
function changedIn(
  { waiting, changed }: Earlier,
  now: SubjectDigest | undefined,
): readonly string[] | undefined {
  if (changed !== undefined || now === undefined) return changed;
  return changesSince(waiting?.subject, now);
}

/** Every decision can be put as a question. */
export function questionOf(asked: Asked): InquiryQuestion {
  return asked.kind === "question"
    ? asked.question
    : questionAbout(asked.kind, asked.tool.settings.name);
}

function deadlineIn(
  { clock }: Pick<TurnContext, "clock">,
  milliseconds: number | undefined,
): { readonly deadline?: Timestamp } {
  if (milliseconds === undefined) return {};
  return { deadline: timestampFromDate(new Date(clock.now().getTime() + milliseconds)) };
}

/**
 * Checked before opening a request that the starter of the turn must not decide. Without known people, it waits.
 * Throws `asker_unknown`, `person_unknown`.
 */
function assertAsker({ directory }: Pick<TurnContext, "directory">, { terms }: ForWhom): void {
  if (terms?.notBy === undefined) return;
  const people = directory?.list() ?? [];
  const { name } = terms.notBy;
  if (people.length === 0) return;
  if (name === undefined) {
    throw new JpError(
      "asker_unknown",
      "Whoever started the turn cannot decide this, and it is not known who did.",
      {
        hint: "Pass `startedBy`. On the command line, add yourself: jp serve people add NAME --os-user USER",
      },
    );
  }
  if (findPerson(people, name) === undefined) {
    throw new JpError("person_unknown", `${name} started the turn, and is not a known person.`, {
      hint: "`startedBy` takes the name of a person in the directory.",
    });
  }
}
