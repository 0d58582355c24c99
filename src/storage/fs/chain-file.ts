/**
 * The chain of a conversation's decisions, in a file beside its record: one link per line (see `conversation/chain.ts`). It is
 * written after the record, without a sync of its own: what a crash takes from it is made again from the record, and marked.
 */
import { closeSync, fstatSync, readSync, writeSync } from "node:fs";
import path from "node:path";
import {
  ChainBuilder,
  ChainedEntries,
  type ChainLine,
  chainLineToText,
  commitTo,
  type ConversationId,
  hashLink,
  parseChainLine,
  type StreamEntry,
} from "../../conversation/index.ts";
import { systemErrorCode } from "../../util/index.ts";
import { CHAIN } from "./conversation-folders.ts";
import { openRecord, openToAppend } from "./safe-open.ts";

/** More than the links of any turn that a process can have left half-written. */
const TAIL_BYTES = 256 * 1024;

/** Appends to the chain of a conversation that its caller has locked. */
export class ChainFile {
  readonly #id: ConversationId;
  readonly #folder: () => string;
  #opened: OpenedChain | undefined;
  /** The file that ends with a line which this process has written. */
  #written: string | undefined;
  #noted = "";

  /** `folder`: of the conversation, which may be renamed. */
  constructor(id: ConversationId, folder: () => string) {
    this.#id = id;
    this.#folder = folder;
  }

  /** Writes to the log of heads what the chain has grown to, if this process has added to it. Throws system errors. */
  noteHead(log: string, workspace: string | undefined): void {
    const builder = this.#opened?.builder;
    if (builder === undefined || builder.head === this.#noted) return;
    this.#noted = builder.head;
    appendText(log, headLine(this.#id, workspace, builder), { mode: OWNER_FILE });
  }

  /**
   * Adds what is missing of the turn that the record ends with, and what was just added to it. Throws system errors and
   * `UnsafePathError`.
   */
  append(entries: readonly StreamEntry[], before: readonly StreamEntry[]): void {
    try {
      const opened = this.#opened ?? this.#open(before);
      const added = opened.chained
        .pick(entries)
        .map((entry) => opened.builder.event(entry, newSalt()));
      const lines = [...opened.first, ...added];
      this.#opened = { ...opened, first: [] };
      if (lines.length === 0) return;
      const text = lines.map(chainLineToText).join("");
      const file = this.#file;
      appendText(file, text, { isWhole: this.#written === file });
      this.#written = file;
    } catch (error) {
      this.#opened = undefined; // What is missing is found the next time.
      this.#written = undefined;
      throw error;
    }
  }

  get #file(): string {
    return path.join(this.#folder(), CHAIN);
  }

  #open(before: readonly StreamEntry[]): OpenedChain {
    const chained = new ChainedEntries();
    const earlier = chained.pick(before);
    const { lines, isTorn } = readTail(this.#file);
    const last = lines.at(-1)?.link;
    const builder = new ChainBuilder(this.#id, last);
    this.#noted = builder.head;
    const known = earlier.findLastIndex((entry) => lines.some((line) => isOf(line, entry)));
    const missing = earlier.slice(known + 1);
    const hasNone = last === undefined && missing.length > 0;
    const first = [
      ...(last === undefined ? [builder.start()] : []),
      ...(isTorn ? [builder.gap("torn")] : []),
      ...(hasNone ? [builder.gap("no_chain")] : []),
      ...missing.map((entry) => builder.event(entry, newSalt(), true)),
    ];
    return { builder, chained, first };
  }
}

/** The end of a chain. */
interface ChainHead {
  readonly head: string;
  readonly length: number;
}

/** Starts the chain of a copy with the head that the original has now, if it has a chain. Throws like `append`. */
export function copyChain(
  original: { readonly id: ConversationId; readonly folder: string },
  copy: { readonly id: ConversationId; readonly folder: string },
): void {
  const { lines } = readTail(path.join(original.folder, CHAIN));
  const last = lines.at(-1);
  if (last === undefined) return;
  const origin = { conversation: original.id, head: hashLink(last.link) };
  const line = new ChainBuilder(copy.id).start(origin);
  appendText(path.join(copy.folder, CHAIN), chainLineToText(line));
}

/** Notes that a conversation is about to be removed, if it has a chain. Throws like `append`. */
export function noteRemoved(
  log: string,
  { id, folder, workspace }: { id: ConversationId; folder: string; workspace: string | undefined },
): void {
  const { lines } = readTail(path.join(folder, CHAIN));
  const last = lines.at(-1)?.link;
  if (last === undefined) return;
  const head = { head: hashLink(last), length: last.seq + 1, removed: true };
  appendText(log, headLine(id, workspace, head), { mode: OWNER_FILE });
}

function headLine(
  conversation: ConversationId,
  workspace: string | undefined,
  { head, length, removed }: ChainHead & { readonly removed?: boolean },
): string {
  const of = { conversation, ...(workspace !== undefined && { workspace }) };
  return `${JSON.stringify({ ...of, length, head, ...(removed === true && { removed }) })}\n`;
}

interface OpenedChain {
  readonly builder: ChainBuilder;
  readonly chained: ChainedEntries;
  /** To be written before anything else. */
  readonly first: readonly ChainLine[];
}

/** 122 bits that no one can guess. */
function newSalt(): string {
  return crypto.randomUUID();
}

function isOf({ link: { json }, salt }: ChainLine, { raw }: StreamEntry): boolean {
  const isLike = json["type"] === raw["type"] && json["at"] === raw["timestamp"];
  return isLike && salt !== undefined && json["event"] === commitTo(raw, salt);
}

interface Tail {
  readonly lines: readonly ChainLine[];
  /** Something after them cannot be read. */
  readonly isTorn: boolean;
}

/** Only the end of a long chain. */
function readTail(file: string): Tail {
  const text = findEnd(file);
  if (text === undefined) return { lines: [], isTorn: false };
  const lines: ChainLine[] = [];
  let isTorn = !text.endsWith("\n") && text !== "";
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const parsed = findLine(line);
    // A line that was cut by the start of the tail is not torn.
    if (parsed === undefined && lines.length > 0) isTorn = true;
    if (parsed !== undefined) {
      lines.push(parsed);
      isTorn = false;
    }
  }
  return { lines, isTorn };
}

function findLine(text: string): ChainLine | undefined {
  try {
    return parseChainLine(text);
  } catch {
    return undefined;
  }
}

function findEnd(file: string): string | undefined {
  let descriptor: number;
  try {
    descriptor = openRecord(file);
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return undefined;
    throw error;
  }
  try {
    const { size } = fstatSync(descriptor);
    const bytes = Buffer.alloc(Math.min(size, TAIL_BYTES));
    const length = readSync(descriptor, bytes, 0, bytes.length, size - bytes.length);
    return bytes.toString("utf8", 0, length);
  } finally {
    closeSync(descriptor);
  }
}

interface AppendTextOptions {
  readonly mode?: number;
  /** This process has written to the file before, so that it ends with a whole line. */
  readonly isWhole?: boolean;
}

/** On a line of its own, whatever the file ends with. Not synced. */
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
/** The log names other workspaces. */
const OWNER_FILE = 0o600;
