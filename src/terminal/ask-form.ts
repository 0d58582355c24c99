/** Asks several questions together, and lets the user review the answers before they are sent. */
import type { FormResult, PromptResult } from "../agent/index.ts";
import { oneLine } from "../render/index.ts";
import {
  type Answered,
  answerQuestion,
  askQuestion,
  printLabel,
  type ShownQuestion,
  toResult,
} from "./ask-question.ts";
import { chooseClosing, type ClosedQuestion, type Dialogue, type NoAnswer } from "./dialogue.ts";

/** What the terminal shows of a form. */
export interface ShownForm {
  readonly fields: readonly ShownQuestion[];
  readonly allowsLater?: boolean;
}

type OpenField = ShownQuestion & {
  /** The question as shown while the form is open: `(1/3) Which?`. */
  readonly message: string;
};

type AnsweredField = OpenField & { readonly answered: Answered };

/** What Escape does at every question of a form and at the review. */
const CANCEL_ALL = "cancel all questions";

export async function askForm(
  { fields, allowsLater = false }: ShownForm,
  dialogue: Dialogue,
): Promise<FormResult> {
  const [first, ...others] = fields.map(openField);
  if (first === undefined) return { type: "answered", results: [] };
  if (others.length === 0)
    return toFormResult(await askQuestion({ ...first, allowsLater }, dialogue));
  await dialogue.start();
  dialogue.notify(first.message);
  printLabel(first, dialogue);
  const result = await answerFields([first, ...others], dialogue);
  if (result.type === "aborted") return { type: "interrupted" };
  if (result.type === "cancelled") {
    const closing = await chooseClosing(result, { allowsLater }, dialogue);
    if (closing === "aborted") return { type: "interrupted" };
    if (closing === "back") return askForm({ fields, allowsLater }, dialogue);
    for (const { question } of fields) {
      const message = oneLine(question.text);
      const summary = closing === "later" ? "left for later" : "cancelled";
      dialogue.printClosed({ message, summary, isCancelled: true });
    }
    return { type: closing };
  }
  const { answers } = result;
  for (const { question, answered } of answers) {
    dialogue.printClosed({ message: oneLine(question.text), summary: answered.summary });
  }
  const results = answers.map(({ inquiryId, answered }) => toResult(inquiryId, answered));
  return { type: "answered", results };
}

function openField(
  field: ShownQuestion,
  index: number,
  { length }: readonly ShownQuestion[],
): OpenField {
  return { ...field, message: `(${index + 1}/${length}) ${oneLine(field.question.text)}` };
}

/** A single answer is not reviewed. */
function toFormResult(result: PromptResult): FormResult {
  if (result.type === "answered") return { type: "answered", results: [result] };
  const { inquiryId: _inquiryId, ...noAnswer } = result;
  return noAnswer;
}

type AllAnswered =
  | { readonly type: "all_answered"; readonly answers: readonly AnsweredField[] }
  | NoAnswer;

async function answerFields(
  fields: readonly OpenField[],
  dialogue: Dialogue,
): Promise<AllAnswered> {
  let answers: readonly AnsweredField[] = [];
  for (;;) {
    const closed = answers.map(({ message, answered: { summary } }) => ({ message, summary }));
    const next: ReviewChoice =
      answers.length < fields.length
        ? { type: "change", index: answers.length }
        : await reviewAnswers(closed, dialogue);
    if (next.type === "cancelled" || next.type === "aborted") return next;
    const index = next.type === "change" ? next.index : fields.length;
    const field = fields[index];
    if (field === undefined) return { type: "all_answered", answers };
    const { question, message, tool, questionId } = field;
    const others = closed.filter((_answer, position) => position !== index);
    dialogue.header = { answered: others, context: question.context };
    const previous = answers[index]?.answered;
    const answered = await answerQuestion(
      { question, message, previous, scope: { tool, questionId }, escape: CANCEL_ALL },
      dialogue,
    );
    if (answered.type !== "answered") return answered;
    answers = answers.toSpliced(index, 1, { ...field, answered });
  }
}

type ReviewChoice =
  | { readonly type: "send" }
  | { readonly type: "change"; readonly index: number }
  | NoAnswer;

/** Answers beyond the ninth have no key of their own; `e` reaches them. */
const MAX_NUMBER_KEYS = 9;

async function reviewAnswers(
  answered: readonly ClosedQuestion[],
  dialogue: Dialogue,
): Promise<ReviewChoice> {
  const numbers = answered.slice(0, MAX_NUMBER_KEYS).map((_answer, index) => `${index + 1}`);
  const menu = {
    message: "Send these answers?",
    choices: {
      y: "send the answers",
      e: "change an answer",
      ...Object.fromEntries(numbers.map((number) => [number, `change answer ${number}`])),
    },
    default: "y",
    escape: CANCEL_ALL,
  };
  for (;;) {
    dialogue.header = { answered, isReview: true };
    const chosen = await dialogue.choose<string>(menu);
    if (chosen.type !== "chosen") return chosen;
    if (chosen.choice === "y") return { type: "send" };
    if (chosen.choice !== "e") return { type: "change", index: Number(chosen.choice) - 1 };
    const change = await chooseAnswer(answered, dialogue);
    if (change !== undefined) return change;
  }
}

/** Undefined if the user went back. */
async function chooseAnswer(
  answered: readonly ClosedQuestion[],
  dialogue: Dialogue,
): Promise<ReviewChoice | undefined> {
  dialogue.header = undefined; // The list shows the answers.
  const options = answered.map(({ message, summary }) => ({
    label: `${message} ${oneLine(summary)}`,
  }));
  const list = { message: "Which answer do you want to change?", options };
  const { ending } = await dialogue.select(list, { filter: "", active: 0, marked: [] });
  if (ending.type === "aborted") return ending;
  const [index] = ending.type === "chosen" ? ending.indexes : [];
  return index === undefined ? undefined : { type: "change", index };
}
