/** The next links of a conversation's chain of decisions, for any storage: see `record/conversation/chain.ts`. */
import {
  ChainBuilder,
  ChainedEntries,
  type ChainLine,
  type ChainLink,
  type ConversationId,
  hashLink,
  hasLinks,
  isLinkOf,
  lastTurnEntries,
  type OwnRun,
  parseChainLine,
  type StreamEntry,
} from "../record/conversation/index.ts";
import { messageOf } from "../util/index.ts";
import type { ChainProblem } from "./port.ts";
import { newSalt } from "./salt.ts";

/** The end of a chain, as it is stored. */
export interface ChainTail {
  /** See `linesNeeded`. */
  readonly lines: readonly ChainLine[];
  /** It is followed by something unreadable. */
  readonly isTorn: boolean;
  /** No link of the record is missing. */
  readonly isUpToDate?: boolean;
}

/** Extends the chain of a conversation that the caller has locked. */
export class ChainGrowth {
  readonly #builder: ChainBuilder;
  readonly #chained = new ChainedEntries();
  /** The digest of the last link that was stored. Empty without one. */
  readonly storedHead: string;
  /** The position of the first link added here for a new entry. */
  readonly #from: number;
  readonly #except: number[] = [];
  /** Written before anything else. */
  #first: readonly ChainLine[];

  /** `before`: what is on record, at least its last turn. Missing links are rebuilt, and marked as such. */
  constructor(id: ConversationId, tail: ChainTail, before: readonly StreamEntry[]) {
    const { lines, isTorn, isUpToDate = false } = tail;
    const earlier = this.#chained.pick(linkedPart(before));
    const last = lines.at(-1)?.link;
    const builder = new ChainBuilder(id, lines);
    this.#builder = builder;
    this.storedHead = builder.head;
    const known = isUpToDate
      ? earlier.length - 1
      : earlier.findLastIndex((entry) => hasLinkOf(lines, entry));
    const missing = earlier.slice(known + 1);
    const hasNone = last === undefined && missing.length > 0;
    this.#first = [
      ...(last === undefined ? [builder.start()] : []),
      ...(isTorn ? [builder.gap("torn")] : []),
      ...(hasNone ? [builder.gap("no_chain")] : []),
      ...missing.map((entry) => builder.event(entry, newSalt(), true)),
    ];
    this.#from = builder.length;
  }

  /** The end of the chain, and which links were added here. */
  get end(): OwnRun {
    const { head, length } = this.#builder;
    const except = this.#except;
    return { from: this.#from, length, head, ...(except.length > 0 && { except }) };
  }

  /** The lines to write for new entries of the record. `isOffered`: the entry is an answer given on another machine. */
  add(
    entries: readonly StreamEntry[],
    isOffered: (entry: StreamEntry) => boolean = () => false,
  ): readonly ChainLine[] {
    const added = this.#chained.pick(entries).map((entry) => {
      if (isOffered(entry)) this.#except.push(this.#builder.length);
      return this.#builder.event(entry, newSalt());
    });
    const lines = [...this.#first, ...added];
    this.#first = [];
    return lines;
  }
}

/** For lines that are about no entry, and the link before the turn. */
const MORE_LINES = 8;

/** How many of the last lines of a chain its next links need: those of the current turn. `before`: as in `ChainGrowth`. */
export function linesNeeded(before: readonly StreamEntry[]): number {
  return new ChainedEntries().pick(linkedPart(before)).length + MORE_LINES;
}

/** How many are needed at most: if links are missing, earlier lines show since when. */
export function mostLinesNeeded(before: readonly StreamEntry[]): number {
  return before.length + MORE_LINES;
}

/** Adds whether links are missing. Then `mostLinesNeeded` have to be read. */
export function compareTail<Tail extends ChainTail>(
  tail: Tail,
  before: readonly StreamEntry[],
): Tail {
  const last = new ChainedEntries().pick(linkedPart(before)).at(-1);
  return { ...tail, isUpToDate: last === undefined || hasLinkOf(tail.lines, last) };
}

/** The last turn, or all entries if it has no links. */
function linkedPart(before: readonly StreamEntry[]): readonly StreamEntry[] {
  const turn = lastTurnEntries(before);
  return hasLinks(turn) ? turn : before;
}

function hasLinkOf(lines: readonly ChainLine[], entry: StreamEntry): boolean {
  return lines.findLastIndex((line) => isLinkOf(line, entry.raw)) !== -1;
}

/** The start of a copy's chain. `last`: the current end of the original's. */
export function startOfCopy(
  copy: ConversationId,
  original: ConversationId,
  last: ChainLink,
): ChainLine {
  return new ChainBuilder(copy).start({ conversation: original, head: hashLink(last) });
}

/** The end of the chain of a conversation that is removed, for the log of heads. */
export function removedHead(last: ChainLink) {
  return { head: hashLink(last), length: last.seq + 1, isRemoved: true };
}

/** Undefined if it cannot be read. */
export function findChainLine(text: string): ChainLine | undefined {
  try {
    return parseChainLine(text);
  } catch {
    return undefined;
  }
}

/** `line`: its number, counted from 1. */
export function lineOrProblem(text: string, line: number): ChainLine | ChainProblem {
  try {
    return parseChainLine(text);
  } catch (error) {
    return { line, problem: messageOf(error) };
  }
}
