/** `fs_grep_files`: finds the lines of files that contain a text, or match a regular expression. */
import { realpath } from "node:fs/promises";
import { defineTool, type ToolContext } from "../../../../record/tool/index.ts";
import type { ShippedTool } from "../builtin-executor.ts";
import {
  FileError,
  toFileError,
  readFileNow,
  resolvePath,
  type FoundFile,
  walkFiles,
} from "../../../files/index.ts";
import { shouldYield, yieldToEventLoop } from "../../../../util/index.ts";
import { type Candidate, excludeWithRipgrep, findRipgrep } from "./ripgrep.ts";
import { MAX_FILE_BYTES } from "./save-file.ts";
import {
  createRegexSearch,
  createTextSearch,
  type LineMatch,
  type LineSearch,
  splitLines,
} from "./line-search.ts";

interface GrepFilesArguments {
  readonly pattern: string;
  readonly regex?: boolean;
  readonly paths?: readonly string[];
  readonly context?: number;
}

export interface GrepFilesOptions {
  readonly root: string;
  /** The `PATH`, to find ripgrep. */
  readonly searchPath?: string | undefined;
  /** How many files to search before starting ripgrep pays off. */
  readonly ripgrepAfter?: number;
  /** Time limit for a regular expression, per file. */
  readonly timeLimitMs?: number;
}

const DESCRIPTION =
  "Searches line by line and case-sensitively for the pattern, as plain text or, if regex is true, as " +
  "a JavaScript regular expression. Returns path:line:text for each matching line and path-line-text " +
  "for context, with -- between groups. Searches the files that fs_list_files lists, except links " +
  "(symbolic or hard), binary files and files over 8 MiB. Returns at most 200 matching lines per " +
  "call; if there are more, a notice in square brackets says so: then narrow the pattern or the " +
  "paths. Fails if the regular expression is invalid or takes longer than 5 seconds on a file, or if " +
  "a path does not exist, is outside the workspace or is protected (.git, .jp).";

export function createGrepFilesTool(options: GrepFilesOptions): ShippedTool {
  const { root, searchPath, ripgrepAfter = RIPGREP_AFTER, timeLimitMs = 5000 } = options;
  let program: { readonly found: string | undefined } | undefined;
  const ripgrep = async () => {
    program ??= { found: findRipgrep({ root: await realpath(root), searchPath }) };
    return program.found;
  };
  const tool = defineTool<GrepFilesArguments>({
    name: "fs_grep_files",
    description: DESCRIPTION,
    parameters: {
      type: "object",
      properties: {
        pattern: { type: "string", minLength: 1, maxLength: 1000, description: "what to find" },
        regex: { type: "boolean", description: "treat the pattern as a regular expression" },
        paths: {
          type: "array",
          items: { type: "string" },
          minItems: 1,
          description: "files and folders to search; default: the whole workspace",
        },
        context: {
          type: "integer",
          minimum: 0,
          maximum: 20,
          description: "lines to show before and after each match; default: 0",
        },
      },
      required: ["pattern"],
      additionalProperties: false,
    },
    run: async (args, context) => {
      await using search = await createSearch(args, timeLimitMs, context.signal);
      return await grepFiles(search, { root, args, context, ripgrep, ripgrepAfter });
    },
  });
  const summary =
    "Find lines in workspace files that contain a text or match a regular expression.";
  return { tool, config: { summary }, isReadOnly: true, argumentKinds: { "/paths": "path" } };
}

async function createSearch(
  { pattern, regex }: GrepFilesArguments,
  timeLimitMs: number,
  signal: AbortSignal,
): Promise<LineSearch> {
  if (regex === true) return createRegexSearch({ pattern, timeLimitMs, signal });
  if (/[\r\n]/.test(pattern)) {
    throw new FileError("The pattern contains a line break. Search for text on a single line.");
  }
  return createTextSearch(pattern);
}

interface GrepRequest {
  readonly root: string;
  readonly args: GrepFilesArguments;
  readonly context: ToolContext;
  /** Looks it up only once. */
  readonly ripgrep: () => Promise<string | undefined>;
  readonly ripgrepAfter: number;
}

const PROGRESS_FILES = 1000;
const RIPGREP_AFTER = 1000;

async function grepFiles(search: LineSearch, request: GrepRequest): Promise<string> {
  const { args, context } = request;
  const contextLines = args.context ?? 0;
  const output = new GrepOutput(contextLines > 0);
  const required = search.required?.map((text) => Buffer.from(text));
  let searched = 0;
  for await (const { file, state } of findCandidates(search, request, output)) {
    if (shouldYield()) await yieldToEventLoop();
    context.signal.throwIfAborted();
    searched += 1;
    if (searched % PROGRESS_FILES === 0) context.progress(`${searched} files searched`);
    if (state === "lost") output.addNotice("Cannot read these files", file.displayPath);
    const bytes = state === "open" ? readText(file, output) : undefined;
    if (bytes === undefined || required?.some((each) => bytes.includes(each)) === false) continue;
    const text = bytes.toString();
    const found = await search.find(text, output.remaining + 1);
    if (found.length === 0) continue;
    const matches = found.slice(0, output.remaining);
    const lines = splitLines(text);
    const groups = formatMatches({ path: file.displayPath, lines, matches, contextLines });
    output.add(groups, matches.length);
    if (found.length > matches.length || output.isFull) {
      output.addNotice("Showing only the first matches. Narrow the pattern or the paths");
      break;
    }
  }
  return output.text();
}

/** Yields all files, and marks those that cannot match according to ripgrep. */
async function* findCandidates(
  { required }: LineSearch,
  request: GrepRequest,
  output: GrepOutput,
): AsyncGenerator<Candidate> {
  const files = findFiles(request, output);
  const { root, ripgrep, ripgrepAfter: after, context } = request;
  const program = required === undefined ? undefined : await ripgrep();
  if (required === undefined || program === undefined) {
    for await (const file of files) yield { file, state: "open" };
    return;
  }
  const { signal } = context;
  yield* excludeWithRipgrep(files, {
    program,
    root: await realpath(root),
    required,
    after,
    signal,
  });
}

/** Yields each file once, even if several paths lead to it. */
async function* findFiles(request: GrepRequest, output: GrepOutput): AsyncGenerator<FoundFile> {
  const { root, args, context } = request;
  const seen = new Set<string>();
  const onUnreadable = (folder: string) => output.addNotice("Cannot read these folders", folder);
  for (const path of args.paths ?? ["."]) {
    const start = await resolvePath(root, path);
    for await (const file of walkFiles(start, { signal: context.signal, onUnreadable })) {
      if (file.isLink || seen.has(file.displayPath)) continue;
      seen.add(file.displayPath);
      yield file;
    }
  }
}

/** How far into a file to look for a NUL byte, which marks it as binary. */
const BINARY_CHECK_BYTES = 8192;

/** Undefined for a file that is not searched. */
function readText(file: FoundFile, output: GrepOutput): Buffer | undefined {
  const { folder, name, displayPath } = file;
  try {
    const bytes = readFileNow(folder, name, { displayPath, maxBytes: MAX_FILE_BYTES });
    if (bytes === undefined) {
      output.addNotice("Skipped files over 8 MiB", displayPath);
      return undefined;
    }
    if (!bytes.subarray(0, BINARY_CHECK_BYTES).includes(0)) return bytes;
    if (file.isStart) output.addNotice("Skipped binary files", displayPath);
    return undefined;
  } catch (error) {
    const failure = toFileError("read", displayPath, error);
    if (!(failure instanceof FileError)) throw failure;
    output.addNotice("Cannot read these files", displayPath);
    return undefined;
  }
}

interface FileMatches {
  readonly path: string;
  readonly lines: readonly string[];
  /** Sorted by line. */
  readonly matches: readonly LineMatch[];
  readonly contextLines: number;
}

/** Uses grep's format: groups of adjacent lines. */
function formatMatches(file: FileMatches): readonly (readonly string[])[] {
  const groups: string[][] = [];
  const columns = new Map(file.matches.map(({ line, column }) => [line, column]));
  let printed = -1;
  for (const { line } of file.matches) {
    const start = Math.max(printed + 1, line - file.contextLines);
    const end = Math.min(file.lines.length - 1, line + file.contextLines);
    if (groups.length === 0 || start > printed + 1) groups.push([]);
    for (let at = start; at <= end; at += 1) {
      const column = columns.get(at);
      const sign = column === undefined ? "-" : ":";
      const text = truncateAround(file.lines[at] ?? "", column ?? 0);
      groups.at(-1)?.push(`${file.path}${sign}${at + 1}${sign}${text}`);
    }
    printed = Math.max(printed, end);
  }
  return groups;
}

const MAX_COLUMNS = 400;
const COLUMNS_BEFORE_MATCH = 100;

function truncateAround(line: string, column: number): string {
  if (line.length <= MAX_COLUMNS) return line;
  const start = Math.max(0, Math.min(column - COLUMNS_BEFORE_MATCH, line.length - MAX_COLUMNS));
  const end = start + MAX_COLUMNS;
  const part = line.slice(start, end).toWellFormed(); // The cut may split a surrogate pair.
  return `${start > 0 ? "…" : ""}${part}${end < line.length ? "…" : ""}`;
}

const MAX_MATCHES = 200;
const MAX_CHARACTERS = 64 * 1024;
/** A notice names at most this many files. */
const MAX_NAMES = 5;

interface Notice {
  readonly names: readonly string[];
  readonly count: number;
}

/** Collects matches up to a limit, and notices about files that were not searched. */
class GrepOutput {
  readonly #groups: string[] = [];
  readonly #notices = new Map<string, Notice>();
  readonly #separator: string;
  #remaining = MAX_MATCHES;
  #characters = 0;

  constructor(hasContext: boolean) {
    this.#separator = hasContext ? "\n--\n" : "\n";
  }

  /** How many more matches fit. */
  get remaining(): number {
    return this.#remaining;
  }

  get isFull(): boolean {
    return this.#characters > MAX_CHARACTERS;
  }

  /** Drops the lines that do not fit. */
  add(groups: readonly (readonly string[])[], matches: number): void {
    this.#remaining -= matches;
    for (const group of groups) {
      if (this.isFull) return;
      const lines: string[] = [];
      for (const line of group) {
        if (this.isFull) break;
        this.#characters += line.length;
        lines.push(line);
      }
      this.#groups.push(lines.join("\n"));
    }
  }

  addNotice(notice: string, ...names: readonly string[]): void {
    const before = this.#notices.get(notice) ?? { names: [], count: 0 };
    this.#notices.set(notice, {
      names: [...before.names, ...names].slice(0, MAX_NAMES),
      count: before.count + names.length,
    });
  }

  text(): string {
    const groups = this.#groups.length === 0 ? ["[No matches.]"] : this.#groups;
    const notices = [...this.#notices].map(([notice, { names, count }]) => {
      if (count === 0) return `[${notice}.]`;
      const more = count > names.length ? ` and ${count - names.length} more` : "";
      return `[${notice}: ${names.join(", ")}${more}]`;
    });
    return [groups.join(this.#separator), ...notices].join("\n");
  }
}
