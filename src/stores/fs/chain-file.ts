/**
 * The chain of a conversation's decisions, in a file beside its record: one link per line (see
 * `record/conversation/chain.ts`). It is written after the record, without a sync: links lost in a crash are rebuilt
 * from the record, and marked.
 */
import { closeSync, fstatSync, readSync, writeSync } from "node:fs";
import path from "node:path";
import {
  type ChainLine,
  chainLineToText,
  type ConversationId,
  hashLink,
  type OwnRun,
  type StreamEntry,
} from "../../record/conversation/index.ts";
import { systemErrorCode } from "../../util/index.ts";
import {
  ChainGrowth,
  type ChainTail,
  findChainLine,
  removedHead,
  startOfCopy,
} from "../chain-growth.ts";
import { CHAIN } from "./conversation-folders.ts";
import { openRecord, openToAppend } from "./safe-open.ts";

/** Enough for the links of most turns. */
const TAIL_BYTES = 256 * 1024;

/** Appends to the chain of a conversation that the caller has locked. */
export class ChainFile {
  readonly #id: ConversationId;
  readonly #folder: () => string;
  #growth: ChainGrowth | undefined;
  /** The file, if this process wrote its last line. */
  #written: string | undefined;
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
      const text = lines.map(chainLineToText).join("");
      const file = this.#file;
      appendText(file, text, { isWhole: this.#written === file });
      this.#written = file;
    } catch (error) {
      this.#growth = undefined; // Missing links are found the next time.
      this.#written = undefined;
      throw error;
    }
  }

  get #file(): string {
    return path.join(this.#folder(), CHAIN);
  }

  #open(before: readonly StreamEntry[]): ChainGrowth {
    const tail = readTail(this.#file, before.length);
    const last = tail.lines.at(-1)?.link;
    this.#noted = last === undefined ? "" : hashLink(last);
    return new ChainGrowth(this.#id, tail, before);
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
  return readTail(path.join(folder, CHAIN)).lines.at(-1)?.link;
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
}

/** Adds a line to the log of heads. Throws system errors. */
export function noteHead(log: string, { id, isRemoved = false, ...noted }: HeadToNote): void {
  const { workspace, folder, from, length, head, except } = noted;
  const of = { conversation: id, workspace, folder };
  const line = { ...of, from, length, head, except, removed: isRemoved || undefined };
  appendText(log, `${JSON.stringify(line)}\n`, { mode: OWNER_FILE });
}

/** Only the end of a long chain: `count` lines, or more. */
function readTail(file: string, count = 1): ChainTail {
  const end = findEnd(file, TAIL_BYTES);
  if (end === undefined) return { lines: [], isTorn: false };
  const tail = parseTail(end.text);
  return end.isAll || tail.lines.length >= count
    ? tail
    : parseTail(findEnd(file, Number.POSITIVE_INFINITY)?.text ?? "");
}

function parseTail(text: string): ChainTail {
  const lines: ChainLine[] = [];
  let isTorn = !text.endsWith("\n") && text !== "";
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const parsed = findChainLine(line);
    // A line cut by the start of the tail is not torn.
    if (parsed === undefined && lines.length > 0) isTorn = true;
    if (parsed !== undefined) {
      lines.push(parsed);
      isTorn = false;
    }
  }
  return { lines, isTorn };
}

function findEnd(
  file: string,
  maxBytes: number,
): { readonly text: string; readonly isAll: boolean } | undefined {
  let descriptor: number;
  try {
    descriptor = openRecord(file);
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return undefined;
    throw error;
  }
  try {
    const { size } = fstatSync(descriptor);
    const bytes = Buffer.alloc(Math.min(size, maxBytes));
    const length = readSync(descriptor, bytes, 0, bytes.length, size - bytes.length);
    return { text: bytes.toString("utf8", 0, length), isAll: bytes.length === size };
  } finally {
    closeSync(descriptor);
  }
}

interface AppendTextOptions {
  readonly mode?: number;
  /** This process has written to the file before, so it ends with a whole line. */
  readonly isWhole?: boolean;
}

/** Starts a new line, no matter how the file ends. Not synced. */
function appendText(
  file: string,
  text: string,
  { mode = 0o644, isWhole = false }: AppendTextOptions = {},
): void {
  const descriptor = openToAppend(file, { mode, isFolderChecked: isWhole });
  try {
    writeSync(descriptor, isWhole || endsWhole(descriptor) ? text : `\n${text}`);
  } finally {
    closeSync(descriptor);
  }
}

function endsWhole(descriptor: number): boolean {
  const { size } = fstatSync(descriptor);
  const end = Buffer.alloc(1);
  return size === 0 || readSync(descriptor, end, 0, 1, size - 1) === 0 || end[0] === NEWLINE;
}

const NEWLINE = 0x0a;
/** Private, because the log names other workspaces. */
const OWNER_FILE = 0o600;
