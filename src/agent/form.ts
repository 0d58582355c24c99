/** The questions of one attempt: one alone, or several that are asked together as a form. */
import type { QuestionRefusal } from "../executor/index.ts";
import type { Question } from "../tool/index.ts";
import { messageOf } from "../util/index.ts";
import { type AskedQuestion, Inquiry, type QuestionEnd, type Unanswered } from "./inquiry.ts";
import { promptCause, stopCause, type StopCause } from "./interrupts.ts";
import type { FormResult, Prompter, TurnParts } from "./ports.ts";
import type { GivenAnswer } from "./state.ts";

/** In the order of the questions, if all have an answer; else why there is none. */
export type QuestionsEnd =
  | { readonly type: "answered"; readonly answers: readonly Answered[] }
  | Unanswered;

interface Answered extends GivenAnswer {
  readonly question: Question;
}

/** They are of one call. */
export async function answerQuestions(
  parts: TurnParts,
  questions: readonly AskedQuestion[],
): Promise<QuestionsEnd> {
  const inquiries = await Inquiry.open(parts, questions);
  const [first] = questions;
  const isForm = questions.length > 1 && first?.signal.aborted === false;
  const ends = isForm
    ? await answerTogether({ parts, inquiries, signal: first.signal })
    : await Promise.all(inquiries.map((inquiry) => inquiry.answer()));
  const answers = questions.flatMap(({ question }, index): Answered[] => {
    const end = ends[index];
    return end?.type === "answered" ? [{ question, ...end }] : [];
  });
  const unanswered = ends.find((end) => end.type === "unanswered");
  return unanswered ?? { type: "answered", answers };
}

/** Nobody is asked; that they were is on record. */
export async function refuseQuestions(
  parts: TurnParts,
  questions: readonly AskedQuestion[],
  { reason, content }: QuestionRefusal,
): Promise<Unanswered> {
  const inquiries = await Inquiry.open(parts, questions);
  await Promise.all(inquiries.map((inquiry) => inquiry.refuse(reason, content)));
  return { type: "unanswered", reason, content, isError: true };
}

interface Form {
  readonly parts: TurnParts;
  readonly inquiries: readonly Inquiry[];
  readonly signal: AbortSignal;
}

/** What needs no person is answered first; whoever is asked then, is asked once for all the rest. */
async function answerTogether(form: Form): Promise<readonly QuestionEnd[]> {
  const { inquiries } = form;
  const routes = inquiries.map((inquiry) => inquiry.route());
  const isRefused = routes.some(({ type }) => type === "refused");
  const ends = await Promise.all(
    inquiries.map(async (inquiry, index) => {
      const route = routes[index];
      const isNext = isRefused ? route?.type === "refused" : route?.type !== "person";
      return route !== undefined && isNext ? inquiry.follow(route) : undefined;
    }),
  );
  const open = inquiries.filter((_inquiry, index) => ends[index] === undefined);
  const unanswered = ends.find((end) => end?.type === "unanswered");
  const rest =
    unanswered === undefined
      ? await askRest({ ...form, inquiries: open })
      : await closeAll(open, unanswered);
  const left = [...rest];
  return ends.flatMap((end) => end ?? left.shift() ?? []);
}

/** One question without an answer ends the call: nobody needs the others any more. */
function closeAll(
  inquiries: readonly Inquiry[],
  { reason, content }: Unanswered,
): Promise<readonly QuestionEnd[]> {
  if (reason === "user" || reason === "interrupted") return cancelAll(inquiries, reason);
  return Promise.all(inquiries.map((inquiry) => inquiry.refuse(reason, content)));
}

async function askRest(form: Form): Promise<readonly QuestionEnd[]> {
  const { parts, inquiries, signal } = form;
  const { prompter, prompts } = parts;
  const askForm = prompter.askForm?.bind(prompter);
  if (askForm === undefined || inquiries.length < 2) return askInTurn(inquiries);
  const ends = await prompts.run(async (own) => {
    // While they waited for their turn, the person may have left, or decided for the turn.
    if (inquiries.some((inquiry) => inquiry.route().type !== "person")) return "changed";
    return showForm(inquiries, askForm, own);
  }, signal);
  if (ends === "changed") return answerTogether(form);
  return ends ?? cancelAll(inquiries, stopCause(signal));
}

async function showForm(
  inquiries: readonly Inquiry[],
  askForm: NonNullable<Prompter["askForm"]>,
  signal: AbortSignal,
): Promise<readonly QuestionEnd[]> {
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
      return own === undefined ? inquiry.failPrompt("it has no answer") : inquiry.take(own, signal);
    }),
  );
}

function cancelAll(
  inquiries: readonly Inquiry[],
  cause: StopCause,
): Promise<readonly QuestionEnd[]> {
  return Promise.all(inquiries.map((inquiry) => inquiry.cancel(cause)));
}

async function askInTurn(inquiries: readonly Inquiry[]): Promise<readonly QuestionEnd[]> {
  const ends: QuestionEnd[] = [];
  for (const [index, inquiry] of inquiries.entries()) {
    const end = await inquiry.answer();
    ends.push(end);
    if (end.type === "unanswered") {
      return [...ends, ...(await closeAll(inquiries.slice(index + 1), end))];
    }
  }
  return ends;
}
