/** Completes the word at the cursor of a session's prompt: commands and their values, and files. */
import { type Dirent, readdirSync } from "node:fs";
import path from "node:path";
import type { Candidate, Completion, TextBuffer } from "../../../terminal/index.ts";

export interface CompletedCommand {
  readonly name: string;
  readonly help: string;
  /** Known values that can follow its name. */
  readonly values?: () => readonly Candidate[];
  /** The name of a file can follow it. */
  readonly takesFile?: boolean;
}

/** More would not help: the user types another letter. */
const MAX_FILES = 200;

/** Completes commands, and files below the folder. */
export function completeInput(
  { text, cursor }: TextBuffer,
  commands: readonly CompletedCommand[],
  folder: string,
): Completion | undefined {
  const before = text.slice(0, cursor);
  const [, name] = /^\/([a-z]*)$/.exec(before) ?? [];
  if (name !== undefined) {
    const candidates = commands
      .filter((command) => command.name.startsWith(name))
      .map((command) => ({ text: `/${command.name}`, description: command.help }));
    return { from: 0, candidates };
  }
  const [, named, argument = ""] = /^\/([a-z]+) (.*)$/s.exec(before) ?? [];
  const command = commands.find((one) => one.name === named);
  if (command === undefined) return completeFile(before, folder);
  if (command.takesFile === true) {
    const [word = ""] = /(?<=^(?:rm )?@?).*$/s.exec(argument) ?? [];
    return { from: cursor - word.length, candidates: findFiles(word, folder) };
  }
  const [word = ""] = /\S*$/.exec(argument) ?? [];
  const values = (command.values?.() ?? []).filter((value) => value.text.startsWith(word));
  return { from: cursor - word.length, candidates: values };
}

/** The word `@path` or `@"a path"` before the cursor. */
export function completeFile(before: string, folder: string): Completion | undefined {
  const [mention, quoted, plain = ""] = /(?<=^|\s)@(?:"([^"\n]*)|([^\s"]*))$/.exec(before) ?? [];
  if (mention === undefined) return undefined;
  const candidates = findFiles(quoted ?? plain, folder)
    .filter(({ text }) => !text.includes('"')) // Such a name cannot be quoted.
    .map((file) => ({ ...file, text: toMention(file) }));
  return { from: before.length - mention.length, candidates };
}

/** In quotes if it has spaces. They stay open after the name of a folder. */
function toMention({ text, isOpenEnded = false }: Candidate): string {
  if (!/\s/.test(text)) return `@${text}`;
  return isOpenEnded ? `@"${text}` : `@"${text}"`;
}

/** Files and folders whose path starts like this. */
function findFiles(word: string, folder: string): readonly Candidate[] {
  if (/^[/\\]{2}/.test(word)) return []; // On Windows, the name of another machine.
  const parent = word.slice(0, word.lastIndexOf("/") + 1);
  const start = word.slice(parent.length).toLowerCase();
  return filesIn(path.resolve(folder, parent))
    .filter(({ name }) => name.toLowerCase().startsWith(start))
    .filter(({ name }) => start !== "" || !name.startsWith("."))
    .filter(({ name }) => !/\p{Cc}/u.test(name))
    .slice(0, MAX_FILES)
    .map((file) => toCandidate(file, parent));
}

function toCandidate(file: Dirent, parent: string): Candidate {
  const text = `${parent}${file.name}`;
  return file.isDirectory() ? { text: `${text}/`, isOpenEnded: true } : { text };
}

function filesIn(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).toSorted((one, other) =>
      one.name < other.name ? -1 : 1,
    );
  } catch {
    return []; // The folder does not exist, or is private.
  }
}
