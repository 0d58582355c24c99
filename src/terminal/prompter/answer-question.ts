/** Has a person answer an open question, by the type of its answer. */
import { oneLine, truncate } from "../../render/index.ts";
import type { InquiryQuestion } from "../../tool/index.ts";
import { assertNever, type Json } from "../../util/index.ts";
import { answerSelect } from "./answer-select.ts";
import type { Dialogue } from "./dialogue.ts";
import type { KeyMenu } from "./key-menu.ts";
import { PAGE } from "./select-rows.ts";
import { MOST_PREVIEW_ROWS } from "./select-view.ts";
import type { Closed } from "./widget.ts";

export interface OpenQuestion {
  readonly question: InquiryQuestion;
  /** Its text as it is shown, on one harmless line. */
  readonly message: string;
  /** What was answered before, and may be changed now. */
  readonly earlier?: Answered | undefined;
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

/** What a question takes besides its list: its label, its own line and hints, and some air. */
const ROOM = 5;

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

/** The rows that an open question takes, at most. */
export function roomFor({ answerType }: InquiryQuestion): number {
  if (answerType.type !== "select") return ROOM;
  const { options, allowsOther = false } = answerType;
  const list = Math.min(options.length + (allowsOther ? 1 : 0), PAGE) + 1;
  const previews = options.flatMap(({ preview }) => preview?.split("\n").length ?? []);
  return ROOM + list + Math.min(Math.max(0, ...previews), MOST_PREVIEW_ROWS);
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

async function answerBoolean(
  { question, message, earlier, escape = "cancel the question" }: OpenQuestion,
  dialogue: Dialogue,
): Promise<Answered | Closed> {
  const { answer: suggested = question.default, isRemembered = false } = earlier ?? {};
  const key = suggested === true ? "y" : "n";
  const remembered = suggested === true ? "Y" : "N";
  const menu: KeyMenu<keyof typeof SAID> = {
    message,
    choices: question.persistence === "turn" ? REMEMBERED : ONCE,
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
    said: SAID[choice],
  };
}

async function answerText(
  { question, message, earlier }: OpenQuestion,
  dialogue: Dialogue,
): Promise<Answered | Closed> {
  const fallback = typeof question.default === "string" ? question.default : "";
  const shown = fallback === "" ? undefined : truncate(oneLine(fallback), 60);
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
