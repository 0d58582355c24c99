/** A program's output within limits: as a whole (`CappedOutput`) or line by line (`LineReader`). */
import { truncationNotice } from "./utf8.ts";

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const MAX_TAIL_LINES = 64;
/** Many more than `MAX_TAIL_LINES`, because blank ones count. */
const MAX_LINES_PER_CHUNK = 256;
const MAX_TAIL_LINE_LENGTH = 1000;

/** Keeps the start of an output, and counts all of its bytes. */
export class CappedOutput {
  readonly #maxBytes: number;
  #bytes: Buffer = Buffer.alloc(0);
  #length = 0;
  #total = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get isTruncated(): boolean {
    return this.#total > this.#length;
  }

  /** Copies into one growing buffer: a list of single-byte chunks would take a hundred times the memory. */
  add(chunk: Buffer): void {
    this.#total += chunk.length;
    const kept = chunk.subarray(0, this.#maxBytes - this.#length);
    const needed = this.#length + kept.length;
    if (needed > this.#bytes.length) {
      const size = Math.min(this.#maxBytes, Math.max(needed, this.#bytes.length * 2));
      const larger = Buffer.alloc(size);
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    kept.copy(this.#bytes, this.#length);
    this.#length = needed;
  }

  /** Without a notice. Invalid UTF-8 is replaced; a character cut in two by the limit is left out. */
  get text(): string {
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    return decoder.decode(this.#bytes.subarray(0, this.#length), { stream: this.isTruncated });
  }

  /** The text, with a notice at the end if it is truncated. */
  toText(): string {
    if (!this.isTruncated) return this.text;
    return this.text + truncationNotice(this.#total - this.#length, this.#total);
  }
}

export interface LineReaderOptions {
  readonly maxBytes: number;
  readonly onLine: (line: string) => void;
  /** Called for every chunk of an overlong line. By default, the rest of such a line is dropped. */
  readonly onTooLong?: () => void;
  /** Whether a lone carriage return also ends a line. */
  readonly splitAtReturn?: boolean;
  /** Whether it reports only the last lines of a chunk, for a person who cannot read more. */
  readonly isForPerson?: boolean;
}

/** Reports lines as soon as they are complete, from bytes that arrive in chunks. */
export class LineReader {
  readonly #options: LineReaderOptions;
  #line: CappedOutput;

  constructor(options: LineReaderOptions) {
    this.#options = options;
    this.#line = new CappedOutput(options.maxBytes);
  }

  add(given: Buffer): void {
    const chunk = this.#withoutSkipped(given);
    let start = 0;
    for (const end of this.#options.splitAtReturn === true ? lineEnds(chunk) : lineFeeds(chunk)) {
      this.#extend(chunk.subarray(start, end));
      this.end();
      start = end + 1;
    }
    this.#extend(chunk.subarray(start));
  }

  #withoutSkipped(chunk: Buffer): Buffer {
    const start = this.#options.isForPerson === true ? startOfLastLines(chunk) : 0;
    if (start === 0) return chunk;
    this.#line = new CappedOutput(this.#options.maxBytes);
    return chunk.subarray(start);
  }

  /** The line so far. */
  get unfinished(): string {
    return this.#line.text;
  }

  /** Reports the line so far as if it were complete. */
  end(): void {
    const line = this.#line.text.replace(/\r$/, "");
    this.#line = new CappedOutput(this.#options.maxBytes);
    this.#options.onLine(line);
  }

  #extend(bytes: Buffer): void {
    this.#line.add(bytes);
    if (this.#line.isTruncated) this.#options.onTooLong?.();
  }
}

/**
 * Reads lines for a person: skips blank ones and truncates long ones. A carriage return also ends a line, because
 * programs use it to draw progress.
 */
export function readTextLines(onLine: (line: string) => void, maxLength: number): LineReader {
  return new LineReader({
    maxBytes: (maxLength + 1) * 4, // No character takes more than four bytes.
    splitAtReturn: true,
    isForPerson: true,
    onLine: (line) => {
      const text = cutLine(line, maxLength);
      if (text !== "") onLine(text);
    },
  });
}

/** The last lines of an output that nothing else reads. */
export class LineTail {
  readonly #lines: string[] = [];
  readonly #reader = readTextLines((line) => this.#push(line), MAX_TAIL_LINE_LENGTH);

  add(chunk: Buffer): void {
    this.#reader.add(chunk);
  }

  /** Adds a line from another output. */
  addLine(line: string): void {
    const text = cutLine(line, MAX_TAIL_LINE_LENGTH);
    if (text !== "") this.#push(text);
  }

  /** Without blank lines. The last one may be incomplete. */
  get lines(): readonly string[] {
    const unfinished = cutLine(this.#reader.unfinished, MAX_TAIL_LINE_LENGTH);
    const lines = unfinished === "" ? this.#lines : [...this.#lines, unfinished];
    return lines.slice(-MAX_TAIL_LINES);
  }

  #push(line: string): void {
    this.#lines.push(line);
    if (this.#lines.length > MAX_TAIL_LINES) this.#lines.shift();
  }
}

/**
 * The positions of carriage returns and line feeds. Searches for each separately, because `indexOf` skips a long line
 * in one go.
 */
export function* lineEnds(chunk: Uint8Array): Generator<number, void, undefined> {
  let feed = chunk.indexOf(LINE_FEED);
  let carriageReturn = chunk.indexOf(CARRIAGE_RETURN);
  while (feed !== -1 || carriageReturn !== -1) {
    const isFeed = carriageReturn === -1 || (feed !== -1 && feed < carriageReturn);
    yield isFeed ? feed : carriageReturn;
    if (isFeed) feed = chunk.indexOf(LINE_FEED, feed + 1);
    else carriageReturn = chunk.indexOf(CARRIAGE_RETURN, carriageReturn + 1);
  }
}

/** Found from the end. */
function startOfLastLines(chunk: Uint8Array): number {
  let [end, feed, carriageReturn] = [-1, Number.NaN, Number.NaN];
  for (let left = MAX_LINES_PER_CHUNK + 1; left > 0; left -= 1) {
    const before = end === -1 ? chunk.length : end;
    if (before === 0) return 0;
    // Each is searched for again only once it has been passed.
    if (!(feed < before)) feed = chunk.lastIndexOf(LINE_FEED, before - 1);
    if (!(carriageReturn < before)) {
      carriageReturn = chunk.lastIndexOf(CARRIAGE_RETURN, before - 1);
    }
    end = Math.max(feed, carriageReturn);
    if (end === -1) return 0;
  }
  return end + 1;
}

function* lineFeeds(chunk: Uint8Array): Generator<number, void, undefined> {
  let feed = chunk.indexOf(LINE_FEED);
  for (; feed !== -1; feed = chunk.indexOf(LINE_FEED, feed + 1)) yield feed;
}

function cutLine(line: string, maxLength: number): string {
  const text = line.trimEnd();
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
}
