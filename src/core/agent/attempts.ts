/**
 * The attempts of one call: a tool that asks runs again with each answer, until it has a result. An attempt that
 * another process began is resumed where the record ends. Before each attempt, the decisions are compared with what
 * would run now, and stale ones are asked again.
 */
import {
  type AddedText,
  type AnswerEvent,
  type AskedOnRecord,
  type CallProgress,
  type CallSubject,
  type ConversationEvent,
  type Decider,
  type DecisionVoid,
  deciderOf,
  digestCall,
  digestQuestion,
  grantOf,
  type InForce,
  type InquiryId,
  type InquiryPair,
  type InquiryRequest,
  isActing,
  isDigestOf,
  isForSome,
  isNo,
  judgeUse,
  isPassedOn,
  type PermissionDecision,
  type PermissionRequestEvent,
  timestampFromDate,
  type ToolResult,
  type Use,
  whomOf,
  lastTurn,
} from "../../record/conversation/index.ts";
import type { NeedsInput } from "../../reach/executor/index.ts";
import { addresseesOf, type Question } from "../../record/tool/index.ts";
import type { AskedQuestion, OpenCall, Replaced } from "./asked.ts";
import { CallBudget } from "./budget.ts";
import type { TurnContext } from "./context.ts";
import { directoryMissing } from "./directory-missing.ts";
import { verdictOf } from "./verdict-of.ts";
import { loadDecisions, loadForms, loadGrants } from "./load-decisions.ts";
import type { PENDING, QuestionsResult, Round } from "./decide/decide.ts";
import { type AnsweredInquiry, answerIn, GivenAnswers, toQuestion } from "./given-answers.ts";
import { peopleAt, questionTarget } from "./ladder.ts";
import { isAutomatic } from "./memory.ts";
import { cancelledText, keepsChanging, questionsTooLarge, tooManyAnswers } from "./model-texts.ts";
import type { Journal } from "./ports.ts";
import type { CallSteps } from "./steps.ts";
import { changesSince, describeCall, startOf, voidEvent } from "./subject.ts";
import { whomInForce } from "./in-force.ts";
import { noticeUnnamed } from "./unnamed-questions.ts";

/** The response to a call, as the model sees it. */
export interface CallResult extends ToolResult {
  /** Recorded with the response. */
  readonly events?: readonly ConversationEvent[];
}

/** A call that may run. Its arguments are the permitted ones, which a person may have edited. */
export interface PermittedCall extends OpenCall {
  /** The decision that lets it run. Absent if there is nothing to compare, for example after the user restarts the call. */
  readonly permission?: PermissionDecision | undefined;
  /** Recorded when it starts. */
  readonly events: readonly ConversationEvent[];
}

export type AttemptsResult =
  /** The tool's own result. */
  | ({ readonly type: "result" } & CallResult)
  /** A question of the tool got no answer, or the decisions kept becoming stale. */
  | ({ readonly type: "unanswered" } & CallResult)
  | typeof PENDING
  | { readonly type: "cancelled" }
  /** The permission no longer counts, and the record says so. */
  | { readonly type: "void" };

/** Runs a tool again with each answer to its questions, until it returns a result. */
export async function attemptCall(
  context: TurnContext,
  call: PermittedCall,
  steps: CallSteps,
): Promise<AttemptsResult> {
  const { progress, tool, signal } = call;
  const token = {};
  // Tools outside this process always get their key, which depends on the turn index. Read it without blocking others.
  const isOutside = tool.settings.source.type !== "builtin";
  if (isOutside || context.journal.stream.mustLoad === true)
    await context.state.findTurnIndex(context.journal);
  const attempt = await resumeAttempt(context, call, steps);
  if ("type" in attempt) return attempt;
  const { given, budget } = attempt;
  let { isStarted, state, events } = attempt;
  for (;;) {
    if (!isStarted) {
      const end = await confirm(context, call, attempt);
      if (end !== undefined && "type" in end) return end;
      if (end?.isStarted !== true) await recordStart(context, call, events);
    }
    events = [];
    call.place.pass(); // It may ask at any time from now on.
    const { runStep, end: endSteps } = steps.begin(budget, signal);
    const result = await tool.executor.attempt({
      call: token,
      toolCallId: progress.request.id,
      arguments: call.arguments,
      ...given.toRequest(),
      ...(state !== undefined && { state }),
      ...(context.journal.isShared === true && { isShared: true }),
      signal,
      get idempotencyKey() {
        return steps.idempotencyKey;
      },
      runStep,
      onProgress: (message) => {
        const { name } = tool.settings;
        const { id: toolCallId } = progress.request;
        const update = { type: "tool_progress" as const, toolCallId, tool: name };
        context.observer?.observe({ ...update, message });
      },
    });
    await endSteps();
    state = undefined;
    if (result.type === "cancelled") return result;
    if (result.type !== "needs_input") {
      const { content, ...blocks } = budget.fitResult(result);
      const isError = result.type === "error";
      const annotated = given.annotate(content);
      const after = annotated.length - content.length;
      const added: { readonly added?: AddedText } =
        after > 0 ? { added: { before: 0, after } } : {};
      return { type: "result", content: annotated, ...blocks, isError, ...added };
    }
    const end = await answerAttempt(context, call, { needs: result, given, budget });
    if (end !== undefined && "type" in end) return end;
    isStarted = end?.isStarted ?? false;
  }
}

/** Records the start before the tool runs. */
async function recordStart(
  context: TurnContext,
  call: PermittedCall,
  events: readonly ConversationEvent[],
): Promise<void> {
  const { journal, clock } = context;
  await journal.record(...events, startOf(context, call, timestampFromDate(clock.now())));
}

/** The answers that a call has so far, and the budget they have used. */
interface Attempt {
  readonly given: GivenAnswers;
  readonly budget: CallBudget;
}

interface ResumedAttempt extends Attempt {
  /** The start of the next attempt is on record already. */
  readonly isStarted: boolean;
  /** Otherwise recorded with it. */
  readonly events: readonly ConversationEvent[];
  readonly state?: string;
}

/** Resumes a call where the record ends, and asks its open questions. */
async function resumeAttempt(
  context: TurnContext,
  call: PermittedCall,
  steps: CallSteps,
): Promise<ResumedAttempt | AttemptsResult> {
  const { progress, events } = call;
  const given = new GivenAnswers();
  const voids = progress.voids.filter(({ changed }) => !isPassedOn(changed));
  const budget = new CallBudget(context, voids.length);
  budget.restore(steps.bytes, false);
  if (progress.attempts === 0) return { given, budget, isStarted: false, events };
  const refused = neededBy(progress).find(({ response }) => response?.outcome === "cancelled");
  if (refused?.response?.outcome === "cancelled") {
    const { name } = call.tool.settings;
    return { type: "unanswered", ...cancelledText(name, refused.response.reason) };
  }
  for (const { request, response, madeVoid } of progress.questions) {
    const question = toQuestion(request);
    const isAnswered = response?.outcome === "answered";
    const bytes = bytesOf(question) + (isAnswered ? bytesOf(response.answer, response.note) : 0);
    budget.restore(bytes, response !== undefined && isAutomatic(response));
    if (response !== undefined && madeVoid === undefined) {
      given.add({ recorded: { request, response } });
    }
  }
  const attempt = { given, budget };
  await saveGrants(context, call, attempt);
  const open = openQuestions(call, attempt);
  const resumed = { ...attempt, ...stateOf(progress) };
  if (open.length === 0) return { ...resumed, isStarted: false, events };
  if (events.length > 0) await context.journal.record(...events);
  const result = await askQuestions(context, open, isCurrent(context, call, attempt));
  const end = takeAnswers(result, attempt);
  return "type" in end ? end : { ...resumed, isStarted: end.isStarted, events: [] };
}

/** The process that recorded an answer may have died before it saved the grant. */
async function saveGrants(
  context: TurnContext,
  call: PermittedCall,
  { given }: Attempt,
): Promise<void> {
  for (const { request, response } of given.recorded) {
    // No rule answers the questions of other tools.
    if (grantOf(response) === undefined || request.origin?.type !== "builtin") continue;
    const { saveGrant } = await loadGrants();
    const { tool, arguments: args } = call;
    const verdict = await verdictOf(context, { tool, arguments: args });
    const { questionId = request.id } = request;
    await saveGrant(context, { tool, arguments: args, verdict, questionId }, response);
  }
}

/** Most attempts ask one question. */
async function askQuestions(
  context: TurnContext,
  questions: readonly AskedQuestion[],
  isCounting: Round["isCurrent"],
): Promise<QuestionsResult> {
  const { answerQuestions } = await loadDecisions();
  const { askForm } = questions.length > 1 ? await loadForms() : {};
  return answerQuestions(context, questions, { isCurrent: isCounting, askForm });
}

/** Lists unanswered questions of the last attempt, and secrets, which the record never keeps. */
function openQuestions(call: PermittedCall, { given, budget }: Attempt): readonly AskedQuestion[] {
  const { questions } = call.progress;
  const open = neededBy(call.progress).filter(
    ({ response, madeVoid }) => response === undefined || madeVoid !== undefined,
  );
  const latest = new Map(questions.map((pair) => [pair.request.questionId, pair]));
  const secrets = [...latest.values()].filter(
    ({ response, madeVoid }) => response?.outcome === "redacted" && madeVoid === undefined,
  );
  return [...secrets, ...open].map((pair) => {
    const { request, response, madeVoid } = pair;
    const replaces = madeVoid && replacedBy(pair, madeVoid.changed, true);
    return {
      ...askedAgain(call, { given, budget }, request),
      ...(response === undefined && madeVoid === undefined && { recorded: pair }),
      ...(replaces !== undefined && { replaces }),
    };
  });
}

/** A tool that starts over asks again for what it needs. */
function neededBy({ asked, isInDoubt, permissions }: CallProgress): readonly InquiryPair[] {
  return isInDoubt && permissions.rerun === undefined ? [] : asked;
}

function askedAgain(
  { toolCallId, place, tool, asking: signal, arguments: args }: PermittedCall,
  { given, budget }: Attempt,
  request: InquiryRequest,
): AskedQuestion {
  const { source, state, isBound } = request;
  const question = toQuestion(request);
  return {
    kind: "question",
    toolCallId,
    place,
    tool,
    arguments: args,
    question,
    source,
    automaticAnswers: given.automaticAnswers(question),
    budget,
    signal,
    ...(state !== undefined && { state }),
    ...(isBound === true && { isBound }),
  };
}

function stateOf({ asked, isInDoubt }: CallProgress): Pick<ResumedAttempt, "state"> {
  const state = isInDoubt ? undefined : asked.find(({ request }) => request.state)?.request.state;
  return state === undefined ? {} : { state };
}

/**
 * Compares the decisions with what would run now. Asks again for stale answers, and voids the permission unless such an
 * answer was given to the call as it is now. Undefined, or whether the start is on record, if the call may run.
 */
async function confirm(
  context: TurnContext,
  call: PermittedCall,
  attempt: Attempt,
): Promise<AttemptsResult | { readonly isStarted: boolean } | undefined> {
  let isStarted = false;
  while (!isStarted) {
    const now = await describeCall(context, call);
    const answers = attempt.given.recorded;
    const stale = answers.flatMap((answered) => staleAnswer(context, call, { answered, now }));
    const permission = await stalePermission(context, call, { now, answers });
    const changed = stale.length > 0 ? stale.map(({ replaces }) => replaces) : permission;
    if (changed.length === 0) return undefined;
    if (!attempt.budget.countVoid()) return failUnstable(context, call, changed);
    if (stale.length === 0) {
      const timestamp = timestampFromDate(context.clock.now());
      await context.journal.record(...permission.map((each) => voidEvent(each, timestamp)));
      return { type: "void" };
    }
    const asked = stale.map(({ request, replaces }) => ({
      ...askedAgain(call, attempt, request),
      replaces,
    }));
    const result = await askQuestions(context, asked, isCurrent(context, call, attempt));
    const end = takeAnswers(result, attempt);
    if ("type" in end) return end;
    ({ isStarted } = end);
  }
  return { isStarted };
}

/** Whether everything the next attempt relies on still counts, with these answers added. */
function isCurrent(context: TurnContext, call: PermittedCall, { given }: Attempt) {
  return async (added: readonly AnsweredInquiry[]): Promise<boolean> => {
    const now = await describeCall(context, call);
    const asked = new Set(added.map(({ request }) => request.questionId));
    const earlier = given.recorded.filter(({ request }) => !asked.has(request.questionId));
    const answers = [...earlier, ...added];
    return (
      answers.every((answered) => staleAnswer(context, call, { answered, now }).length === 0) &&
      (await stalePermission(context, call, { now, answers })).length === 0
    );
  };
}

interface StaleAnswer {
  readonly request: InquiryRequest;
  readonly replaces: Replaced;
}

/**
 * Empty if the answer still counts: it is about what would run now, and meets the terms on record and those in force.
 * Answers from config always count, and so does a no. Throws `directory_missing`.
 */
function staleAnswer(
  context: TurnContext,
  { tool }: PermittedCall,
  {
    answered: { request, response },
    now,
  }: { readonly answered: AnsweredInquiry; readonly now: CallSubject },
): StaleAnswer[] {
  const { question, questionId = request.id, rung = 0 } = request;
  const target = questionTarget(tool.settings, questionId);
  const inForce = whomInForce(context, { target, rung, named: addresseesOf(question) });
  const used = useOf(context, { ...request, kind: "question" }, { event: response, inForce });
  const subject = digestQuestion(now, request, request.subject);
  const isBound = !isNo(response) && !isConfigured(deciderOf(response));
  if (used === "counts" && (!isBound || response.digest === subject.digest)) return [];
  const changed = used === "counts" ? changesSince(request.subject, subject) : [used];
  const replaces = replacedBy({ request, response }, changed, false);
  if (used === "counts") return [{ request, replaces }];
  // Asked again under the terms in force.
  const { whom: _, ...others } = replaces;
  const isThere = peopleAt(target, rung) !== undefined;
  return [{ request, replaces: { ...others, rung: isThere ? rung : 0 } }];
}

function isConfigured(by: Decider | undefined): boolean {
  return by === undefined || by.kind === "config" || by.kind === "answers_file";
}

function replacedBy(
  { request, response }: Pick<InquiryPair, "request" | "response">,
  changed: readonly string[],
  isRecorded: boolean,
): Replaced {
  const by = response && deciderOf(response);
  const isForPerson =
    request.isForPerson === true || by?.kind === "user" || by?.kind === "remembered";
  const { id, rung = 0 } = request;
  return { id, changed, isForPerson, whom: whomOf(request), rung, isRecorded };
}

/**
 * Empty if the call may still run: by its permission, or by a person's yes to what it has become. Throws
 * `directory_missing`.
 */
export async function stalePermission(
  context: TurnContext,
  { permission, progress, tool, arguments: args }: PermittedCall,
  { now, answers }: { readonly now: CallSubject; readonly answers: readonly AnsweredInquiry[] },
): Promise<readonly Pick<DecisionVoid, "id" | "changed">[]> {
  if (permission === undefined || !isComparable(permission)) return [];
  const { action } = permission;
  const { run, [action]: own } = progress.permissions;
  // Someone may have been asked since the progress was read.
  const asked =
    permission.id === undefined ? own?.request : findRequest(context.journal, permission.id);
  // A doubt that was decided without asking is about the call as it was permitted.
  const isPermitted = run?.request?.subject?.digest === permission.digest;
  const request = asked ?? (isPermitted ? run?.request : undefined);
  const { startedFor } = action === "rerun" ? progress : {};
  const on = request ?? startedFor ?? {};
  const { mode, target = {} } = await verdictOf(context, { tool, arguments: args });
  const isAsked = mode !== "unattended" || action === "rerun";
  const { rung } = request ?? {};
  const inForce = isAsked ? whomInForce(context, { target, rung }) : {};
  const kind = action === "rerun" ? "in_doubt" : "permission";
  const id = permission.id ?? request?.id;
  const used = useOf(context, { ...on, kind, id }, { event: permission, inForce });
  const whom = whomOf(on);
  const call = { ...now, arguments: args };
  const subject = digestCall(call, whom, request?.subject);
  if (used === "counts") {
    if (isDigestOf(permission.digest, call, whom)) return [];
    // A yes to one of the call's questions does not replace a yes from those who must permit the call.
    if (!isForSome(whom) && answers.some((answered) => isPermitting(answered, now))) return [];
  }
  if (id === undefined) return [];
  if (used !== "counts") return [{ id, changed: [used] }];
  const changed = changesSince(request?.subject, subject);
  const isEdited = permission.decision === "edited";
  // The request is about the arguments before they were edited.
  const others = isEdited ? changed.filter((part) => part !== "arguments") : changed;
  return [{ id, changed: others.length === 0 ? ["arguments"] : others }];
}

/** Whether a decision that is about to be used still counts. Throws `directory_missing` if this process cannot tell. */
export function useOf(
  { journal, directory }: Pick<TurnContext, "journal" | "directory">,
  request: AskedOnRecord,
  { event, inForce }: { readonly event: AnswerEvent; readonly inForce: InForce },
): Exclude<Use, "directory_missing"> {
  const turn = () => lastTurn(journal);
  const used = judgeUse(request, event, { turn, directory, inForce });
  if (used === "directory_missing") throw directoryMissing();
  return used;
}

/** Whether a person has let the call act as it is now. A no, or an answer that only informs the call, does not. */
function isPermitting({ request, response }: AnsweredInquiry, now: CallSubject): boolean {
  if (isNo(response) || deciderOf(response)?.kind !== "user" || !isActing(request)) return false;
  return response.digest === digestQuestion(now, request, request.subject).digest;
}

function findRequest(journal: Journal, id: InquiryId): PermissionRequestEvent | undefined {
  return lastTurn(journal).findLast(
    (event): event is PermissionRequestEvent =>
      event.type === "permission_request" && event.id === id,
  );
}

/** False for decisions by config and policy, which are routed again instead. */
function isComparable({ decidedBy, decision }: PermissionDecision): boolean {
  return decision !== "denied" && decidedBy.kind !== "policy" && decidedBy.kind !== "config";
}

async function failUnstable(
  { journal, clock }: TurnContext,
  { tool, progress }: PermittedCall,
  changed: readonly Pick<DecisionVoid, "id" | "changed">[],
): Promise<AttemptsResult> {
  const timestamp = timestampFromDate(clock.now());
  const { name } = tool.settings;
  await journal.record(...changed.map((each) => voidEvent(each, timestamp)), {
    type: "permission_decision",
    timestamp,
    toolCallId: progress.request.id,
    tool: name,
    action: "run",
    decision: "denied",
    decidedBy: { kind: "policy", key: "subject_unstable" },
    cause: "subject_unstable",
  });
  return { type: "unanswered", content: keepsChanging(name), isError: true };
}

interface AskingAttempt extends Attempt {
  readonly needs: NeedsInput;
}

/** Undefined if the tool should run again, whether or not that is on record. */
async function answerAttempt(
  context: TurnContext,
  call: PermittedCall,
  attempt: AskingAttempt,
): Promise<AttemptsResult | { readonly isStarted: boolean } | undefined> {
  const { needs, budget } = attempt;
  const { name } = call.tool.settings;
  const asked = toAskedQuestions(call, attempt);
  const rebound = asked.flatMap(({ replaces }) => replaces ?? []);
  if (rebound.length > 0 && !budget.countVoid()) {
    needs.onUnanswered?.();
    return failUnstable(context, call, rebound);
  }
  const questions = asked.map(({ question }) => question);
  // A prompt for a model has an id that jp chose.
  const ids = asked.flatMap(({ question: { id }, prompt }) => (prompt === undefined ? [id] : []));
  await noticeUnnamed(context, call.tool, ids);
  const exceeded = budget.countBytes(bytesOf(questions, needs.state));
  let result: QuestionsResult;
  if (exceeded !== undefined) result = exhausted(questionsTooLarge(name, exceeded));
  else if (needs.refusal === undefined) {
    result = await askQuestions(context, asked, isCurrent(context, call, attempt));
  } else {
    const { refuseQuestions } = await loadDecisions();
    result = await refuseQuestions(context, asked, needs.refusal);
  }
  // A tool that withdraws its question reports the outcome of the call itself.
  const isWithdrawn = needs.closed?.aborted === true && !call.asking.aborted;
  if (result.type === "unanswered" && isWithdrawn && exceeded === undefined) {
    const limit = budget.countAnswer(); // Or a tool could ask and withdraw forever.
    if (limit === undefined) return undefined;
    result = exhausted(tooManyAnswers(name, limit));
  }
  if (result.type !== "answered") needs.onUnanswered?.();
  return takeAnswers(result, attempt);
}

/** Returns how the call ends if it does not continue with the answers. */
function takeAnswers(
  result: QuestionsResult,
  { given, budget }: Attempt,
): AttemptsResult | { readonly isStarted: boolean } {
  if (result.type === "pending") return result;
  if (result.type === "unanswered") {
    const { content, isError } = result;
    return { type: "unanswered", ...budget.fitResult({ content }), isError };
  }
  for (const each of result.answers) {
    given.add(each);
    const { answer, note } = answerIn(each) ?? {};
    budget.addAnswer(bytesOf(answer, note));
  }
  return { isStarted: result.isStarted };
}

/** How many bytes the data and the text recorded with it take from the call's budget. */
function bytesOf(data: unknown, text = ""): number {
  return Buffer.byteLength(JSON.stringify(data) + text);
}

function exhausted(content: string): QuestionsResult {
  return { type: "unanswered", reason: "attempts_exhausted", content, isError: true };
}

function toAskedQuestions(
  { progress, place, tool, asking: signal, arguments: args }: PermittedCall,
  { needs, given, budget }: AskingAttempt,
): readonly AskedQuestion[] {
  const { question, more = [], source, prompts, closed, state, isBound } = needs;
  return [question, ...more].map((each, index) => {
    const prompt = prompts?.get(each.id);
    const replaces = reboundAnswer(given, each, state);
    return {
      kind: "question",
      toolCallId: progress.request.id,
      place,
      tool,
      arguments: args,
      question: each,
      source,
      automaticAnswers: given.automaticAnswers(each),
      budget,
      ...(prompt !== undefined && { prompt }),
      ...(state !== undefined && index === 0 && { state }),
      ...(isBound === true && { isBound }),
      ...(closed !== undefined && { withdrawn: closed }),
      signal: closed === undefined ? signal : AbortSignal.any([signal, closed]),
      ...(replaces !== undefined && { replaces }),
    };
  });
}

/** The tool found that the answer no longer matches what it would do now. */
function reboundAnswer(
  given: GivenAnswers,
  question: Question,
  state: string | undefined,
): Replaced | undefined {
  const answered = given.find(question);
  if (answered === undefined) return undefined;
  const { request } = answered;
  const isRebound =
    question.binding === undefined
      ? state !== undefined && request.state !== state && request.question.text === question.text
      : request.question.binding !== question.binding;
  return isRebound ? replacedBy(answered, ["binding"], false) : undefined;
}
