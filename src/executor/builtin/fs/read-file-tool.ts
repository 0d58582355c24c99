/** `fs_read_file`: the text of a file, or some lines of it, as it is. */
import type { FileHandle } from "node:fs/promises";
import { defineTool, type ToolContext } from "../../../tool/index.ts";
import type { ShippedTool } from "../builtin-executor.ts";
import { explainFailure, notThere, Refusal } from "./file-error.ts";
import { fileToolConfig } from "./file-tool-config.ts";
import { decodeUtf8, openFile } from "./files.ts";
import { openFolder } from "./folder.ts";
import { findPlace, toTarget } from "./place.ts";

interface ReadFileArguments {
  readonly path: string;
  readonly start_line?: number;
  readonly end_line?: number;
}

/** What one call gives at most. */
const MOST_BYTES = 64 * 1024;

const DESCRIPTION =
  "Gives the text exactly as it is in the file, without line numbers; of a byte order mark at the " +
  "start nothing is shown. At most 64 KiB of whole lines per call: a notice in square brackets after " +
  "the text says so, and with which start_line to read on. Errors: the file does not exist, is a " +
  "folder or a hard link, is outside the workspace or protected (.git, .jp), or is not text in UTF-8; " +
  "none of them goes away by a retry.";

export function createReadFileTool({ root }: { readonly root: string }): ShippedTool {
  const tool = defineTool<ReadFileArguments>({
    name: "fs_read_file",
    description: DESCRIPTION,
    parameters: {
      type: "object",
      properties: {
        path: { type: "string", description: "the file, relative to the workspace's root" },
        start_line: { type: "integer", minimum: 1, description: "the first line wanted, from 1" },
        end_line: { type: "integer", minimum: 1, description: "the last line wanted, included" },
      },
      required: ["path"],
      additionalProperties: false,
    },
    run: (args, context) => readText(root, args, context),
  });
  const summary = "Read a text file of the workspace, whole or from start_line to end_line.";
  return { tool, config: fileToolConfig({ summary, description: DESCRIPTION }), isReadOnly: true };
}

async function readText(
  root: string,
  { path, start_line: start = 1, end_line: end = Number.POSITIVE_INFINITY }: ReadFileArguments,
  context: ToolContext,
): Promise<string> {
  if (end < start) throw new Refusal(`end_line ${end} is before start_line ${start}.`);
  const place = await findPlace(root, path);
  const { shown, folder: parent, name } = toTarget(place);
  if (place.missing.length > 0) throw notThere(shown);
  try {
    await using folder = await openFolder(parent);
    await using handle = await openFile(folder, name, { shown, access: "read" });
    const onProgress = (bytes: number) => context.progress(`${shown}: ${bytes >> 20} MiB read`);
    const range = { start, end, mostBytes: MOST_BYTES, signal: context.signal, onProgress };
    return present(await readLines(handle, range), shown, start);
  } catch (error) {
    throw explainFailure("read", shown, error);
  }
}

function present({ bytes, last, state }: ReadLines, shown: string, start: number): string {
  if (last === 0 && start === 1) return "[The file is empty.]";
  if (last < start) {
    throw new Refusal(`${shown} has only ${last} ${last === 1 ? "line" : "lines"}.`);
  }
  const text = decodeUtf8(bytes, state === "cut");
  if (text === undefined) {
    throw new Refusal(`${shown} is a binary file, or not in UTF-8: it cannot be shown as text.`);
  }
  const body = start === 1 && text.startsWith("\uFEFF") ? text.slice(1) : text;
  if (state === "complete") return body;
  const next = `To read on: start_line ${last + 1}.`;
  if (state === "full") return `${body}[Only lines ${start} to ${last} are shown. ${next}]`;
  return (
    `${body}\n[Line ${start} is too long: only its first 64 KiB are shown. ` +
    `fs_grep_files finds what else is in it. ${next}]`
  );
}

export interface LineRange {
  /** Counted from 1, both included. */
  readonly start: number;
  readonly end: number;
  readonly mostBytes: number;
  readonly signal: AbortSignal;
  /** Told how many bytes were read, now and then. */
  readonly onProgress?: (bytes: number) => void;
}

interface ReadLines {
  readonly bytes: Buffer;
  /** The last line that is in `bytes`; before the first one if there is none. */
  readonly last: number;
  /** `full`: the next line does not fit. `cut`: not even the first one does, and its start is given. */
  readonly state: "complete" | "full" | "cut";
}

const CHUNK_BYTES = 256 * 1024;
const PROGRESS_BYTES = 64 * 1024 * 1024;

/** Where the range is past the end, `last` is the number of lines there are. */
async function readLines(handle: FileHandle, range: LineRange): Promise<ReadLines> {
  const collector = new LineCollector(range);
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  for (let position = 0, told = 0; !collector.isDone;) {
    range.signal.throwIfAborted();
    const { bytesRead } = await handle.read(chunk, 0, CHUNK_BYTES, position);
    if (bytesRead === 0) break;
    collector.add(chunk.subarray(0, bytesRead));
    position += bytesRead;
    if (position - told >= PROGRESS_BYTES) {
      told = position;
      range.onProgress?.(position);
    }
  }
  return collector.result();
}

class LineCollector {
  isDone = false;
  readonly #range: LineRange;
  readonly #pieces: Buffer[] = [];
  #size = 0;
  /** The line that is being read, and how much of what was taken is before it. */
  #line = 1;
  #sizeBefore = 0;
  #isInLine = false;
  #state: ReadLines["state"] = "complete";

  constructor(range: LineRange) {
    this.#range = range;
  }

  add(chunk: Buffer): void {
    for (let at = 0; at < chunk.length && !this.isDone;) {
      const lineEnd = chunk.indexOf(0x0a, at);
      const end = lineEnd < 0 ? chunk.length : lineEnd + 1;
      if (this.#line >= this.#range.start) this.#take(chunk.subarray(at, end));
      if (this.isDone) return;
      this.#isInLine = lineEnd < 0;
      if (lineEnd >= 0) this.#endLine();
      at = end;
    }
  }

  result(): ReadLines {
    const bytes = Buffer.concat(this.#pieces);
    switch (this.#state) {
      case "cut":
        return { bytes: bytes.subarray(0, this.#range.mostBytes), last: this.#line, state: "cut" };
      case "full":
        return { bytes: bytes.subarray(0, this.#sizeBefore), last: this.#line - 1, state: "full" };
      case "complete":
        return { bytes, last: this.#isInLine ? this.#line : this.#line - 1, state: "complete" };
      default:
        return this.#state satisfies never;
    }
  }

  #take(piece: Buffer): void {
    this.#pieces.push(Buffer.from(piece)); // The chunk is used again.
    this.#size += piece.length;
    if (this.#size <= this.#range.mostBytes) return;
    this.#state = this.#line === this.#range.start ? "cut" : "full";
    this.isDone = true;
  }

  #endLine(): void {
    this.#line += 1;
    this.#sizeBefore = this.#size;
    if (this.#line > this.#range.end) this.isDone = true;
  }
}
