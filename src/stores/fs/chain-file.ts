/**
 * The chain of a conversation's decisions, in a file beside its record: one link per line (see
 * `record/conversation/chain.ts`). It is written after the record, without a sync: links lost in a crash are rebuilt
 * from the record, and marked.
 */
import { closeSync, constants, readSync, writeSync } from "node:fs";
import path from "node:path";
import {
  type ChainLine,
  chainLineToText,
  type ConversationId,
  type OwnRun,
  type StreamEntry,
} from "../../record/conversation/index.ts";
import { systemErrorCode } from "../../util/index.ts";
import type { SignedState } from "../signed-state.ts";
import {
  ChainGrowth,
  type ChainTail,
  compareTail,
  findChainLine,
  linesNeeded,
  mostLinesNeeded,
  removedHead,
  startOfCopy,
} from "../chain-growth.ts";
import { CHAIN } from "./conversation-folders.ts";
import { OWNER_FILE } from "./private-folder.ts";
import { type OpenedFile, openRecord, openToAppend } from "./safe-open.ts";

/** How much is read first. */
const FIRST_PIECE = 1 << 13;

/** Appends to the chain of a conversation that the caller has locked. */
export class ChainFile {
  readonly #id: ConversationId;
  readonly #folder: () => string;
  #growth: ChainGrowth | undefined;
  /** Open from a write on, until `rest`. */
  #opened: OpenedFile | undefined;
  /** It ends with a whole line. */
  #isWhole = false;
  #noted = "";

  /** `folder`: the conversation's, which may be renamed. */
  constructor(id: ConversationId, folder: () => string) {
    this.#id = id;
    this.#folder = folder;
  }

  /** Adds the end of the chain to the log of heads, if this process has extended it. Throws system errors. */
  noteHead(log: string, workspace: string | undefined): void {
    const end = this.#growth?.end;
    if (end === undefined || end.head === this.#noted) return;
    this.#noted = end.head;
    noteHead(log, { id: this.#id, workspace, ...end });
  }

  /** Adds missing links of the last turn, and links for the new entries. Throws system errors and `UnsafePathError`. */
  append(entries: readonly StreamEntry[], before: readonly StreamEntry[]): void {
    try {
      this.#growth ??= this.#open(before);
      const lines = this.#growth.add(entries);
      if (lines.length === 0) return;
      this.#opened ??= openToAppend(this.#file, RECORD_FILE);
      writeLines(this.#opened, lines.map(chainLineToText).join(""), this.#isWhole);
      this.#isWhole = true;
    } catch (error) {
      this.#growth = undefined; // Missing links are found the next time.
      this.#isWhole = false;
      this.rest();
      throw error;
    }
  }

  /** Closes the file until the next write. */
  rest(): void {
    if (this.#opened !== undefined) closeSync(this.#opened.fd);
    this.#opened = undefined;
  }

  get #file(): string {
    return path.join(this.#folder(), CHAIN);
  }

  #open(before: readonly StreamEntry[]): ChainGrowth {
    this.rest();
    this.#opened = findChain(this.#file, constants.O_RDWR | constants.O_APPEND);
    const tail = compareTail(readTail(this.#opened, linesNeeded(before)), before);
    const enough =
      tail.isUpToDate === true ? tail : readTail(this.#opened, mostLinesNeeded(before));
    const growth = new ChainGrowth(this.#id, enough, before);
    this.#isWhole = enough.isWhole;
    this.#noted = growth.storedHead;
    return growth;
  }
}

/** Starts the chain of a copy with the original's current head, if it has a chain. Throws like `append`. */
export function copyChain(
  original: { readonly id: ConversationId; readonly folder: string },
  copy: { readonly id: ConversationId; readonly folder: string },
): void {
  const last = lastLink(original.folder);
  if (last === undefined) return;
  const line = startOfCopy(copy.id, original.id, last);
  appendText(path.join(copy.folder, CHAIN), chainLineToText(line));
}

/** Notes that a conversation is about to be removed, if it has a chain. Throws like `append`. */
export function noteRemoved(
  log: string,
  { id, folder, workspace }: { id: ConversationId; folder: string; workspace: string | undefined },
): void {
  const last = lastLink(folder);
  if (last !== undefined) noteHead(log, { id, workspace, ...removedHead(last) });
}

function lastLink(folder: string) {
  const chain = findChain(path.join(folder, CHAIN), constants.O_RDONLY);
  try {
    return readTail(chain).lines.at(-1)?.link;
  } finally {
    if (chain !== undefined) closeSync(chain.fd);
  }
}

/** The end of a conversation's chain, now or when the conversation was removed. */
export interface HeadToNote extends Omit<OwnRun, "from"> {
  readonly id: ConversationId;
  readonly workspace: string | undefined;
  /** See `NotedHead`. */
  readonly folder?: string | undefined;
  /** Absent if nothing was added. */
  readonly from?: number;
  readonly isRemoved?: boolean;
  /** See `NotedHead`. */
  readonly turn?: SignedState | undefined;
}

/** Adds a line to the log of heads, which is private: it names other workspaces. Throws system errors. */
export function noteHead(log: string, { id, isRemoved = false, ...noted }: HeadToNote): void {
  const { workspace, folder, from, length, head, except, turn } = noted;
  const of = { conversation: id, workspace, folder };
  const line = { ...of, from, length, head, except, removed: isRemoved || undefined, turn };
  appendText(log, `${JSON.stringify(line)}\n`, OWNER_FILE);
}

/** Undefined if there is none. Throws system errors and `UnsafePathError`. */
function findChain(file: string, flags: number): OpenedFile | undefined {
  try {
    return openRecord(file, flags);
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

interface ReadTail extends ChainTail {
  /** The last byte ends a line. */
  readonly isWhole: boolean;
}

/** Only the end of a long chain: the last `count` lines. */
function readTail(chain: OpenedFile | undefined, count = 1): ReadTail {
  for (let piece = FIRST_PIECE; ; piece *= 4) {
    const text = chain === undefined ? "" : readEnd(chain, piece);
    const tail = parseTail(text, count);
    const isEnough = piece >= (chain?.size ?? 0) || tail.lines.length >= count;
    if (isEnough) return { ...tail, isWhole: text === "" || text.endsWith("\n") };
  }
}

/** The last `count` lines of a text that may begin within one. */
function parseTail(text: string, count: number): ChainTail {
  const lines: ChainLine[] = [];
  let isFollowed = false;
  for (const line of text.split("\n").toReversed()) {
    if (lines.length === count) break;
    const parsed = line === "" ? undefined : findChainLine(line);
    if (parsed !== undefined) lines.push(parsed);
    else if (line !== "" && lines.length === 0) isFollowed = true;
  }
  const isTorn = lines.length === 0 ? text !== "" && !text.endsWith("\n") : isFollowed;
  return { lines: lines.toReversed(), isTorn };
}

function readEnd({ fd, size }: OpenedFile, maxBytes: number): string {
  const bytes = Buffer.alloc(Math.min(size, maxBytes));
  const length = readSync(fd, bytes, 0, bytes.length, size - bytes.length);
  return bytes.toString("utf8", 0, length);
}

/** Not synced. */
function appendText(file: string, text: string, mode = RECORD_FILE): void {
  const opened = openToAppend(file, mode);
  try {
    writeLines(opened, text, false);
  } finally {
    closeSync(opened.fd);
  }
}

/** Starts a new line, no matter how the file ends. `isWhole`: it is known to end with a whole one. */
export function writeLines(opened: OpenedFile, text: string, isWhole: boolean): void {
  writeSync(opened.fd, isWhole || endsWhole(opened) ? text : `\n${text}`);
}

function endsWhole({ fd, size }: OpenedFile): boolean {
  const end = Buffer.alloc(1);
  return size === 0 || readSync(fd, end, 0, 1, size - 1) === 0 || end[0] === NEWLINE;
}

const NEWLINE = 0x0a;
const RECORD_FILE = 0o644;
