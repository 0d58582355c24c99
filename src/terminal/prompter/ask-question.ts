/** Asks a question of a tool or of the assistant, by the type of its answer. */
import { isDeepStrictEqual } from "node:util";
import type { PromptRequest, PromptResult } from "../../agent/index.ts";
import { jsonLine, oneLine, truncate } from "../../render/index.ts";
import type { InquiryQuestion, SelectOption } from "../../tool/index.ts";
import { assertNever, type Json } from "../../util/index.ts";
import type { Dialogue } from "./dialogue.ts";
import { enterText } from "./enter-text.ts";
import { closedHelp, keyMenu } from "./key-menu.ts";
import { secretEntry } from "./secret-entry.ts";
import { PAGE, selectList } from "./select-list.ts";
import { bufferOf } from "./text-buffer.ts";
import type { Closed } from "./widget.ts";

type Answered = {
  readonly type: "answered";
  readonly answer: Json;
  readonly isRemembered: boolean;
  /** What stays on the screen. */
  readonly said: string;
};

/** What a question takes besides its list: its label, its own line and hints, and some air. */
const ROOM = 5;

export async function askQuestion(
  { inquiryId, question, label }: PromptRequest,
  dialogue: Dialogue,
): Promise<PromptResult> {
  const message = oneLine(question.text);
  await dialogue.start();
  dialogue.notify(message);
  if (question.context !== undefined) dialogue.printContext(question.context, roomFor(question));
  if (label !== undefined) dialogue.printLabel(label);
  const result = await askByType(question, dialogue);
  switch (result.type) {
    case "answered": {
      const { type, answer, isRemembered, said } = result;
      dialogue.printClosed({ message, said });
      return { inquiryId, type, answer, isRemembered };
    }
    case "cancelled":
      dialogue.printClosed({ message, said: "cancelled", isCancelled: true });
      return { inquiryId, type: "cancelled" };
    case "aborted":
      return { inquiryId, type: "cancelled" };
    default:
      return assertNever(result);
  }
}

function roomFor({ answerType }: InquiryQuestion): number {
  const list = answerType.type === "select" ? Math.min(answerType.options.length, PAGE) + 1 : 0;
  return ROOM + list;
}

function askByType(question: InquiryQuestion, dialogue: Dialogue): Promise<Answered | Closed> {
  const { answerType } = question;
  switch (answerType.type) {
    case "boolean":
      return askBoolean(question, dialogue);
    case "select":
      return askSelect(question, answerType.options, dialogue);
    case "text":
      return askText(question, dialogue);
    case "secret":
      return askSecret(question, dialogue);
    default:
      return assertNever(answerType);
  }
}

const ONCE = { y: "yes, this once", n: "no, this once" };
const REMEMBERED = {
  y: "yes, this once",
  Y: "yes, and for the rest of the turn",
  n: "no, this once",
  N: "no, and for the rest of the turn",
};
const SAID = {
  y: "yes",
  Y: "yes, for the rest of the turn",
  n: "no",
  N: "no, for the rest of the turn",
};

async function askBoolean(
  { text, default: suggested, persistence }: InquiryQuestion,
  dialogue: Dialogue,
): Promise<Answered | Closed> {
  const suggestion = suggested === true ? "y" : "n";
  const menu = keyMenu<keyof typeof SAID>({
    message: oneLine(text),
    choices: persistence === "turn" ? REMEMBERED : ONCE,
    ...(typeof suggested === "boolean" && { default: suggestion }),
    escape: "cancel the question",
    hasMore: dialogue.hasMore,
  });
  const { ending } = await dialogue.show(menu, closedHelp);
  if (ending.type !== "chosen") return ending;
  const { choice } = ending;
  return {
    type: "answered",
    answer: choice === "y" || choice === "Y",
    isRemembered: choice === "Y" || choice === "N",
    said: SAID[choice],
  };
}

async function askSelect(
  { text, default: suggested }: InquiryQuestion,
  options: readonly SelectOption[],
  dialogue: Dialogue,
): Promise<Answered | Closed> {
  const listed = options.map(({ value, description }) => ({
    label: toLabel(value),
    ...(description !== undefined && { description: oneLine(description) }),
  }));
  const { hasMore } = dialogue;
  const list = selectList({ message: oneLine(text), options: listed, hasMore });
  const wanted = options.findIndex(({ value }) => isDeepStrictEqual(value, suggested));
  const { ending } = await dialogue.show(list, { filter: "", active: Math.max(0, wanted) });
  if (ending.type !== "chosen") return ending;
  const { value } = options[ending.index] ?? { value: null };
  return answered(value, toLabel(value));
}

async function askText(
  { text, default: suggested }: InquiryQuestion,
  dialogue: Dialogue,
): Promise<Answered | Closed> {
  const fallback = typeof suggested === "string" ? suggested : undefined;
  const shown =
    fallback === undefined || fallback === "" ? undefined : truncate(oneLine(fallback), 60);
  const result = await enterText({ message: oneLine(text), default: shown }, dialogue);
  if (result.type !== "entered") return result;
  const answer = result.text === "" ? (fallback ?? "") : result.text;
  return answered(answer, answer);
}

async function askSecret(
  { text }: InquiryQuestion,
  dialogue: Dialogue,
): Promise<Answered | Closed> {
  const entry = secretEntry({ message: oneLine(text), hasMore: dialogue.hasMore });
  const { ending } = await dialogue.show(entry, bufferOf(""));
  return ending.type === "entered" ? answered(ending.text, "<redacted>") : ending;
}

function answered(answer: Json, said: string): Answered {
  return { type: "answered", answer, isRemembered: false, said };
}

function toLabel(value: Json): string {
  return typeof value === "string" ? oneLine(value) : jsonLine(value);
}
