/** Asks several questions that belong together, and whether their answers are to be sent. */
import type { FormRequest, FormResult, PromptResult } from "../agent/index.ts";
import { oneLine } from "../render/index.ts";
import { type Answered, answerQuestion, askQuestion, toResult } from "./ask-question.ts";
import type { Dialogue } from "./dialogue.ts";
import type { ClosedQuestion } from "./question-rows.ts";
import type { Closed } from "./widget.ts";

type Field = FormRequest["fields"][number];

interface OpenField extends Field {
  /** The question as it is shown while the form is open: `(1/3) Which?`. */
  readonly message: string;
}

interface AnsweredField extends OpenField {
  readonly answered: Answered;
}

export async function askForm({ fields }: FormRequest, dialogue: Dialogue): Promise<FormResult> {
  const [first, ...others] = fields.map(openField);
  if (first === undefined) return { type: "answered", results: [] };
  if (others.length === 0) return toFormResult(await askQuestion(first, dialogue));
  await dialogue.start();
  dialogue.notify(first.message);
  if (first.label !== undefined) dialogue.printLabel(first.label);
  const filled = await fillIn([first, ...others], dialogue);
  if (filled.type === "aborted") return { type: "interrupted" };
  if (filled.type === "cancelled") {
    for (const { question } of fields) {
      const message = oneLine(question.text);
      dialogue.printClosed({ message, said: "cancelled", isCancelled: true });
    }
    return { type: "cancelled" };
  }
  const { answers } = filled;
  for (const { question, answered } of answers) {
    dialogue.printClosed({ message: oneLine(question.text), said: answered.said });
  }
  const results = answers.map(({ inquiryId, answered }) => toResult(inquiryId, answered));
  return { type: "answered", results };
}

function openField(field: Field, index: number, { length }: readonly Field[]): OpenField {
  return { ...field, message: `(${index + 1}/${length}) ${oneLine(field.question.text)}` };
}

/** There is nothing to review about a single answer. */
function toFormResult(result: PromptResult): FormResult {
  return result.type === "answered"
    ? { type: "answered", results: [result] }
    : { type: result.type };
}

type FilledIn = { readonly type: "filled_in"; readonly answers: readonly AnsweredField[] } | Closed;

async function fillIn(fields: readonly OpenField[], dialogue: Dialogue): Promise<FilledIn> {
  let answers: readonly AnsweredField[] = [];
  for (;;) {
    const closed = answers.map(({ message, answered }) => ({ message, said: answered.said }));
    const next: Reviewed =
      answers.length < fields.length
        ? { type: "change", index: answers.length }
        : await reviewAnswers(closed, dialogue);
    if (next.type === "cancelled" || next.type === "aborted") return next;
    const index = next.type === "change" ? next.index : fields.length;
    const field = fields[index];
    if (field === undefined) return { type: "filled_in", answers }; // There is nothing left to ask.
    const { question, message, tool, questionId } = field;
    const others = closed.filter((_answer, position) => position !== index);
    dialogue.standing = { answered: others, context: question.context };
    const earlier = answers[index]?.answered;
    const answered = await answerQuestion(
      { question, message, earlier, covers: { tool, questionId }, escape: CANCEL_ALL },
      dialogue,
    );
    if (answered.type !== "answered") return answered;
    answers = answers.toSpliced(index, 1, { ...field, answered });
  }
}

type Reviewed =
  | { readonly type: "send" }
  | { readonly type: "change"; readonly index: number }
  | Closed;

/** What Escape does, here and at every question of a form. */
const CANCEL_ALL = "cancel all the questions";

/** There are keys for no more. */
const MOST_NUMBERS = 9;

async function reviewAnswers(
  answered: readonly ClosedQuestion[],
  dialogue: Dialogue,
): Promise<Reviewed> {
  const numbers = answered.slice(0, MOST_NUMBERS).map((_answer, index) => `${index + 1}`);
  const menu = {
    message: "Send these answers?",
    choices: {
      y: "send them",
      e: "change one of them",
      ...Object.fromEntries(numbers.map((number) => [number, `change answer ${number}`])),
    },
    default: "y",
    escape: CANCEL_ALL,
  };
  for (;;) {
    dialogue.standing = { answered, isReview: true };
    const chosen = await dialogue.choose<string>(menu);
    if (chosen.type !== "chosen") return chosen;
    if (chosen.choice === "y") return { type: "send" };
    if (chosen.choice !== "e") return { type: "change", index: Number(chosen.choice) - 1 };
    const change = await chooseAnswer(answered, dialogue);
    if (change !== undefined) return change;
  }
}

/** Undefined: none of them. */
async function chooseAnswer(
  answered: readonly ClosedQuestion[],
  dialogue: Dialogue,
): Promise<Reviewed | undefined> {
  dialogue.standing = undefined; // The answers are in the list.
  const options = answered.map(({ message, said }) => ({ label: `${message} ${oneLine(said)}` }));
  const list = { message: "Change which answer?", options };
  const start = { filter: "", active: 0, marked: [] };
  const { ending } = await dialogue.select(list, start);
  if (ending.type === "aborted") return ending;
  const [index] = ending.type === "chosen" ? ending.indexes : [];
  return index === undefined ? undefined : { type: "change", index };
}
