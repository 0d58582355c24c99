/** Asks several questions together, and lets the user review the answers before they are sent. */
import type { FormResult, PromptResult } from "../agent/index.ts";
import { oneLine } from "../render/index.ts";
import {
  type Answered,
  answerQuestion,
  askQuestion,
  isActing,
  printLabel,
  questionText,
  type ShownQuestion,
  toResult,
} from "./ask-question.ts";
import { chooseClosing, type Dialogue, type NoAnswer } from "./dialogue.ts";
import type { ClosedQuestion } from "./question-rows.ts";

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
  const result = await answerFields([first, ...others], { allowsLater, dialogue });
  if (result.type === "aborted") return { type: "interrupted" };
  if (result.type !== "all_answered") {
    for (const field of fields) {
      const message = questionText(field);
      const summary = result.type === "later" ? "left for later" : "cancelled";
      dialogue.printClosed({ message, summary, isCancelled: true });
    }
    return result;
  }
  const { answers } = result;
  for (const { answered, ...field } of answers) {
    dialogue.printClosed({ message: questionText(field), summary: answered.summary });
  }
  const results = answers.map(({ inquiryId, answered }) => toResult(inquiryId, answered));
  return { type: "answered", results };
}

function openField(
  field: ShownQuestion,
  index: number,
  { length }: readonly ShownQuestion[],
): OpenField {
  return { ...field, message: `(${index + 1}/${length}) ${questionText(field)}` };
}

/** A single answer is not reviewed. */
function toFormResult(result: PromptResult): FormResult {
  if (result.type === "answered") return { type: "answered", results: [result] };
  const { inquiryId: _inquiryId, ...noAnswer } = result;
  return noAnswer;
}

type FormEnding =
  | { readonly type: "all_answered"; readonly answers: readonly AnsweredField[] }
  | { readonly type: "later" }
  | { readonly type: "cancelled" }
  | { readonly type: "aborted" };

interface Asking {
  readonly allowsLater: boolean;
  readonly dialogue: Dialogue;
}

/** Where the user is: at a question, perhaps to change its answer, or at the review. */
type Place =
  | { readonly type: "question"; readonly index: number; readonly isChange?: boolean }
  | { readonly type: "review" };

/** Escape goes one step back. At the first question, it cancels all of them. */
async function answerFields(
  fields: readonly OpenField[],
  { allowsLater, dialogue }: Asking,
): Promise<FormEnding> {
  const answers: (AnsweredField | undefined)[] = fields.map(() => undefined);
  let place: Place = { type: "question", index: 0 };
  for (;;) {
    const result: Answered | ReviewChoice =
      place.type === "review"
        ? await reviewAnswers(answers.flatMap(closedOf), fields.some(isActing), dialogue)
        : await answerField(fields, answers, { place, dialogue });
    const given = answers.filter((answer) => answer !== undefined);
    if (result.type === "send") return { type: "all_answered", answers: given };
    if (result.type === "change") place = { type: "question", index: result.index, isChange: true };
    if (result.type === "answered" && place.type === "question") {
      const { index } = place;
      const field = fields[index];
      if (field !== undefined) answers[index] = { ...field, answered: result };
      const open = answers.indexOf(undefined);
      place = open === -1 ? { type: "review" } : { type: "question", index: open };
    }
    if (result.type === "aborted") return result;
    if (result.type !== "cancelled") continue;
    const back = stepBack(place, fields.length);
    if (back !== undefined && result.isInterrupt !== true) {
      place = back;
      continue;
    }
    const wanted = { allowsLater, hasAnswers: given.length > 0 };
    const closing = await chooseClosing(result, wanted, dialogue);
    if (closing !== "back") return { type: closing };
  }
}

/** Undefined at the first question. */
function stepBack(place: Place, count: number): Place | undefined {
  if (place.type === "review") return { type: "question", index: count - 1 };
  if (place.isChange === true) return { type: "review" };
  return place.index === 0 ? undefined : { type: "question", index: place.index - 1 };
}

/** What Escape does there. */
function describeEscape(place: Extract<Place, { readonly type: "question" }>): string {
  return stepBack(place, 0) === undefined ? "cancel all questions" : "go back";
}

interface AskedField {
  readonly place: Extract<Place, { readonly type: "question" }>;
  readonly dialogue: Dialogue;
}

async function answerField(
  fields: readonly OpenField[],
  answers: readonly (AnsweredField | undefined)[],
  { place, dialogue }: AskedField,
): Promise<Answered | NoAnswer> {
  const field = fields[place.index];
  if (field === undefined) throw new RangeError("a form has no such question");
  const { question, message, tool, questionId } = field;
  const answered = answers.toSpliced(place.index, 1).flatMap(closedOf);
  const acts = isActing(field);
  const style = acts ? "verbatim" : "prose";
  dialogue.header = { answered, context: question.context, style };
  const previous = answers[place.index]?.answered;
  const escape = describeEscape(place);
  return await answerQuestion(
    { question, message, acts, previous, scope: { tool, questionId }, escape },
    dialogue,
  );
}

function closedOf(answer: AnsweredField | undefined): readonly ClosedQuestion[] {
  return answer === undefined
    ? []
    : [{ message: answer.message, summary: answer.answered.summary }];
}

type ReviewChoice =
  | { readonly type: "send" }
  | { readonly type: "change"; readonly index: number }
  | NoAnswer;

/** Answers beyond the ninth have no key of their own; `e` reaches them. */
const MAX_NUMBER_KEYS = 9;

async function reviewAnswers(
  answered: readonly ClosedQuestion[],
  acts: boolean,
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
    ...(!acts && { default: "y" }),
    escape: "go back",
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
