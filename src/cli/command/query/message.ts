/** What is asked: words, a file, what is piped in, or what is written in the editor. */
import path from "node:path";
import { text } from "node:stream/consumers";
import type { CommandContext } from "../../context.ts";
import { type EditedText, editText } from "../../editor.ts";
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
