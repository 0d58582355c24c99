/** `fs_grep_files`: which lines of which files hold a text, or match an expression. */
import { defineTool, type ToolContext } from "../../../tool/index.ts";
import type { ShippedTool } from "../builtin-executor.ts";
import { explainFailure, Refusal } from "./file-error.ts";
import { fileToolConfig } from "./file-tool-config.ts";
import { MOST_BYTES, openFile } from "./files.ts";
import {
  createExpressionSearch,
  createLiteralSearch,
  type LineMatch,
  type LineSearch,
  splitLines,
} from "./line-search.ts";
import { findPlace } from "./place.ts";
import { type FoundFile, walkFiles } from "./walk-files.ts";

interface GrepFilesArguments {
  readonly pattern: string;
  readonly regex?: boolean;
  readonly paths?: readonly string[];
  readonly context?: number;
}

export interface GrepFilesOptions {
  readonly root: string;
  /** How long a regular expression may take for one file. */
  readonly timeLimitMs?: number;
}

const DESCRIPTION =
  "Searches line by line, with case, for the pattern as plain text, or as a JavaScript regular " +
  "expression if regex is true. Gives path:line:text for each line that matches and path-line-text " +
  "for context, groups apart by --. Looks at the same files as fs_list_files, without links, symbolic " +
  "or hard, binary files and files over 8 MiB. At most 200 matching lines per call: a notice in square brackets " +
  "says so; then narrow the pattern or the paths. Errors: the expression is not valid or takes too " +
  "long (5 seconds for a file), or a path does not exist, is outside the workspace or is protected.";

export function createGrepFilesTool({ root, timeLimitMs = 5000 }: GrepFilesOptions): ShippedTool {
  const tool = defineTool<GrepFilesArguments>({
    name: "fs_grep_files",
    description: DESCRIPTION,
    parameters: {
      type: "object",
      properties: {
        pattern: { type: "string", minLength: 1, maxLength: 1000, description: "what to find" },
        regex: { type: "boolean", description: "the pattern is a regular expression" },
        paths: {
          type: "array",
          items: { type: "string" },
          minItems: 1,
          description: "files and folders to look in; the whole workspace if absent",
        },
        context: {
          type: "integer",
          minimum: 0,
          maximum: 20,
          description: "lines to show before and after each match; 0 if absent",
        },
      },
      required: ["pattern"],
      additionalProperties: false,
    },
    run: (args, context) => grep(args, { root, timeLimitMs, context }),
  });
  const summary =
    "Find lines in the workspace's files that hold a text, or match a regular expression.";
  return { tool, config: fileToolConfig({ summary, description: DESCRIPTION }), isReadOnly: true };
}

interface Surroundings extends Required<GrepFilesOptions> {
  readonly context: ToolContext;
}

async function grep(args: GrepFilesArguments, around: Surroundings): Promise<string> {
  const { root, context } = around;
  const { paths = ["."], context: contextLines = 0 } = args;
  await using search = await createSearch(args, around);
  return await grepFiles(search, { root, paths, contextLines, context });
}

async function createSearch(
  { pattern, regex }: GrepFilesArguments,
  { timeLimitMs, context: { signal } }: Surroundings,
): Promise<LineSearch> {
  if (regex === true) return createExpressionSearch({ pattern, timeLimitMs, signal });
  if (/[\r\n]/.test(pattern)) {
    throw new Refusal("The pattern has a line break. Search for a text on one line.");
  }
  return createLiteralSearch(pattern);
}

export interface GrepRequest {
  readonly root: string;
  readonly paths: readonly string[];
  readonly contextLines: number;
  readonly context: Pick<ToolContext, "signal" | "progress">;
}

const PROGRESS_FILES = 1000;
/** Where binary files show that they are. */
const BINARY_BYTES = 8192;

async function grepFiles(search: LineSearch, request: GrepRequest): Promise<string> {
  const { contextLines: context } = request;
  const output = new GrepOutput(context > 0);
  let searched = 0;
  for await (const file of filesOf(request, output)) {
    request.context.signal.throwIfAborted();
    searched += 1;
    if (searched % PROGRESS_FILES === 0) request.context.progress(`${searched} files searched`);
    const text = await readText(file, output);
    const found = text === undefined ? [] : await search.find(text, output.room + 1);
    if (text === undefined || found.length === 0) continue;
    const matches = found.slice(0, output.room);
    const lines = splitLines(text);
    output.add(printMatches({ shown: file.shown, lines, matches, context }), matches.length);
    if (found.length > matches.length || output.isFull) {
      output.addNotice("Only the first matches are shown. Narrow the pattern or the paths");
      break;
    }
  }
  return output.text();
}

/** Each file once, however many of the paths lead to it. */
async function* filesOf(request: GrepRequest, output: GrepOutput): AsyncGenerator<FoundFile> {
  const seen = new Set<string>();
  const onUnreadable = (shown: string) => output.addNotice("Folders that cannot be read", shown);
  for (const path of request.paths) {
    const place = await findPlace(request.root, path);
    for await (const file of walkFiles(place, { signal: request.context.signal, onUnreadable })) {
      if (file.isLink || seen.has(file.shown)) continue;
      seen.add(file.shown);
      yield file;
    }
  }
}

/** Undefined for files that are not searched; bytes that are no UTF-8 are replaced. */
async function readText(file: FoundFile, output: GrepOutput): Promise<string | undefined> {
  const { folder, name, shown } = file;
  try {
    await using handle = await openFile(folder, name, { shown, access: "read" });
    if ((await handle.stat()).size > MOST_BYTES) {
      output.addNotice("Files over 8 MiB were not searched", shown);
      return undefined;
    }
    const bytes = await handle.readFile();
    if (!bytes.subarray(0, BINARY_BYTES).includes(0)) return bytes.toString();
    if (file.isNamed) output.addNotice("Binary files were not searched", shown);
    return undefined;
  } catch (error) {
    const failure = explainFailure("read", shown, error);
    if (!(failure instanceof Refusal)) throw failure;
    output.addNotice("Files that cannot be read", shown);
    return undefined;
  }
}

export interface FileMatches {
  readonly shown: string;
  readonly lines: readonly string[];
  /** In the order of the lines. */
  readonly matches: readonly LineMatch[];
  /** How many lines around each match. */
  readonly context: number;
}

/** Longer lines are cut around the match. */
const MOST_COLUMNS = 400;
const COLUMNS_BEFORE = 100;

/** Groups that do not touch; a group is a list of lines. */
function printMatches(file: FileMatches): readonly (readonly string[])[] {
  const groups: string[][] = [];
  const columns = new Map(file.matches.map(({ line, column }) => [line, column]));
  let printed = -1;
  for (const { line } of file.matches) {
    const start = Math.max(printed + 1, line - file.context);
    const end = Math.min(file.lines.length - 1, line + file.context);
    if (groups.length === 0 || start > printed + 1) groups.push([]);
    for (let at = start; at <= end; at += 1) {
      groups.at(-1)?.push(printLine(file, at, columns.get(at)));
    }
    printed = Math.max(printed, end);
  }
  return groups;
}

function printLine({ shown, lines }: FileMatches, at: number, column: number | undefined): string {
  const sign = column === undefined ? "-" : ":";
  return `${shown}${sign}${at + 1}${sign}${cut(lines[at] ?? "", column ?? 0)}`;
}

function cut(line: string, column: number): string {
  if (line.length <= MOST_COLUMNS) return line;
  const start = Math.max(0, Math.min(column - COLUMNS_BEFORE, line.length - MOST_COLUMNS));
  const end = start + MOST_COLUMNS;
  const part = line.slice(start, end).toWellFormed(); // A character may have been cut in two.
  return `${start > 0 ? "…" : ""}${part}${end < line.length ? "…" : ""}`;
}

const MOST_MATCHES = 200;
const MOST_CHARACTERS = 64 * 1024;
/** Of each kind of file that was left out. */
const MOST_NAMES = 5;

interface Notice {
  readonly names: readonly string[];
  readonly count: number;
}

class GrepOutput {
  readonly #groups: string[] = [];
  readonly #notices = new Map<string, Notice>();
  readonly #separator: string;
  #room = MOST_MATCHES;
  #characters = 0;

  constructor(hasContext: boolean) {
    this.#separator = hasContext ? "\n--\n" : "\n";
  }

  /** For so many matches more. */
  get room(): number {
    return this.#room;
  }

  get isFull(): boolean {
    return this.#characters > MOST_CHARACTERS;
  }

  /** What does not fit is left out. */
  add(groups: readonly (readonly string[])[], matches: number): void {
    this.#room -= matches;
    for (const group of groups) {
      if (this.isFull) return;
      this.#groups.push(group.filter((line) => this.#takes(line)).join("\n"));
    }
  }

  addNotice(notice: string, ...names: readonly string[]): void {
    const before = this.#notices.get(notice) ?? { names: [], count: 0 };
    this.#notices.set(notice, {
      names: [...before.names, ...names].slice(0, MOST_NAMES),
      count: before.count + names.length,
    });
  }

  text(): string {
    const groups = this.#groups.length === 0 ? ["[No line matches.]"] : this.#groups;
    const notices = [...this.#notices].map(([notice, { names, count }]) => {
      if (count === 0) return `[${notice}.]`;
      const more = count > names.length ? ` and ${count - names.length} more` : "";
      return `[${notice}: ${names.join(", ")}${more}]`;
    });
    return [groups.join(this.#separator), ...notices].join("\n");
  }

  #takes(line: string): boolean {
    if (this.isFull) return false;
    this.#characters += line.length;
    return true;
  }
}
