/** The questions of one attempt: a single one, or several that are asked together as a form. */
import type { QuestionRefusal } from "../executor/index.ts";
import type { Question } from "../tool/index.ts";
import { messageOf } from "../util/index.ts";
import { type AskedQuestion, Inquiry, type QuestionResult, type Unanswered } from "./inquiry.ts";
import { promptCause, stopCause, type StopCause } from "./interrupts.ts";
import type { FormResult, Prompter } from "./ports.ts";
import type { GivenAnswer, TurnContext } from "./state.ts";

/** The answers in the order of the questions, or why one of them has none. */
export type QuestionsResult =
  | { readonly type: "answered"; readonly answers: readonly AnsweredQuestion[] }
  | Unanswered;

interface AnsweredQuestion extends GivenAnswer {
  readonly question: Question;
}

/** The questions must belong to one call. */
export async function answerQuestions(
  context: TurnContext,
  questions: readonly AskedQuestion[],
): Promise<QuestionsResult> {
  const inquiries = await Inquiry.open(context, questions);
  const [first] = questions;
  const isForm = questions.length > 1 && first?.signal.aborted === false;
  const results = isForm
    ? await answerForm({ context, inquiries, signal: first.signal })
    : await Promise.all(inquiries.map((inquiry) => inquiry.answer()));
  const answers = questions.flatMap(({ question }, index): AnsweredQuestion[] => {
    const result = results[index];
    return result?.type === "answered" ? [{ question, ...result }] : [];
  });
  const unanswered = results.find((result) => result.type === "unanswered");
  return unanswered ?? { type: "answered", answers };
}

/** Records the questions and refuses them, without asking anyone. */
export async function refuseQuestions(
  context: TurnContext,
  questions: readonly AskedQuestion[],
  { reason, content }: QuestionRefusal,
): Promise<Unanswered> {
  const inquiries = await Inquiry.open(context, questions);
  await Promise.all(inquiries.map((inquiry) => inquiry.refuse(reason, content)));
  return { type: "unanswered", reason, content, isError: true };
}

interface Form {
  readonly context: TurnContext;
  readonly inquiries: readonly Inquiry[];
  readonly signal: AbortSignal;
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
  const open = inquiries.filter((_inquiry, index) => results[index] === undefined);
  const unanswered = results.find((result) => result?.type === "unanswered");
  const rest =
    unanswered === undefined
      ? await askPerson({ ...form, inquiries: open })
      : await closeAll(open, unanswered);
  const remaining = [...rest];
  return results.flatMap((result) => result ?? remaining.shift() ?? []);
}

async function askPerson(form: Form): Promise<readonly QuestionResult[]> {
  const { context, inquiries, signal } = form;
  const { prompter, prompts } = context;
  const askForm = prompter.askForm?.bind(prompter);
  if (askForm === undefined || inquiries.length < 2) return askOneByOne(inquiries);
  const results = await prompts.run(async (promptSignal) => {
    // While this waited, the person may have left or given an answer for the whole turn.
    if (inquiries.some((inquiry) => inquiry.route().type !== "person")) return "changed";
    return showForm(inquiries, askForm, promptSignal);
  }, signal);
  if (results === "changed") return answerForm(form);
  return results ?? cancelAll(inquiries, stopCause(signal));
}

async function showForm(
  inquiries: readonly Inquiry[],
  askForm: NonNullable<Prompter["askForm"]>,
  signal: AbortSignal,
): Promise<readonly QuestionResult[]> {
  let result: FormResult;
  try {
    result = await askForm({ fields: inquiries.map(({ field }) => field), signal });
  } catch (error) {
    const message = messageOf(error);
    return Promise.all(inquiries.map((inquiry) => inquiry.failPrompt(message)));
  }
  if (result.type !== "answered") return cancelAll(inquiries, promptCause(result, signal));
  const { results } = result;
  return Promise.all(
    inquiries.map((inquiry) => {
      const own = results.find(({ inquiryId }) => inquiryId === inquiry.id);
      return own === undefined
        ? inquiry.failPrompt("the form has no answer for this question")
        : inquiry.accept(own, signal);
    }),
  );
}

async function askOneByOne(inquiries: readonly Inquiry[]): Promise<readonly QuestionResult[]> {
  const results: QuestionResult[] = [];
  for (const [index, inquiry] of inquiries.entries()) {
    const result = await inquiry.answer();
    results.push(result);
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
