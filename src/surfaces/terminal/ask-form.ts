/** Asks several questions together, and lets the user review the answers before they are sent. */
import type { FormRequest, PromptResult, QuestionRequest } from "../../core/agent/index.ts";
import {
  answerQuestion,
  askQuestion,
  openQuestion,
  type OpenQuestion,
  printLabel,
  printSubject,
  type Shown,
} from "./ask-question.ts";
import { choose, selectPrompt } from "./choose.ts";
import { closeUnanswered } from "./close-unanswered.ts";
import type { Answered, Dialogue, NoAnswer } from "./dialogue.ts";
import type { KeyMenu } from "./key-menu.ts";
import { answerLine, type ClosedQuestion } from "./question-rows.ts";

interface OpenField {
  readonly inquiryId: QuestionRequest["inquiryId"];
  /** Includes its number while the form is open: `(1/3) Which?`. */
  readonly open: OpenQuestion;
  /** The question without its number. */
  readonly message: string;
}

type AnsweredField = OpenField & { readonly answered: Answered };

export async function askForm(form: Shown<FormRequest>, dialogue: Dialogue): Promise<PromptResult> {
  const { fields, acts, allowsLater, inquiryId } = form;
  const [single, ...others] = fields;
  if (single === undefined) return { inquiryId, type: "form", results: [] };
  if (others.length === 0) {
    const result = await askQuestion({ ...single, allowsLater }, dialogue);
    // A single answer is not reviewed.
    return result.type === "answered" ? { inquiryId, type: "form", results: [result] } : result;
  }
  const open = fields.map(openField);
  dialogue.notify(open[0]?.open.message ?? "");
  await dialogue.start();
  const changed = [...new Set(fields.flatMap((field) => field.changed ?? []))];
  printSubject({ ...form, changed: changed.length === 0 ? undefined : changed }, dialogue);
  printLabel(single, dialogue);
  const result = await answerFields(open, { inquiryId, acts, allowsLater, dialogue });
  if ("type" in result) return result;
  const results = result.map(
    ({ answered: { summary, ...reply }, message, ...field }): PromptResult => {
      dialogue.printClosed({ message, summary });
      return { inquiryId: field.inquiryId, ...reply };
    },
  );
  return { inquiryId, type: "form", results };
}

function openField(
  field: QuestionRequest,
  index: number,
  { length }: readonly QuestionRequest[],
): OpenField {
  const open = openQuestion(field);
  const { message } = open;
  const numbered = { ...open, message: `(${index + 1}/${length}) ${message}` };
  return { inquiryId: field.inquiryId, open: numbered, message };
}

interface Asking extends Pick<FormRequest, "inquiryId"> {
  /** Enter alone does not send the answers. */
  readonly acts: boolean;
  readonly allowsLater: boolean;
  readonly dialogue: Dialogue;
}

/** The user's place: at a question, perhaps changing its answer, or at the review. */
type Place =
  | { readonly type: "question"; readonly index: number; readonly isChange?: boolean }
  | { readonly type: "review" };

/** Escape goes one step back. At the first question, it cancels all of them, or leaves them for later. */
async function answerFields(
  fields: readonly OpenField[],
  { inquiryId, acts, allowsLater, dialogue }: Asking,
): Promise<readonly AnsweredField[] | PromptResult> {
  const answers: (AnsweredField | undefined)[] = fields.map(() => undefined);
  let place: Place = { type: "question", index: 0 };
  for (;;) {
    const result: Answered | ReviewChoice =
      place.type === "review"
        ? await reviewAnswers(answers.flatMap(closedOf), { acts, dialogue })
        : await answerField(fields, answers, { place, allowsLater, dialogue });
    const given = answers.filter((answer) => answer !== undefined);
    if (result.type === "send") return given;
    if (result.type === "change") place = { type: "question", index: result.index, isChange: true };
    if (result.type === "answered" && place.type === "question") {
      const { index } = place;
      const field = fields[index];
      if (field !== undefined) answers[index] = { ...field, answered: result };
      const next = answers.indexOf(undefined);
      place = next === -1 ? { type: "review" } : { type: "question", index: next };
    }
    if (result.type !== "cancelled" && result.type !== "aborted") continue;
    const back = stepBack(place, fields.length);
    if (back !== undefined && result.type === "cancelled" && result.isInterrupt !== true) {
      place = back;
      continue;
    }
    const messages = fields.map(({ message }) => message);
    const closable = { inquiryId, messages, allowsLater, hasAnswers: given.length > 0 };
    const closed = await closeUnanswered(result, closable, dialogue);
    if (closed !== undefined) return closed;
  }
}

/** Undefined at the first question. */
function stepBack(place: Place, count: number): Place | undefined {
  if (place.type === "review") return { type: "question", index: count - 1 };
  if (place.isChange === true) return { type: "review" };
  return place.index === 0 ? undefined : { type: "question", index: place.index - 1 };
}

/** Describes what Escape does at this place. */
function describeEscape({ place, allowsLater }: Omit<AskedField, "dialogue">): string {
  if (stepBack(place, 0) !== undefined) return "go back";
  return allowsLater ? "leave or cancel all questions" : "cancel all questions";
}

interface AskedField extends Pick<Asking, "allowsLater" | "dialogue"> {
  readonly place: Extract<Place, { readonly type: "question" }>;
}

async function answerField(
  fields: readonly OpenField[],
  answers: readonly (AnsweredField | undefined)[],
  { place, allowsLater, dialogue }: AskedField,
): Promise<Answered | NoAnswer> {
  const field = fields[place.index];
  if (field === undefined) throw new RangeError("a form has no such question");
  const { open } = field;
  const answered = answers.toSpliced(place.index, 1).flatMap(closedOf);
  const style = open.acts ? "verbatim" : "prose";
  dialogue.header = { answered, context: open.question.context, style };
  const previous = answers[place.index]?.answered;
  const escape = describeEscape({ place, allowsLater });
  return await answerQuestion({ ...open, previous, escape }, dialogue);
}

function closedOf(answer: AnsweredField | undefined): readonly ClosedQuestion[] {
  return answer === undefined
    ? []
    : [{ message: answer.open.message, summary: answer.answered.summary }];
}

type ReviewChoice =
  | { readonly type: "send" }
  | { readonly type: "change"; readonly index: number }
  | NoAnswer;

/** Answers after the ninth have no number key; `e` reaches them. */
const MAX_NUMBER_KEYS = 9;

async function reviewAnswers(
  answered: readonly ClosedQuestion[],
  { acts, dialogue }: Pick<Asking, "acts" | "dialogue">,
): Promise<ReviewChoice> {
  const numbers = answered.slice(0, MAX_NUMBER_KEYS).map((_answer, index) => `${index + 1}`);
  const menu: KeyMenu<string> = {
    message: "Send these answers?",
    choices: [
      { key: "y", label: "yes", help: "send the answers" },
      { key: "e", label: "change an answer" },
      ...numbers.map((number) => ({ key: number, help: `change answer ${number}` })),
    ],
    ...(!acts && { default: "y" }),
    escape: "go back",
  };
  for (;;) {
    dialogue.header = { answered, isReview: true };
    const chosen = await choose(menu, dialogue);
    if (chosen.type === "said_no") continue; // This menu takes no words.
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
  const options = answered.map((each) => ({ label: answerLine(each) }));
  const list = { message: "Which answer do you want to change?", options };
  const ending = await dialogue.ask(selectPrompt(list));
  if (ending.type === "aborted") return ending;
  const [index] = ending.type === "chosen" ? ending.indexes : [];
  return index === undefined ? undefined : { type: "change", index };
}
