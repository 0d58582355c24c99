/** `fs_read_file`: returns the text of a file, or a range of its lines. */
import type { FileHandle } from "node:fs/promises";
import { defineTool, type ToolContext } from "../../../../record/tool/index.ts";
import type { ShippedTool } from "../builtin-executor.ts";
import {
  FileError,
  notFoundError,
  toFileError,
  decodeUtf8,
  openFile,
  openFolder,
  resolvePath,
  toTarget,
} from "../../../files/index.ts";

interface ReadFileArguments {
  readonly path: string;
  readonly start_line?: number;
  readonly end_line?: number;
}

/** Limit per call. */
const MAX_BYTES = 64 * 1024;

const DESCRIPTION =
  "Returns the text exactly as it is in the file, without line numbers and without a byte order mark " +
  "at the start. Returns at most 64 KiB of whole lines per call; if there is more, a notice in square " +
  "brackets after the text gives the start_line to continue from. Fails if the file does not exist, " +
  "is a folder or a hard link, is outside the workspace or protected (.git, .jp), or is not UTF-8 " +
  "text. Retrying does not help in these cases.";

export function createReadFileTool({ root }: { readonly root: string }): ShippedTool {
  const tool = defineTool<ReadFileArguments>({
    name: "fs_read_file",
    description: DESCRIPTION,
    parameters: {
      type: "object",
      properties: {
        path: { type: "string", description: "the file, relative to the workspace root" },
        start_line: { type: "integer", minimum: 1, description: "the first line, counted from 1" },
        end_line: { type: "integer", minimum: 1, description: "the last line, inclusive" },
      },
      required: ["path"],
      additionalProperties: false,
    },
    run: (args, context) => readFile(root, args, context),
  });
  const summary = "Read a text file in the workspace: all of it, or start_line to end_line.";
  return { tool, config: { summary }, isReadOnly: true, argumentKinds: { "/path": "path" } };
}

async function readFile(
  root: string,
  { path, start_line: start = 1, end_line: end = Number.POSITIVE_INFINITY }: ReadFileArguments,
  context: ToolContext,
): Promise<string> {
  if (end < start) throw new FileError(`end_line ${end} is before start_line ${start}.`);
  const resolved = await resolvePath(root, path);
  const { displayPath, folder: parent, name } = toTarget(resolved);
  if (resolved.missing.length > 0) throw notFoundError(displayPath);
  try {
    await using folder = await openFolder(parent);
    await using handle = await openFile(folder, name, { displayPath, access: "read" });
    const lines = await readLines(handle, {
      start,
      end,
      maxBytes: MAX_BYTES,
      signal: context.signal,
      onProgress: (bytes) => context.progress(`${displayPath}: ${bytes >> 20} MiB read`),
    });
    return formatLines(lines, displayPath, start);
  } catch (error) {
    throw toFileError("read", displayPath, error);
  }
}

function formatLines(
  { bytes, last, state }: LinesRead,
  displayPath: string,
  start: number,
): string {
  if (last === 0 && start === 1) return "[The file is empty.]";
  if (last < start) {
    throw new FileError(`${displayPath} has only ${last} ${last === 1 ? "line" : "lines"}.`);
  }
  const text = decodeUtf8(bytes, state === "line_truncated");
  if (text === undefined) {
    throw new FileError(`${displayPath} cannot be shown: it is binary, or not UTF-8 text.`);
  }
  const body = start === 1 && text.startsWith("\uFEFF") ? text.slice(1) : text;
  const next = `Continue with start_line ${last + 1}.`;
  switch (state) {
    case "complete":
      return body;
    case "limit_reached":
      return `${body}[Showing only lines ${start} to ${last}. ${next}]`;
    case "line_truncated":
      return (
        `${body}\n[Showing only the first 64 KiB of line ${start}. ` +
        `Use fs_grep_files to search the rest of it. ${next}]`
      );
    default:
      return state satisfies never;
  }
}

interface LineRange {
  /** Both start at 1 and are inclusive. */
  readonly start: number;
  readonly end: number;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  readonly onProgress: (bytes: number) => void;
}

interface LinesRead {
  readonly bytes: Buffer;
  /** The number of the last line in `bytes`, or of the file's last line if the range is past the end. */
  readonly last: number;
  /** `limit_reached`: the next line does not fit. `line_truncated`: even the first line does not fit. */
  readonly state: "complete" | "limit_reached" | "line_truncated";
}

const CHUNK_BYTES = 256 * 1024;
const PROGRESS_BYTES = 64 * 1024 * 1024;

/** Works for files of any size: holds only what it returns. */
async function readLines(handle: FileHandle, range: LineRange): Promise<LinesRead> {
  const collector = new LineCollector(range);
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  for (let position = 0, reported = 0; !collector.isDone;) {
    range.signal.throwIfAborted();
    const { bytesRead } = await handle.read(chunk, 0, CHUNK_BYTES, position);
    if (bytesRead === 0) break;
    collector.add(chunk.subarray(0, bytesRead));
    position += bytesRead;
    if (position - reported >= PROGRESS_BYTES) {
      reported = position;
      range.onProgress(position);
    }
  }
  return collector.result();
}

class LineCollector {
  isDone = false;
  readonly #range: LineRange;
  readonly #pieces: Buffer[] = [];
  #size = 0;
  /** The line being read, and the size of the lines collected before it. */
  #line = 1;
  #sizeBefore = 0;
  #isInLine = false;
  #state: LinesRead["state"] = "complete";

  constructor(range: LineRange) {
    this.#range = range;
  }

  add(chunk: Buffer): void {
    for (let at = 0; at < chunk.length && !this.isDone;) {
      const lineEnd = chunk.indexOf(0x0a, at);
      const end = lineEnd < 0 ? chunk.length : lineEnd + 1;
      if (this.#line >= this.#range.start) this.#collect(chunk.subarray(at, end));
      if (this.isDone) return;
      this.#isInLine = lineEnd < 0;
      if (lineEnd >= 0) this.#endLine();
      at = end;
    }
  }

  result(): LinesRead {
    const bytes = Buffer.concat(this.#pieces);
    const state = this.#state;
    switch (state) {
      case "line_truncated":
        return { bytes: bytes.subarray(0, this.#range.maxBytes), last: this.#line, state };
      case "limit_reached":
        return { bytes: bytes.subarray(0, this.#sizeBefore), last: this.#line - 1, state };
      case "complete":
        return { bytes, last: this.#isInLine ? this.#line : this.#line - 1, state };
      default:
        return state satisfies never;
    }
  }

  #collect(piece: Buffer): void {
    this.#pieces.push(Buffer.from(piece)); // Copied, because the chunk is reused.
    this.#size += piece.length;
    if (this.#size <= this.#range.maxBytes) return;
    this.#state = this.#line === this.#range.start ? "line_truncated" : "limit_reached";
    this.isDone = true;
  }

  #endLine(): void {
    this.#line += 1;
    this.#sizeBefore = this.#size;
    if (this.#line > this.#range.end) this.isDone = true;
  }
}
