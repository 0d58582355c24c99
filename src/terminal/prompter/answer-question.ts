/** Has a person answer an open question, by the type of its answer. */
import type { PromptRequest } from "../../agent/index.ts";
import { oneLine, truncate } from "../../render/index.ts";
import type { InquiryQuestion } from "../../tool/index.ts";
import { assertNever, type Json } from "../../util/index.ts";
import { answerSelect } from "./answer-select.ts";
import type { Dialogue } from "./dialogue.ts";
import type { KeyMenu } from "./key-menu.ts";
import type { Closed } from "./widget.ts";

/** Which questions an answer can be remembered for. */
type Covered = Pick<PromptRequest, "tool" | "questionId">;

export interface OpenQuestion {
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
