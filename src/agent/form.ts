/** The questions of one attempt: recorded together, and asked one alone or several as a form. */
import {
  type InquiryRequest,
  questionSubject,
  type Timestamp,
  timestampFromDate,
} from "../conversation/index.ts";
import type { ToolSettings } from "../config/index.ts";
import type { QuestionRefusal } from "../executor/index.ts";
import type { Question } from "../tool/index.ts";
import { messageOf } from "../util/index.ts";
import {
  Inquiry,
  PENDING,
  type Pending,
  type QuestionResult,
  type RecordedQuestion,
  type Unanswered,
} from "./inquiry.ts";
import { promptCause, stopCause, type StopCause } from "./stop-cause.ts";
import type { CallableTool, FormResult, Prompter } from "./ports.ts";
import { isUserOf } from "./prompts.ts";
import type { AskedQuestion } from "./asked-question.ts";
import type { GivenAnswer } from "./given-answers.ts";
import type { TurnContext } from "./context.ts";

/** The answers in the order of the questions, or why one of them has none. */
export type QuestionsResult =
  | { readonly type: "answered"; readonly answers: readonly AnsweredQuestion[] }
  | Unanswered
  | Pending;

interface AnsweredQuestion extends GivenAnswer {
  readonly question: Question;
}

/** The questions must belong to one call. */
export async function answerQuestions(
  context: TurnContext,
  questions: readonly AskedQuestion[],
): Promise<QuestionsResult> {
  const { waiting } = context.state;
  const asksSecret = questions.some(({ question }) => question.answerType.type === "secret");
  const listening = asksSecret ? await waiting.listenForSecrets() : undefined;
  try {
    return await answerAll(context, questions);
  } finally {
    listening?.[Symbol.dispose]();
  }
}

async function answerAll(
  context: TurnContext,
  questions: readonly AskedQuestion[],
): Promise<QuestionsResult> {
  const inquiries = await openInquiries(context, questions);
  const [first] = questions;
  const isForm = questions.length > 1 && first?.signal.aborted === false;
  let results: readonly QuestionResult[];
  try {
    const answered = isForm
      ? await answerForm({ context, inquiries })
      : await Promise.all(inquiries.map((inquiry) => inquiry.answer()));
    results = await Promise.all(
      inquiries.map(async (inquiry, index) => {
        const result = answered[index] ?? PENDING;
        // One that was left open may have got its answer while others were asked.
        return result.type === "pending" && inquiry.hasChanged ? inquiry.answer() : result;
      }),
    );
  } finally {
    for (const inquiry of inquiries) inquiry.stop();
  }
  results = await Promise.all(
    results.map(async (result, index) => inquiries[index]?.settle(result) ?? result),
  );
  const answers = questions.flatMap(({ question }, index): AnsweredQuestion[] => {
    const result = results[index];
    return result?.type === "answered" ? [{ question, ...result }] : [];
  });
  const unanswered = results.find((result) => result.type === "unanswered");
  const pending = inquiries.filter((_, index) => results[index]?.type === "pending");
  if (unanswered !== undefined) {
    await closeAll(pending, unanswered);
    return unanswered;
  }
  return pending.length > 0 ? { type: "pending" } : { type: "answered", answers };
}

/** Records the questions and refuses them, without asking anyone. */
export async function refuseQuestions(
  context: TurnContext,
  questions: readonly AskedQuestion[],
  { reason, content }: QuestionRefusal,
): Promise<Unanswered> {
  const inquiries = await openInquiries(context, questions);
  for (const inquiry of inquiries) inquiry.stop();
  await Promise.all(inquiries.map((inquiry) => inquiry.refuse(reason, content)));
  return { type: "unanswered", reason, content, isError: true };
}

/** Records the questions, before anything is decided about them, unless an earlier process has. */
async function openInquiries(
  context: TurnContext,
  questions: readonly AskedQuestion[],
): Promise<readonly Inquiry[]> {
  const now = context.clock.now();
  const round = { open: questions.length };
  const recorded = questions.map((asked): RecordedQuestion => {
    const question = withConfiguredExclusive(asked.question, asked.tool.settings);
    const own = { ...asked, question };
    const request = asked.recorded?.request ?? createRequest(context, own, now);
    // Before it is on record: from then on it may be answered elsewhere.
    const item = context.state.waiting.open(questionSubject(request.id));
    return { asked: own, request, item, round };
  });
  const requests = recorded.flatMap(({ asked, request }) =>
    asked.recorded === undefined ? [request] : [],
  );
  if (requests.length > 0) await context.journal.record(...requests);
  return recorded.map((question) => new Inquiry(context, question));
}

/** Applies the config, which has the last word on who may answer. */
export function withConfiguredExclusive(
  question: Question,
  { questions }: Pick<ToolSettings, "questions">,
): Question {
  const { exclusive = question.exclusive } = questions.get(question.id) ?? {};
  return exclusive === question.exclusive ? question : { ...question, exclusive };
}

function createRequest(
  { state: turn }: TurnContext,
  { question, tool, source, toolCallId, state, isBound }: AskedQuestion,
  now: Date,
): InquiryRequest {
  const id = turn.nextInquiryId(toolCallId, question.id);
  const timestamp = timestampFromDate(now);
  return {
    ...toInquiryRequest(question, { id, timestamp, source, toolCallId }),
    ...(state !== undefined && { state }),
    ...(isBound === true && { isBound }),
    ...deadlineFor(question, tool, now),
    ...personFor(question, tool),
  };
}

function personFor({ id }: Question, { settings }: CallableTool): { readonly for?: string } {
  const { user } = settings.questions.get(id)?.target ?? {};
  return user === undefined ? {} : { for: user };
}

function deadlineFor(
  { id }: Question,
  { settings }: CallableTool,
  now: Date,
): { readonly deadline?: Timestamp } {
  const { deadlineMs } = settings.questions.get(id) ?? {};
  if (deadlineMs === undefined) return {};
  return { deadline: timestampFromDate(new Date(now.getTime() + deadlineMs)) };
}

export function toInquiryRequest(
  { id: questionId, ...question }: Question,
  fields: Pick<InquiryRequest, "id" | "timestamp" | "source" | "toolCallId">,
): InquiryRequest {
  return { type: "inquiry_request", ...fields, question, questionId };
}

interface Form {
  readonly context: TurnContext;
  readonly inquiries: readonly Inquiry[];
}

/** Answers everything that needs no person first, then asks the person once for all the rest. */
async function answerForm(form: Form): Promise<readonly QuestionResult[]> {
  const { inquiries } = form;
  const routes = inquiries.map((inquiry) => inquiry.route());
  const isRefused = routes.some(({ type }) => type === "refused");
  const results = await Promise.all(
    inquiries.map(async (inquiry, index) => {
      const route = routes[index];
      const isNext = isRefused ? route?.type === "refused" : route?.type !== "person";
      return route !== undefined && isNext ? inquiry.answerBy(route) : undefined;
    }),
  );
  const ends = results.map((result) => (result?.type === "rerouted" ? undefined : result));
  const open = inquiries.filter((_inquiry, index) => ends[index] === undefined);
  const unanswered = ends.find((end) => end?.type === "unanswered");
  const isChanged = results.some((result) => result?.type === "rerouted");
  const rest = { ...form, inquiries: open };
  let others: readonly QuestionResult[];
  if (unanswered !== undefined) others = await closeAll(open, unanswered);
  else others = isChanged ? await answerForm(rest) : await askPerson(rest);
  const remaining = [...others];
  return ends.flatMap((end) => end ?? remaining.shift() ?? []);
}

async function askPerson(form: Form): Promise<readonly QuestionResult[]> {
  const { context, inquiries } = form;
  const { prompter, prompts } = context;
  const askForm = prompter.askForm?.bind(prompter);
  const groups = Map.groupBy(inquiries, (inquiry) =>
    isUserOf(context, inquiry.for) ? undefined : inquiry.for,
  );
  if (groups.size > 1) return askPeople(form, [...groups.values()]);
  if (askForm === undefined || inquiries.length < 2) return askOneByOne(inquiries);
  const signal = AbortSignal.any(inquiries.map((inquiry) => inquiry.signal));
  const results = await prompts.run(async (promptSignal) => {
    // While this waited, the person may have left or given an answer for the whole turn.
    if (inquiries.some((inquiry) => inquiry.route().type !== "person")) return "changed";
    return showForm(inquiries, askForm, promptSignal);
  }, signal);
  const isChanged = results === "changed" || (results === undefined && hasChanged(inquiries));
  if (isChanged) return answerForm(form);
  return results ?? cancelAll(inquiries, stopCause(signal));
}

/** Asks one person after the other, each for what is meant for them. */
async function askPeople(
  form: Form,
  groups: readonly (readonly Inquiry[])[],
): Promise<readonly QuestionResult[]> {
  const results = new Map<Inquiry, QuestionResult>();
  for (const inquiries of groups) {
    const ended = [...results.values()].find((result) => result.type === "unanswered");
    const part = ended ? await closeAll(inquiries, ended) : await askPerson({ ...form, inquiries });
    for (const [index, result] of part.entries()) {
      const inquiry = inquiries[index];
      if (inquiry !== undefined) results.set(inquiry, result);
    }
  }
  return form.inquiries.flatMap((inquiry) => results.get(inquiry) ?? []);
}

/** Then what is still open is asked again, without the rest. */
function hasChanged(inquiries: readonly Inquiry[]): boolean {
  return inquiries.some((inquiry) => inquiry.hasChanged);
}

async function showForm(
  inquiries: readonly Inquiry[],
  askForm: NonNullable<Prompter["askForm"]>,
  signal: AbortSignal,
): Promise<readonly QuestionResult[] | "changed"> {
  const fields = inquiries.map((inquiry) => inquiry.request(signal));
  const [first] = fields;
  if (first === undefined) return [];
  const { question: _question, questionId: _id, canRemember: _canRemember, ...base } = first;
  let result: FormResult;
  try {
    result = await askForm({ ...base, fields });
  } catch (error) {
    const message = messageOf(error);
    return Promise.all(inquiries.map((inquiry) => inquiry.failPrompt(message)));
  }
  if (result.type !== "answered" && hasChanged(inquiries)) return "changed";
  if (result.type === "later") return inquiries.map(() => ({ type: "pending" }));
  if (result.type === "unanswered" && !signal.aborted) {
    for (const inquiry of inquiries) inquiry.giveUp(result.reason);
    return "changed";
  }
  if (result.type !== "answered") return cancelAll(inquiries, promptCause(result, signal));
  const { results, userName } = result;
  const by = userName === undefined ? {} : { userName };
  return Promise.all(
    inquiries.map((inquiry) => {
      const own = results.find(({ inquiryId }) => inquiryId === inquiry.id);
      return own === undefined
        ? inquiry.failPrompt("the form has no answer for this question")
        : inquiry.accept({ ...by, ...own }, signal);
    }),
  );
}

async function askOneByOne(inquiries: readonly Inquiry[]): Promise<readonly QuestionResult[]> {
  const results: QuestionResult[] = [];
  for (const [index, inquiry] of inquiries.entries()) {
    const result = await inquiry.answer();
    results.push(result);
    // The rest is asked with this one, later.
    if (result.type === "pending")
      return inquiries.map((_, position) => results[position] ?? result);
    if (result.type === "unanswered") {
      return [...results, ...(await closeAll(inquiries.slice(index + 1), result))];
    }
  }
  return results;
}

/** One unanswered question ends the call, so the others are closed for the same reason. */
function closeAll(
  inquiries: readonly Inquiry[],
  { reason, content }: Unanswered,
): Promise<readonly QuestionResult[]> {
  if (reason === "user" || reason === "interrupted") return cancelAll(inquiries, reason);
  return Promise.all(inquiries.map((inquiry) => inquiry.refuse(reason, content)));
}

function cancelAll(
  inquiries: readonly Inquiry[],
  cause: StopCause,
): Promise<readonly QuestionResult[]> {
  return Promise.all(inquiries.map((inquiry) => inquiry.cancel(cause)));
}
