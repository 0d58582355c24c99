/** Searches files one by one, and stops when there is more than anybody would read. */
import type { ToolContext } from "../../../tool/index.ts";
import { GrepOutput } from "./grep-output.ts";
import { type LineSearch, splitLines } from "./line-search.ts";
import { MOST_BYTES, openFile } from "./open-file.ts";
import { findPlace } from "./place.ts";
import { printMatches } from "./print-matches.ts";
import { explainFailure, Refusal } from "./refusal.ts";
import { type FoundFile, walkFiles } from "./walk-files.ts";

export interface GrepRequest {
  readonly root: string;
  readonly paths: readonly string[];
  readonly contextLines: number;
  readonly context: Pick<ToolContext, "signal" | "progress">;
}

const PROGRESS_FILES = 1000;
/** Where binary files show that they are. */
const BINARY_BYTES = 8192;

export async function grepFiles(search: LineSearch, request: GrepRequest): Promise<string> {
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
