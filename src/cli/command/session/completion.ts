/** Completes the word at the cursor of a session's prompt: commands, their values, and files. */
import { type Dirent, readdirSync } from "node:fs";
import path from "node:path";
import type { Candidate, Completion, TextBuffer } from "../../../surfaces/terminal/index.ts";

export interface CompletedCommand {
  readonly name: string;
  readonly help: string;
  /** Known values of its argument. */
  readonly values?: () => readonly Candidate[];
  /** Takes a file name. */
  readonly takesFile?: boolean;
  /** Rarely used without an argument, so Enter does not run it while the name is being completed. */
  readonly needsArgument?: boolean;
}

/** Where files are looked for. */
export interface FilePlace {
  /** Paths are relative to it. */
  readonly folder: string;
  /** Finds files by fragments of their paths. Without it, paths are only completed from the start. */
  readonly search?: FragmentSearch;
}

export interface FragmentSearch {
  /** True while no file is known yet. */
  readonly isListing: boolean;
  /** Best match first, among the files listed so far. */
  find(word: string): readonly string[];
}

/** More would not help: the user types another letter instead. */
const MAX_FILES = 200;

const OWN_COMMAND_NOTE = "Enter run it in your shell · with a space before it, it is a message";

/** A command to run in the user's shell. `![` is a Markdown image, and several lines are more likely a paste. */
export function isOwnCommand(text: string): boolean {
  return /^!(?!\[)[^\n]*$/.test(text.trimEnd());
}

/** Completes commands, and files of the workspace. */
export function completeInput(
  { text, cursor }: TextBuffer,
  commands: readonly CompletedCommand[],
  place: FilePlace,
): Completion | undefined {
  const before = text.slice(0, cursor);
  if (isOwnCommand(text)) return { from: 0, candidates: () => [], note: () => OWN_COMMAND_NOTE };
  const [, name] = /^\/([a-z][\w-]*|)$/.exec(before) ?? [];
  if (name !== undefined) {
    const candidates = commands
      .filter((command) => command.name.startsWith(name))
      .map(({ name: found, help, needsArgument = false }) => ({
        text: `/${found}`,
        description: help,
        onEnter: needsArgument ? ("take" as const) : ("send" as const),
      }));
    return { from: 0, candidates: () => candidates };
  }
  const [, named, argument = ""] = /^\/([a-z][\w-]*) (.*)$/s.exec(before) ?? [];
  const command = commands.find((one) => one.name === named);
  if (command?.takesFile === true) {
    const [word = ""] = /(?<=^(?:rm )?@?).*$/s.exec(argument) ?? [];
    return { from: cursor - word.length, ...findFiles(word, place) };
  }
  if (command?.values === undefined) return completeFile(before, place);
  const [word = ""] = /\S*$/.exec(argument) ?? [];
  const values = command.values().filter((value) => value.text.startsWith(word));
  return { from: cursor - word.length, candidates: () => values };
}

/** Completes the word `@path` or `@"a path"` before the cursor. */
export function completeFile(before: string, place: FilePlace): Completion | undefined {
  const [mention, quoted, plain = ""] = /(?<=^|\s)@(?:"([^"\n]*)|([^\s"]*))$/.exec(before) ?? [];
  if (mention === undefined) return undefined;
  const { candidates, ...found } = findFiles(quoted ?? plain, place);
  return {
    from: before.length - mention.length,
    ...found,
    candidates: () =>
      candidates()
        .filter(({ text }) => !text.includes('"')) // Such a name cannot be quoted.
        .map((file) => ({ ...file, text: toMention(file), onEnter: "take" })),
  };
}

/** Quoted if it has spaces. The quote stays open after a folder. */
function toMention({ text, isOpenEnded = false }: Candidate): string {
  if (!/\s/.test(text)) return `@${text}`;
  return isOpenEnded ? `@"${text}` : `@"${text}"`;
}

/** Files and folders whose path starts with the word, then files that contain its fragments. */
function findFiles(word: string, { folder, search }: FilePlace): Omit<Completion, "from"> {
  const near = startingFiles(word, folder);
  const known = new Set(near.map(({ text }) => text));
  // Inside a named folder, listing its files is enough.
  const isWanted = search !== undefined && word !== "" && !word.endsWith("/");
  if (!isWanted) return { candidates: () => near };
  return {
    candidates: () =>
      [...near, ...search.find(word).flatMap((text) => (known.has(text) ? [] : [{ text }]))].slice(
        0,
        MAX_FILES,
      ),
    note: () => (search.isListing ? "Looking for files…" : undefined),
  };
}

function startingFiles(word: string, folder: string): readonly Candidate[] {
  if (/^[/\\]{2}/.test(word)) return []; // On Windows, this names another machine.
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
