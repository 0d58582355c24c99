/** What is asked: words, a file, what is piped in, or what is written in the editor. */
import { readFile } from "node:fs/promises";
import path from "node:path";
import { text } from "node:stream/consumers";
import { CodedError } from "../../../util/index.ts";
import type { CommandContext } from "../../compose.ts";
import { editText } from "../../editor.ts";

export interface MessageFlags {
  /** `true`: in the editor in any case. `false`: in no case. */
  readonly edit?: boolean;
}

/** Undefined if there is nothing in it. Throws `file_not_read`, and what an editor throws. */
export async function readMessage(
  words: readonly string[],
  { edit }: MessageFlags,
  context: CommandContext,
): Promise<string | undefined> {
  const said = await readWords(words, context);
  const piped = process.stdin.isTTY ? "" : (await text(process.stdin)).replace(/\r?\n$/, "");
  const given = [said, piped].filter((part) => part.trim() !== "").join("\n\n");
  const isEdited = edit ?? (given === "" && process.stdin.isTTY);
  const message = isEdited ? await editMessage(given) : given;
  return message.trim() === "" ? undefined : message;
}

/** `@file`, alone, is what the file says. */
async function readWords(words: readonly string[], { cwd }: CommandContext): Promise<string> {
  const [first = ""] = words;
  if (words.length !== 1 || !/^@[^\s@]/.test(first)) return words.join(" ");
  const file = path.resolve(cwd, first.slice(1));
  try {
    return (await readFile(file, "utf8")).replace(/\r?\n$/, "");
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException; // What the file system throws.
    throw new CodedError("file_not_read", `${file} could not be read: ${code}.`, {
      hint: "A message that begins with @ is the name of a file; more words are taken as they are.",
      cause: error,
    });
  }
}

async function editMessage(given: string): Promise<string> {
  const edited = await editText("QUERY_MESSAGE.md", given);
  await edited.discard();
  return edited.text.trim();
}
