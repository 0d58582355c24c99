/** The arguments of a call that the question about it does not show, so that a reader needs both. */
import {
  type InquiryQuestion,
  type InquirySource,
  type ToolOrigin,
} from "../../record/tool/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../../util/index.ts";
import { findFileChange } from "./file-change.ts";

/** A call and its question. */
export interface AskingCall {
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly source?: InquirySource | undefined;
  readonly origin?: ToolOrigin | undefined;
  readonly questionId?: string | undefined;
  readonly question: Pick<InquiryQuestion, "text" | "context" | "answerType">;
  /** A yes acts, so only a diff of jp's own can replace arguments. */
  readonly acts: boolean;
}

/** Empty if the question shows them all. */
export function unsaidArguments(call: AskingCall): JsonObject {
  const { tool: name, arguments: given, acts, source, question } = call;
  const change = findFileChange({ name, arguments: given }, call);
  if (change !== undefined) return Object.fromEntries(change.others);
  if (acts) return given;
  // The arguments of `ask_user`, whatever its name, are its questions.
  const asks = JSON.stringify(given).includes(JSON.stringify(question.text));
  if (source?.source === "assistant" && asks) return {};
  const texts = textsOf(question);
  return Object.values(given).every((value) => isSaid(value, texts)) ? {} : given;
}

function textsOf({ text, context = "", answerType }: AskingCall["question"]): readonly string[] {
  const options = answerType.type === "select" ? answerType.options : [];
  const shown = options.flatMap(({ value, title, description, preview }) =>
    [value, title, description, preview].filter((each) => typeof each === "string"),
  );
  return [text, context, ...shown];
}

function isSaid(value: Json, texts: readonly string[]): boolean {
  if (Array.isArray(value)) return value.every((each: Json) => isSaid(each, texts));
  if (isJsonObject(value)) return Object.values(value).every((each) => isSaid(each, texts));
  if (typeof value !== "string" && typeof value !== "number") return false;
  return texts.some((text) => hasWord(text, String(value)));
}

/** Letters and digits, and what joins them into versions, paths and addresses. */
const JOINED_BEFORE = /[\p{L}\p{N}_][-./:@]?$/u;
const JOINED_AFTER = /^[-./:@]?[\p{L}\p{N}_]/u;

/** Whether the text has this value, and not only as part of a longer one. */
function hasWord(text: string, word: string): boolean {
  if (word === "") return false;
  for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1)) {
    const end = at + word.length;
    const [before, after] = [text.slice(Math.max(0, at - 2), at), text.slice(end, end + 2)];
    if (!JOINED_BEFORE.test(before) && !JOINED_AFTER.test(after)) return true;
  }
  return false;
}
