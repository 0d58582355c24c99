/**
 * Tells the decisions that were made on this machine from those that came with a record. A clone, a copy or a database may bring
 * a record with any decisions in it, and a chain that fits them. It cannot bring the log of heads, which says which links of a
 * chain were added here. Their digests cover everything before them, so nothing can be put in their place later.
 */
import type { JsonObject } from "../../util/index.ts";
import { type ChainLine, hashLink, isLinkOf } from "./chain.ts";

/** Links that a process on this machine has added to a chain, one after the other. */
export interface OwnRun {
  /** The position of the first one, counted from 0. */
  readonly from: number;
  /** The length of the chain after the last one. */
  readonly length: number;
  /** The digest of the last one. */
  readonly head: string;
  /** Positions in between of answers that were given on other machines, and only recorded here. */
  readonly except?: readonly number[];
}

/** The links of a conversation's chain, and which of them this machine has made. */
export class OwnLinks {
  readonly #lines = new Map<string, ChainLine>();
  /** The digests of the links made here that stand for no answer yet. */
  readonly #unused = new Set<string>();

  /** `lines`: the chain as it is stored, which anyone may have written. `runs`: from the log of heads. */
  constructor(lines: Iterable<ChainLine>, runs: readonly OwnRun[]) {
    for (const line of lines) {
      const digest = unlessTooDeep(() => hashLink(line.link));
      if (digest !== undefined) this.#lines.set(digest, line);
    }
    for (const run of runs) this.#add(run);
  }

  /**
   * Whether the answer was recorded here, and to exactly this request. Each link counts for one answer: copies of it that
   * someone has put into the record do not count. Takes both events as they are on record.
   */
  take(request: JsonObject, response: JsonObject): boolean {
    for (const digest of this.#unused) {
      const line = this.#lines.get(digest);
      if (line === undefined || !isOf(line, response) || !this.#isAfter(line, request)) continue;
      this.#unused.delete(digest);
      return true;
    }
    return false;
  }

  /** From the end, because only the head is known for certain. */
  #add({ from, length, head, except = [] }: OwnRun): void {
    const others = new Set(except);
    let digest = head;
    for (let seq = length - 1; seq >= from; seq -= 1) {
      const link = this.#lines.get(digest)?.link;
      if (link?.seq !== seq) return;
      if (!others.has(seq)) this.#unused.add(digest);
      digest = link.prev;
    }
  }

  /** A request that got its link after the answer is not the one that was answered. */
  #isAfter({ link }: ChainLine, request: JsonObject): boolean {
    let before = this.#lines.get(link.prev);
    while (before !== undefined && !isOf(before, request)) {
      before = this.#lines.get(before.link.prev);
    }
    return before !== undefined;
  }
}

function isOf(line: ChainLine, raw: JsonObject): boolean {
  return unlessTooDeep(() => isLinkOf(line, raw)) === true;
}

/** Undefined for JSON that is nested too deeply to be hashed. jp writes none. */
function unlessTooDeep<Value>(hash: () => Value): Value | undefined {
  try {
    return hash();
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
