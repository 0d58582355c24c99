/** Asks one question of a tool or of the assistant. */
import { isDeepStrictEqual } from "node:util";
import type { PromptRequest, PromptResult } from "../agent/index.ts";
import { jsonLine, oneLine, truncate } from "../render/index.ts";
import {
  type InquiryQuestion,
  isOther,
  type SelectOption,
  type SelectType,
} from "../tool/index.ts";
import { assertNever, isJsonArray, type Json } from "../util/index.ts";
import type { Dialogue } from "./dialogue.ts";
import type { KeyMenu } from "./key-menu.ts";
import type { ListedOption, SelectState } from "./select-list.ts";
import type { Closed } from "./widget.ts";

export async function askQuestion(
  { inquiryId, question, label, tool, questionId }: Omit<PromptRequest, "signal">,
  dialogue: Dialogue,
): Promise<PromptResult> {
  const message = oneLine(question.text);
  await dialogue.start();
  dialogue.notify(message);
  if (question.context !== undefined) dialogue.printContext(question.context);
  if (label !== undefined) dialogue.printLabel(label);
  const result = await answerQuestion(
    { question, message, covers: { tool, questionId } },
    dialogue,
  );
  switch (result.type) {
    case "answered":
      dialogue.printClosed({ message, said: result.said });
      return toResult(inquiryId, result);
    case "cancelled":
      dialogue.printClosed({ message, said: "cancelled", isCancelled: true });
      return { inquiryId, type: "cancelled" };
    case "aborted":
      return { inquiryId, type: "interrupted" };
    default:
      return assertNever(result);
  }
}

export function toResult(inquiryId: PromptRequest["inquiryId"], answered: Answered): PromptResult {
  const { said: _said, ...result } = answered;
  return { inquiryId, ...result };
}

/** Which questions an answer can be remembered for. */
type Covered = Pick<PromptRequest, "tool" | "questionId">;

interface OpenQuestion {
  readonly question: InquiryQuestion;
  /** Its text as it is shown, on one harmless line. */
  readonly message: string;
  /** What was answered before, and may be changed now. */
  readonly earlier?: Answered | undefined;
  readonly covers?: Covered;
  /** What Escape does; without it, it cancels this question alone. */
  readonly escape?: string;
}

export interface Answered {
  readonly type: "answered";
  readonly answer: Json;
  readonly isRemembered: boolean;
  readonly note?: string;
  /** What is seen of it afterwards. */
  readonly said: string;
}

export async function answerQuestion(
  open: OpenQuestion,
  dialogue: Dialogue,
): Promise<Answered | Closed> {
  const { question, earlier } = open;
  const takesNote = question.allowsNote === true && question.answerType.type !== "secret";
  dialogue.note = takesNote ? (earlier?.note ?? "") : undefined;
  const result = await answerByType(open, dialogue);
  const { note = "" } = dialogue;
  dialogue.note = undefined;
  if (result.type !== "answered" || note === "") return result;
  return { ...result, note, said: `${result.said} · note: ${note}` };
}

function answerByType(open: OpenQuestion, dialogue: Dialogue): Promise<Answered | Closed> {
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

const ONCE = { y: "yes", n: "no" };

/** What a capital letter answers besides this question, by name: nobody has to guess. */
function forTheTurn({ tool, questionId }: Covered): string {
  if (tool === undefined || questionId === undefined) return ", for the rest of the turn";
  return ` to every ${quoted(questionId)} question of ${quoted(tool)} this turn`;
}

function quoted(name: string): string {
  return `\`${truncate(oneLine(name), 60)}\``;
}

async function answerBoolean(
  { question, message, earlier, covers = {}, escape = "cancel the question" }: OpenQuestion,
  dialogue: Dialogue,
): Promise<Answered | Closed> {
  const { answer: suggested = question.default, isRemembered = false } = earlier ?? {};
  const key = suggested === true ? "y" : "n";
  const remembered = suggested === true ? "Y" : "N";
  const every = forTheTurn(covers);
  const said = { y: "yes", Y: `yes${every}`, n: "no", N: `no${every}` };
  const menu: KeyMenu<keyof typeof said> = {
    message,
    choices: question.persistence === "turn" ? said : ONCE,
    ...(typeof suggested === "boolean" && { default: isRemembered ? remembered : key }),
    escape,
  };
  const chosen = await dialogue.choose(menu);
  if (chosen.type !== "chosen") return chosen;
  const { choice } = chosen;
  return {
    type: "answered",
    answer: choice === "y" || choice === "Y",
    isRemembered: choice === "Y" || choice === "N",
    said: said[choice],
  };
}

async function answerText(
  { question, message, earlier }: OpenQuestion,
  dialogue: Dialogue,
): Promise<Answered | Closed> {
  const fallback = typeof question.default === "string" ? question.default : "";
  const shown = fallback === "" ? undefined : oneLine(fallback);
  const text = typeof earlier?.answer === "string" ? earlier.answer : "";
  const result = await dialogue.enterText({ message, text, default: shown });
  if (result.type !== "entered") return result;
  const answer = result.text === "" ? fallback : result.text;
  return { type: "answered", answer, isRemembered: false, said: answer };
}

async function answerSecret(
  { message }: OpenQuestion,
  dialogue: Dialogue,
): Promise<Answered | Closed> {
  const entered = await dialogue.enterSecret(message);
  if (entered.type !== "entered") return entered;
  return { type: "answered", answer: entered.text, isRemembered: false, said: "<redacted>" };
}

async function answerSelect(
  { question, message, earlier }: OpenQuestion,
  answerType: SelectType,
  dialogue: Dialogue,
): Promise<Answered | Closed> {
  const { allowsOther, isMultiple = false } = answerType;
  const suggested = suggestions(
    answerType,
    earlier === undefined ? question.default : earlier.answer,
  );
  // Texts of the person's own are options like the others, once they are there.
  let options = addOptions(
    answerType.options,
    suggested.filter((one) => isOther(answerType, one)),
  );
  let state = markOptions({ filter: "", active: 0, marked: [] }, options, suggested);
  for (;;) {
    const list = { message, options: options.map(toListed), allowsOther, isMultiple };
    const selected = await dialogue.select(list, state);
    state = selected.state;
    const { ending } = selected;
    switch (ending.type) {
      case "cancelled":
      case "aborted":
        return ending;
      case "chosen": {
        const values = ending.indexes.map((index) => options[index]?.value ?? null);
        return isMultiple ? answerSeveral(values) : answerOne(values[0] ?? null);
      }
      case "other": {
        const text = ending.isWhole
          ? ending.text
          : await enterOther(message, ending.text, dialogue);
        if (text === "") break;
        if (!isMultiple) return answerOne(text);
        options = addOptions(options, [text]);
        state = markOptions({ ...state, filter: "" }, options, [text]);
        break;
      }
      default:
        return assertNever(ending);
    }
  }
}

/** Where several can be chosen, several can be suggested. */
function suggestions({ isMultiple = false }: SelectType, value: Json | undefined): readonly Json[] {
  if (value === undefined) return [];
  if (!isMultiple) return [value];
  return isJsonArray(value) ? value : [];
}

function addOptions(
  options: readonly SelectOption[],
  texts: readonly Json[],
): readonly SelectOption[] {
  const unknown = texts.filter((text) => findOption(options, text) === undefined);
  return [...options, ...unknown.map((value) => ({ value }))];
}

/** The first of them is where the person begins. */
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

function toListed({ value, description, preview }: SelectOption): ListedOption {
  return {
    label: toLabel(value),
    ...(description !== undefined && { description: oneLine(description) }),
    ...(preview !== undefined && { preview }),
  };
}

/** Empty if nothing came of it. */
async function enterOther(message: string, text: string, dialogue: Dialogue): Promise<string> {
  const request = { message: `${message} Other:`, text, escape: "goes back" };
  const entered = await dialogue.enterText(request);
  return entered.type === "entered" ? entered.text.trim() : "";
}

function answerOne(answer: Json): Answered {
  return { type: "answered", answer, isRemembered: false, said: toLabel(answer) };
}

function answerSeveral(answer: readonly Json[]): Answered {
  const said = answer.length === 0 ? "none" : answer.map(toLabel).join(", ");
  return { type: "answered", answer, isRemembered: false, said };
}

function toLabel(value: Json): string {
  return typeof value === "string" ? oneLine(value) : jsonLine(value);
}
