/** The questions of one attempt: recorded together, and asked one alone or several as a form. */
import type { ToolSettings } from "../config/index.ts";
import {
  type CancellationReason,
  describeWhom,
  isActing,
  type KnownCancellationReason,
} from "../conversation/index.ts";
import type { InquirySource, Question } from "../tool/index.ts";
import { isNotLoaded, messageOf } from "../util/index.ts";
import type { AskedQuestion } from "./asked.ts";
import type { TurnContext } from "./context.ts";
import { type Decided, type Decision, openQuestions, PENDING, type Round } from "./decide.ts";
import { declineOf, type GivenAnswer } from "./given-answers.ts";
import { cancelledText } from "./model-texts.ts";
import type { Prompter, PromptResult } from "./ports.ts";
import type { OpenPrompt } from "./prompt-queue.ts";
import { isForUser } from "./prompts.ts";
import { promptCause, stopCause, type StopCause } from "./stop-cause.ts";

/** The answers in the order of the questions, or why one of them has none. */
export type QuestionsResult =
  | {
      readonly type: "answered";
      readonly answers: readonly AnsweredQuestion[];
      /** The start of the next attempt is on record. */
      readonly isStarted: boolean;
    }
  | Unanswered
  | typeof PENDING;

interface AnsweredQuestion extends GivenAnswer {
  readonly question: Question;
}

/** The call ends here, and the model sees `content`. */
export interface Unanswered {
  readonly type: "unanswered";
  readonly reason: CancellationReason;
  readonly content: string;
  readonly isError: boolean;
}

type QuestionResult =
  | ({ readonly type: "answered" } & AnsweredQuestion)
  | Unanswered
  | typeof PENDING;

/**
 * The questions must belong to one call. `isCurrent` says whether what its next attempt relies on still counts; if it does
 * not, the answers are on record, but not that the attempt starts.
 */
export async function answerQuestions(
  context: TurnContext,
  questions: readonly AskedQuestion[],
  isCurrent: Round["isCurrent"],
): Promise<QuestionsResult> {
  const { waiting } = context.state;
  const asksSecret = questions.some(({ question }) => question.answerType.type === "secret");
  const listening = asksSecret ? await waiting.listenForSecrets() : undefined;
  try {
    return await answerAll(context, questions, isCurrent);
  } finally {
    listening?.[Symbol.dispose]();
  }
}

async function answerAll(
  context: TurnContext,
  questions: readonly AskedQuestion[],
  isCurrent: Round["isCurrent"],
): Promise<QuestionsResult> {
  const round: Round = { open: questions.length, answered: [], isStarted: false, isCurrent };
  const decisions = await openQuestions(context, questions.map(configured), round);
  const [first] = questions;
  const isForm = questions.length > 1 && first?.signal.aborted === false;
  let results: readonly Decided[];
  try {
    const answered = isForm
      ? await answerForm({ context, decisions })
      : await Promise.all(decisions.map((decision) => decision.decide()));
    results = await Promise.all(
      decisions.map(async (decision, index) => {
        const result = answered[index] ?? PENDING;
        // One that was left open may have got its answer while others were asked.
        return result.type === "pending" && decision.hasChanged ? decision.decide() : result;
      }),
    );
  } finally {
    for (const decision of decisions) decision[Symbol.dispose]();
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

function configured(asked: AskedQuestion): AskedQuestion {
  const { question, source, tool } = asked;
  return { ...asked, question: withConfiguredExclusive(question, source, tool.settings) };
}

/** The answer as the tool gets it, or what the model learns instead. */
function toResult(decision: Decision, decided: Decided): QuestionResult {
  const { asked, request } = decision;
  if (decided.type !== "decided" || asked.kind !== "question") return PENDING;
  const { event, message, reply } = decided;
  if (event.type !== "inquiry_response" || request?.type !== "inquiry_request") return PENDING;
  const { question, tool } = asked;
  if (event.outcome === "cancelled") {
    const { content, isError } = cancelledText(tool.settings.name, event.reason);
    return { type: "unanswered", reason: event.reason, content: message ?? content, isError };
  }
  const given = event.outcome === "answered" ? event : decided.secret;
  if (given === undefined) return PENDING; // Without its secret, it has to be asked again.
  const { answer, note } = given;
  return {
    type: "answered",
    question,
    answer,
    ...(note !== undefined && { note }),
    isAutomatic: event.answeredBy?.kind !== "user",
    ...(reply !== undefined && { reply }),
    ...(event.outcome === "answered" && declineOf(question, event)),
    recorded: { request, response: event },
  };
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
  const decisions = await openQuestions(context, questions.map(configured), round);
  for (const decision of decisions) decision[Symbol.dispose]();
  await Promise.all(decisions.map((decision) => decision.refuse(reason, content)));
  return { type: "unanswered", reason, content, isError: true };
}

/** Applies the config, which has the last word on who may answer. What the tool wants to act on still acts. */
export function withConfiguredExclusive(
  question: Question,
  source: InquirySource,
  { questions }: Pick<ToolSettings, "questions">,
): Question {
  const { exclusive = question.exclusive } = questions.get(question.id) ?? {};
  if (exclusive === question.exclusive) return question;
  return { ...question, exclusive, ...(isActing({ question, source }) && { acts: true }) };
}

interface Form {
  readonly context: TurnContext;
  readonly decisions: readonly Decision[];
}

/** Answers everything that needs no person first, then asks the person once for all the rest. */
async function answerForm(form: Form): Promise<readonly Decided[]> {
  const { decisions } = form;
  const routes = decisions.map((decision) => decision.route());
  const isRefused = routes.some(({ type }) => type === "refused");
  const results = await Promise.all(
    decisions.map(async (decision, index) => {
      const route = routes[index];
      const isNext = isRefused ? route?.type === "refused" : route?.type !== "person";
      return route !== undefined && isNext ? decision.follow(route) : undefined;
    }),
  );
  const ends = results.map((result) => (result?.type === "rerouted" ? undefined : result));
  const open = decisions.filter((_, index) => ends[index] === undefined);
  const unanswered = findUnanswered(decisions, ends);
  const isChanged = results.some((result) => result?.type === "rerouted");
  const rest = { ...form, decisions: open };
  let others: readonly Decided[];
  if (unanswered !== undefined) others = await closeAll(open, unanswered);
  else others = isChanged ? await answerForm(rest) : await askPerson(rest);
  const remaining = [...others];
  return ends.flatMap((end) => end ?? remaining.shift() ?? []);
}

function findUnanswered(
  decisions: readonly Decision[],
  ends: readonly (Decided | undefined)[],
): Unanswered | undefined {
  const results = decisions.map((decision, index) => toResult(decision, ends[index] ?? PENDING));
  return results.find((result) => result.type === "unanswered");
}

async function askPerson(form: Form): Promise<readonly Decided[]> {
  const { context, decisions } = form;
  const { prompter } = context;
  const groups = Map.groupBy(decisions, ({ whom }) =>
    isForUser(context, whom) ? undefined : describeWhom(whom),
  );
  if (groups.size > 1) return askPeople(form, [...groups.values()]);
  if (prompter.showsForms !== true || decisions.length < 2) return askOneByOne(decisions);
  const signal = AbortSignal.any(decisions.map((decision) => decision.signal));
  const results = await askTogether(context, decisions, signal);
  const isChanged = results === "changed" || (results === undefined && hasChanged(decisions));
  if (isChanged) return answerForm(form);
  return results ?? cancelAll(decisions, stopCause(signal));
}

/** Undefined if aborted before the form was open. */
async function askTogether(
  { prompter, prompts }: TurnContext,
  decisions: readonly Decision[],
  signal: AbortSignal,
): Promise<readonly Decided[] | "changed" | undefined> {
  using open = await prompts.open(signal, decisions[0]?.asked.place);
  if (open === undefined) return undefined;
  // While this waited, the person may have left or given an answer for the whole turn.
  if (decisions.some((decision) => decision.route().type !== "person")) return "changed";
  return await showForm(prompter, decisions, open);
}

/** Asks one person after the other, each for what is meant for them. */
async function askPeople(
  form: Form,
  groups: readonly (readonly Decision[])[],
): Promise<readonly Decided[]> {
  const results = new Map<Decision, Decided>();
  for (const decisions of groups) {
    const ended = findUnanswered([...results.keys()], [...results.values()]);
    const part = ended ? await closeAll(decisions, ended) : await askPerson({ ...form, decisions });
    for (const [index, result] of part.entries()) {
      const decision = decisions[index];
      if (decision !== undefined) results.set(decision, result);
    }
  }
  return form.decisions.flatMap((decision) => results.get(decision) ?? []);
}

/** Then what is still open is asked again, without the rest. */
function hasChanged(decisions: readonly Decision[]): boolean {
  return decisions.some((decision) => decision.hasChanged);
}

async function showForm(
  prompter: Prompter,
  decisions: readonly Decision[],
  open: OpenPrompt,
): Promise<readonly Decided[] | "changed"> {
  const { signal } = open;
  const fields = decisions.map((decision) => decision.toField(signal));
  const [first] = fields;
  if (first === undefined) return [];
  const { question: _question, questionId: _id, canRemember: _canRemember, ...base } = first;
  const acts = fields.some((field) => field.acts);
  let result: PromptResult;
  try {
    result = await prompter.ask({ ...base, kind: "form", acts, fields });
  } catch (error) {
    if (isNotLoaded(error)) throw error; // As for a single question.
    const message = messageOf(error);
    return Promise.all(decisions.map((decision) => decision.failPrompt(message)));
  } finally {
    open.end(); // As for a single question.
  }
  if (result.type !== "form" && hasChanged(decisions)) return "changed";
  if (result.type === "later") return decisions.map(() => PENDING);
  if (result.type === "unanswered" && !signal.aborted) {
    const { reason } = result;
    const given = await Promise.all(decisions.map((decision) => decision.giveUp(reason)));
    const ended = given.filter((each) => each.type !== "rerouted");
    return ended.length === given.length ? ended : "changed";
  }
  if (result.type === "answered") {
    const message = "the form has one answer for all of its questions";
    return Promise.all(decisions.map((decision) => decision.failPrompt(message)));
  }
  if (result.type !== "form") return cancelAll(decisions, promptCause(result, signal));
  const { results, userName } = result;
  const by = userName === undefined ? {} : { userName };
  return Promise.all(
    decisions.map(async (decision) => {
      const own = results.find(({ inquiryId }) => inquiryId === decision.id);
      if (own === undefined) {
        return decision.failPrompt("the form has no answer for this question");
      }
      const accepted = await decision.accept({ ...by, ...own }, signal);
      return accepted.type === "rerouted" ? decision.decide() : accepted;
    }),
  );
}

async function askOneByOne(decisions: readonly Decision[]): Promise<readonly Decided[]> {
  const results: Decided[] = [];
  for (const [index, decision] of decisions.entries()) {
    const decided = await decision.decide();
    results.push(decided);
    // The rest is asked with this one, later.
    if (decided.type !== "decided") {
      return decisions.map((_, position) => results[position] ?? decided);
    }
    const result = toResult(decision, decided);
    if (result.type === "unanswered") {
      return [...results, ...(await closeAll(decisions.slice(index + 1), result))];
    }
  }
  return results;
}

/** One unanswered question ends the call, so the others are closed for the same reason. */
function closeAll(
  decisions: readonly Decision[],
  { reason, content }: Unanswered,
): Promise<readonly Decided[]> {
  if (reason === "user" || reason === "interrupted") return cancelAll(decisions, reason);
  const known = typeof reason === "string" ? reason : "interrupted";
  return Promise.all(decisions.map((decision) => decision.refuse(known, content)));
}

function cancelAll(decisions: readonly Decision[], cause: StopCause): Promise<readonly Decided[]> {
  return Promise.all(decisions.map((decision) => decision.cancel(cause)));
}
