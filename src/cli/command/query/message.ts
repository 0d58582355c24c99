/** Where the message comes from: the command line, a file, standard input, or the editor. */
import { readFile } from "node:fs/promises";
import path from "node:path";
import { text } from "node:stream/consumers";
import { JpError, systemErrorCode } from "../../../util/index.ts";
import type { CommandContext } from "../../context.ts";
import { type EditedText, editText } from "../../editor.ts";

export interface MessageFlags {
  /** `true`: always open the editor. `false`: never. */
  readonly edit?: boolean;
}

export interface Message {
  readonly text: string;
  /** The file that was edited. */
  readonly draft?: EditedText;
}

/** Undefined if it is empty. Throws `file_not_read`, and what the editor throws. */
export async function readMessage(
  words: readonly string[],
  { edit }: MessageFlags,
  context: CommandContext,
): Promise<Message | undefined> {
  const said = await readWords(words, context);
  const { host } = context;
  const piped = host.hasPipedInput() ? (await text(host.stdin)).replace(/\r?\n$/, "") : "";
  const given = [said, piped].filter((part) => part.trim() !== "").join("\n\n");
  const isEdited = edit ?? (given === "" && host.stdin.isTTY === true);
  const message = isEdited ? await editMessage(given, context) : { text: given };
  if (message.text.trim() !== "") return message;
  await message.draft?.discard();
  return undefined;
}

/** Keeps the draft until the conversation has recorded it. Throws what the action throws. */
export async function withSavedDraft<Value>(
  { draft }: Message,
  { output }: CommandContext,
  action: () => Promise<Value>,
): Promise<Value> {
  try {
    const value = await action();
    await draft?.discard();
    return value;
  } catch (error) {
    if (draft !== undefined) output.notice(`Your draft is saved in ${draft.file}`);
    throw error;
  }
}

/** A single word `@file` stands for the content of the file. */
async function readWords(words: readonly string[], { cwd }: CommandContext): Promise<string> {
  const [first = ""] = words;
  if (words.length !== 1 || !/^@[^\s@]/.test(first)) return words.join(" ");
  const hint =
    "A message that is just @name is read from that file. Add more words to send it as it is.";
  const said = await readTextFile(path.resolve(cwd, first.slice(1)), hint);
  return said.replace(/\r?\n$/, "");
}

/** A file that was named on the command line. Throws `file_not_read`. */
export async function readTextFile(file: string, hint?: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    const reason = systemErrorCode(cause) ?? "";
    throw new JpError("file_not_read", `${file} could not be read: ${reason}.`, {
      cause,
      ...(hint !== undefined && { hint }),
    });
  }
}

async function editMessage(given: string, context: CommandContext): Promise<Message> {
  const draft = await editText({ name: "QUERY_MESSAGE.md", text: given }, context.host);
  return { text: draft.text.trim(), draft };
}
