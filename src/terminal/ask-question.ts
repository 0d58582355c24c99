/** Asks one question of a tool or of the assistant, in the way its answer type needs. */
import { isDeepStrictEqual } from "node:util";
import { defaultLabel, type PromptRequest, type PromptResult } from "../agent/index.ts";
import { describeOptions, oneLine, optionLabel, truncate } from "../render/index.ts";
import {
  type InquiryQuestion,
  isOther,
  type SelectOption,
  type SelectType,
} from "../tool/index.ts";
import { assertNever, isJsonArray, type Json } from "../util/index.ts";
import {
  chooseClosing,
  type Dialogue,
  type KeyMenu,
  type NoAnswer,
  type SelectState,
} from "./dialogue.ts";

/** What the terminal shows of a question. jp's own questions have no tool, and cannot be left for later. */
export type ShownQuestion = Pick<PromptRequest, "inquiryId" | "question"> &
  Partial<Pick<PromptRequest, "label" | "tool" | "questionId" | "source" | "allowsLater">>;

export async function askQuestion(shown: ShownQuestion, dialogue: Dialogue): Promise<PromptResult> {
  const { inquiryId, question, tool, questionId, allowsLater = false } = shown;
  const message = oneLine(question.text);
  await dialogue.start();
  dialogue.notify(message);
  if (question.context !== undefined) dialogue.printContext(question.context);
  printLabel(shown, dialogue);
  const open = { question, message, scope: { tool, questionId } };
  for (;;) {
    const result = await answerQuestion(open, dialogue);
    if (result.type === "answered") {
      dialogue.printClosed({ message, summary: result.summary });
      return toResult(inquiryId, result);
    }
    const closing =
      result.type === "aborted"
        ? result.type
        : await chooseClosing(result, { allowsLater }, dialogue);
    if (closing === "aborted") return { inquiryId, type: "interrupted" };
    if (closing === "back") continue;
    const summary = closing === "later" ? "left for later" : "cancelled";
    dialogue.printClosed({ message, summary, isCancelled: true });
    return { inquiryId, type: closing };
  }
}

/** The line about the call names the tool already. */
export function printLabel(
  { label, tool, source }: ShownQuestion,
  dialogue: Pick<Dialogue, "printLabel">,
): void {
  const isKnown = tool !== undefined && source !== undefined;
  const isDefault = isKnown && label === defaultLabel({ tool, source });
  if (label !== undefined && !isDefault) dialogue.printLabel(label);
}

export function toResult(inquiryId: PromptRequest["inquiryId"], answered: Answered): PromptResult {
  const { summary: _summary, ...result } = answered;
  return { inquiryId, ...result };
}

interface OpenQuestion {
  readonly question: InquiryQuestion;
  /** Its text as shown: one line, neutralized. */
  readonly message: string;
  /** An answer given before, which the user may now change. */
  readonly previous?: Answered | undefined;
  readonly scope?: RememberScope;
  /** What Escape does; by default it cancels this question alone. */
  readonly escape?: string;
}

/** Which questions a remembered answer covers. */
type RememberScope = {
  readonly [Name in "tool" | "questionId"]?: string | undefined;
};

export interface Answered {
  readonly type: "answered";
  readonly answer: Json;
  readonly isRemembered: boolean;
  readonly note?: string;
  /** How the line that stays on the screen shows the answer. */
  readonly summary: string;
}

export async function answerQuestion(
  open: OpenQuestion,
  dialogue: Dialogue,
): Promise<Answered | NoAnswer> {
  const { question, previous } = open;
  const takesNote = question.allowsNote === true && question.answerType.type !== "secret";
  dialogue.note = takesNote ? (previous?.note ?? "") : undefined;
  const result = await answerByType(open, dialogue);
  const { note = "" } = dialogue;
  dialogue.note = undefined;
  if (result.type !== "answered" || note === "") return result;
  return { ...result, note, summary: `${result.summary} · note: ${note}` };
}

function answerByType(open: OpenQuestion, dialogue: Dialogue): Promise<Answered | NoAnswer> {
  const { answerType } = open.question;
  switch (answerType.type) {
    case "boolean":
      return answerBoolean(open, dialogue);
    case "select":
      return answerSelect(open, answerType, dialogue);
    case "text":
      return answerText(open, dialogue);
    case "secret":
      return answerSecret(open, dialogue);
    default:
      return assertNever(answerType);
  }
}

async function answerBoolean(
  { question, message, previous, scope = {}, escape = "cancel the question" }: OpenQuestion,
  dialogue: Dialogue,
): Promise<Answered | NoAnswer> {
  const { answer: suggested = question.default, isRemembered = false } = previous ?? {};
  const key = suggested === true ? "y" : "n";
  const rememberKey = suggested === true ? "Y" : "N";
  const every = describeScope(scope);
  const summaries = { y: "yes", Y: `yes ${every}`, n: "no", N: `no ${every}` };
  const menu: KeyMenu<keyof typeof summaries> = {
    message,
    choices: question.persistence === "turn" ? summaries : { y: "yes", n: "no" },
    ...(typeof suggested === "boolean" && { default: isRemembered ? rememberKey : key }),
    escape,
  };
  const chosen = await dialogue.choose(menu);
  if (chosen.type !== "chosen") return chosen;
  const { choice } = chosen;
  return {
    type: "answered",
    answer: choice === "y" || choice === "Y",
    isRemembered: choice === "Y" || choice === "N",
    summary: summaries[choice],
  };
}

/** Names what else a remembered answer covers, so that the user need not guess. */
function describeScope({ tool, questionId }: RememberScope): string {
  if (tool === undefined || questionId === undefined) return "for the rest of the turn";
  return `to every ${quoted(questionId)} question from ${quoted(tool)} this turn`;
}

function quoted(name: string): string {
  return `\`${truncate(oneLine(name), 60)}\``;
}

async function answerText(
  { question, message, previous, escape }: OpenQuestion,
  dialogue: Dialogue,
): Promise<Answered | NoAnswer> {
  const fallback = typeof question.default === "string" ? question.default : "";
  const shown = fallback === "" ? undefined : oneLine(fallback);
  const text = typeof previous?.answer === "string" ? previous.answer : "";
  const result = await dialogue.enterText({ message, text, default: shown, escape });
  if (result.type !== "entered") return result;
  const answer = result.text === "" ? fallback : result.text;
  return { type: "answered", answer, isRemembered: false, summary: answer };
}

async function answerSecret(
  { message }: OpenQuestion,
  dialogue: Dialogue,
): Promise<Answered | NoAnswer> {
  const entered = await dialogue.enterSecret(message);
  if (entered.type !== "entered") return entered;
  return { type: "answered", answer: entered.text, isRemembered: false, summary: "<redacted>" };
}

async function answerSelect(
  { question, message, previous, escape }: OpenQuestion,
  answerType: SelectType,
  dialogue: Dialogue,
): Promise<Answered | NoAnswer> {
  const { allowsOther, isMultiple = false } = answerType;
  const suggested = toValues(
    answerType,
    previous === undefined ? question.default : previous.answer,
  );
  // The user's own answers become options too, so they can be unselected like the others.
  let options = addOptions(
    answerType.options,
    suggested.filter((value) => isOther(answerType, value)),
  );
  let state = markOptions({ filter: "", active: 0, marked: [] }, options, suggested);
  for (;;) {
    const list = { message, options: describeOptions(options), allowsOther, isMultiple, escape };
    const selected = await dialogue.select(list, state);
    state = selected.state;
    const { ending } = selected;
    switch (ending.type) {
      case "cancelled":
      case "aborted":
        return ending;
      case "chosen": {
        const chosen = ending.indexes.flatMap((index) => options[index] ?? []);
        return isMultiple ? answerSeveral(chosen) : answerOne(chosen[0] ?? { value: null });
      }
      case "other": {
        const text = ending.isWhole
          ? ending.text
          : await enterOther(message, ending.text, dialogue);
        if (text === "") break;
        if (!isMultiple) return answerOne({ value: text });
        options = addOptions(options, [text]);
        state = markOptions({ ...state, filter: "" }, options, [text]);
        break;
      }
      default:
        return assertNever(ending);
    }
  }
}

function toValues({ isMultiple = false }: SelectType, value: Json | undefined): readonly Json[] {
  if (value === undefined) return [];
  if (!isMultiple) return [value];
  return isJsonArray(value) ? value : [];
}

function addOptions(
  options: readonly SelectOption[],
  values: readonly Json[],
): readonly SelectOption[] {
  const unknown = values.filter((value) => findOption(options, value) === undefined);
  return [...options, ...unknown.map((value) => ({ value }))];
}

/** The first of the values becomes the active option. */
function markOptions(
  state: SelectState,
  options: readonly SelectOption[],
  values: readonly Json[],
): SelectState {
  const found = values.flatMap((value) => findOption(options, value) ?? []);
  const marked = [...new Set([...state.marked, ...found])];
  return { ...state, active: found[0] ?? state.active, marked };
}

function findOption(options: readonly SelectOption[], value: Json): number | undefined {
  const index = options.findIndex((option) => isDeepStrictEqual(option.value, value));
  return index === -1 ? undefined : index;
}

/** Returns an empty text if the user went back. */
async function enterOther(message: string, text: string, dialogue: Dialogue): Promise<string> {
  const request = { message: `${message} Other:`, text, escape: "go back" };
  const entered = await dialogue.enterText(request);
  return entered.type === "entered" ? entered.text.trim() : "";
}

function answerOne(chosen: SelectOption): Answered {
  return {
    type: "answered",
    answer: chosen.value,
    isRemembered: false,
    summary: optionLabel(chosen),
  };
}

function answerSeveral(chosen: readonly SelectOption[]): Answered {
  const summary = chosen.length === 0 ? "none" : chosen.map(optionLabel).join(", ");
  const answer = chosen.map(({ value }) => value);
  return { type: "answered", answer, isRemembered: false, summary };
}
