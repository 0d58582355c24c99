/** What is asked: words, a file, what is piped in, or what is written in the editor. */
import path from "node:path";
import { text } from "node:stream/consumers";
import { pathToText } from "../../../config/index.ts";
import { type ConversationStream, eventsOf } from "../../../conversation/index.ts";
import { findViolations } from "../../../executor/index.ts";
import {
  CodedError,
  findJson,
  isJsonObject,
  type Json,
  type JsonObject,
  messageOf,
} from "../../../util/index.ts";
import type { CommandContext } from "../../compose.ts";
import { type EditedText, editText } from "../../editor.ts";
import { usageError } from "../../exit-status.ts";
import { readTextFile } from "../../read-text-file.ts";

export interface MessageFlags {
  /** `true`: in the editor in any case. `false`: in no case. */
  readonly edit?: boolean;
}

export interface Message {
  readonly text: string;
  /** Where it was written in the editor. */
  readonly draft?: EditedText;
}

/** Undefined if there is nothing in it. Throws `file_not_read`, and what an editor throws. */
export async function readMessage(
  words: readonly string[],
  { edit }: MessageFlags,
  context: CommandContext,
): Promise<Message | undefined> {
  const said = await readWords(words, context);
  const { stdin } = context.host;
  const isTyped = stdin.isTTY === true;
  const piped = isTyped ? "" : (await text(stdin)).replace(/\r?\n$/, "");
  const given = [said, piped].filter((part) => part.trim() !== "").join("\n\n");
  const isEdited = edit ?? (given === "" && isTyped);
  const message = isEdited ? await editMessage(given, context) : { text: given };
  if (message.text.trim() !== "") return message;
  await message.draft?.discard();
  return undefined;
}

/** What somebody wrote is there until the conversation has it. Throws what the action throws. */
export async function keeping<Value>(
  { draft }: Message,
  { output }: CommandContext,
  action: () => Promise<Value>,
): Promise<Value> {
  try {
    const value = await action();
    await draft?.discard();
    return value;
  } catch (error) {
    if (draft !== undefined) output.notice(`What you wrote is in ${draft.file}`);
    throw error;
  }
}

/** `@file`, alone, is what the file says. */
async function readWords(words: readonly string[], { cwd }: CommandContext): Promise<string> {
  const [first = ""] = words;
  if (words.length !== 1 || !/^@[^\s@]/.test(first)) return words.join(" ");
  const hint =
    "A message that begins with @ is the name of a file; more words are taken as they are.";
  const said = await readTextFile(path.resolve(cwd, first.slice(1)), hint);
  return said.replace(/\r?\n$/, "");
}

async function editMessage(given: string, context: CommandContext): Promise<Message> {
  const draft = await editText({ name: "QUERY_MESSAGE.md", text: given }, context.host);
  return { text: draft.text.trim(), draft };
}

/** JSON, or `@file` for a file that has it. Throws `usage`, `file_not_read`. */
export async function readSchema(words: string, { cwd }: CommandContext): Promise<JsonObject> {
  const isFile = words.startsWith("@");
  const text = isFile ? await readTextFile(path.resolve(cwd, words.slice(1))) : words;
  const where = isFile ? words.slice(1) : "--schema";
  const schema = findJson(text);
  if (!isJsonObject(schema)) {
    throw usageError(
      `${where}: not a JSON Schema.`,
      `Give one as JSON, or @file: --schema '{"type":"object","properties":{"answer":{"type":"string"}}}'`,
    );
  }
  const unknown = findUnknownType(schema);
  if (unknown !== undefined) {
    throw usageError(`${where}: not a JSON Schema: unknown type (${pathToText(unknown)}).`);
  }
  try {
    await findViolations(schema, {});
  } catch (error) {
    // What is typed may be repeated, what stands in a file may not: it may be a private one.
    const problem = isFile ? "the validator rejects it." : messageOf(error).split("\n")[0];
    throw usageError(`${where}: not a JSON Schema: ${problem}`);
  }
  return schema;
}

/** Of the last answer. Throws `no_structured_data`, `invalid_structured_data`. */
export async function checkStructured(
  stream: ConversationStream,
  schema: JsonObject,
): Promise<void> {
  const response = [...eventsOf(stream.entries)].findLast(({ type }) => type === "chat_response");
  if (response?.type !== "chat_response" || response.content.type !== "structured") {
    throw new CodedError("no_structured_data", "The model did not answer in JSON.", {
      hint: "Some models cannot; try again, or another one with -m.",
    });
  }
  const violations = await findViolations(schema, response.content.data);
  if (violations.length === 0) return;
  throw new CodedError(
    "invalid_structured_data",
    `The answer does not fit the schema:\n${violations.map((line) => `- ${line}`).join("\n")}`,
  );
}

const TYPES = ["array", "boolean", "integer", "null", "number", "object", "string"];
/** What stands there is data. */
const DATA = new Set(["const", "default", "enum", "examples"]);

/** Where it is. The validator takes any word for a type, and nothing fits it. */
function findUnknownType(
  schema: Json,
  keys: readonly string[] = [],
): readonly string[] | undefined {
  if (typeof schema !== "object" || schema === null) return undefined;
  for (const [key, value] of Object.entries(schema)) {
    if (DATA.has(key) && !Array.isArray(schema)) continue;
    const inside = [...keys, key];
    const names = key === "type" && !isJsonObject(value) ? [value].flat() : [];
    if (names.some((name) => !TYPES.some((type) => type === name))) return inside;
    const deeper = findUnknownType(value, inside);
    if (deeper !== undefined) return deeper;
  }
  return undefined;
}
