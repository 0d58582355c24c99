/** The next links of a conversation's chain of decisions, wherever they are written: see `conversation/chain.ts`. */
import {
  ChainBuilder,
  ChainedEntries,
  type ChainLine,
  commitTo,
  type ConversationId,
  parseChainLine,
  type StreamEntry,
} from "../conversation/index.ts";

/** The end of a chain, as it is stored. */
export interface ChainTail {
  readonly lines: readonly ChainLine[];
  /** Something after them cannot be read. */
  readonly isTorn: boolean;
}

/** Follows the chain of a conversation that its caller has locked. */
export class ChainGrowth {
  readonly #builder: ChainBuilder;
  readonly #chained = new ChainedEntries();
  /** To be written before anything else. */
  #first: readonly ChainLine[];

  /** `before`: the turn that the record ends with. What is missing of it is made again, and marked. */
  constructor(id: ConversationId, { lines, isTorn }: ChainTail, before: readonly StreamEntry[]) {
    const earlier = this.#chained.pick(before);
    const last = lines.at(-1)?.link;
    const builder = new ChainBuilder(id, last);
    this.#builder = builder;
    const known = earlier.findLastIndex((entry) => lines.some((line) => isOf(line, entry)));
    const missing = earlier.slice(known + 1);
    const hasNone = last === undefined && missing.length > 0;
    this.#first = [
      ...(last === undefined ? [builder.start()] : []),
      ...(isTorn ? [builder.gap("torn")] : []),
      ...(hasNone ? [builder.gap("no_chain")] : []),
      ...missing.map((entry) => builder.event(entry, newSalt(), true)),
    ];
  }

  /** What the chain has grown to. */
  get end(): ChainHead {
    return { head: this.#builder.head, length: this.#builder.length };
  }

  /** The lines to write for entries that are added to the record. */
  add(entries: readonly StreamEntry[]): readonly ChainLine[] {
    const added = this.#chained.pick(entries).map((entry) => this.#builder.event(entry, newSalt()));
    const lines = [...this.#first, ...added];
    this.#first = [];
    return lines;
  }
}

/** The end of a chain. */
export interface ChainHead {
  readonly head: string;
  readonly length: number;
}

/** Undefined if it cannot be read. */
export function findChainLine(text: string): ChainLine | undefined {
  try {
    return parseChainLine(text);
  } catch {
    return undefined;
  }
}

/** 122 bits that no one can guess. */
function newSalt(): string {
  return crypto.randomUUID();
}

function isOf({ link: { json }, salt }: ChainLine, { raw }: StreamEntry): boolean {
  const isLike = json["type"] === raw["type"] && json["at"] === raw["timestamp"];
  return isLike && salt !== undefined && json["event"] === commitTo(raw, salt);
}
