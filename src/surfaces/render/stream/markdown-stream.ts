/**
 * Renders Markdown on a terminal while the model is still writing it. Nothing is rewritten and the cursor
 * never moves back: words are written as soon as they are certain, code line by line, tables at their
 * end. The output depends on the text alone, not on the deltas it arrives in.
 */
import type { Paint } from "../style.ts";
import { LeafWriter } from "./leaf-writer.ts";
import {
  type Container,
  isCertainlyText,
  type LineStart,
  type OpenBlocks,
  readLineStart,
} from "./line-start.ts";
import { createPage, markMargin, type Page } from "./page.ts";

/** Options of a Markdown stream. */
export interface MarkdownStreamOptions {
  /** If it paints nothing, Markdown marks such as `**` stay visible. */
  readonly paint: Paint;
  readonly width: number;
  /** Whether code blocks are coloured. Defaults to true. */
  readonly colorsCode?: boolean;
  /** Writes links as OSC 8; otherwise the address follows the text. */
  readonly hyperlinks: boolean;
  /** Called once per delta, with everything that became certain. */
  readonly write: (text: string) => void;
}

/** Takes Markdown in pieces and writes it rendered. */
export interface MarkdownStream {
  /** Takes untrusted text. It may be queued while a language is loaded. */
  push(delta: string): void;
  /** Ends the line on the screen, for other output. The text continues on a new one. */
  breakLine(): void;
  /** Resolves when everything is written. Do not push afterwards. */
  end(): Promise<void>;
}

/** A line that is still ambiguous after this many characters is parsed when it ends. */
const MAX_UNDECIDED = 200;

/** Renders Markdown while it arrives. */
export function createMarkdownStream(options: MarkdownStreamOptions): MarkdownStream {
  let written = "";
  const reader = new BlockReader({
    ...options,
    write: (text) => {
      written += text;
    },
  });
  const flush = () => {
    if (written !== "") options.write(written);
    written = "";
  };
  const lines = createLineFeed(reader);
  let queued = "";
  const withNewlines = createNewlineReader();
  let loading: Promise<void> | undefined;

  const drain = () => {
    let start = 0;
    while (start < queued.length && loading === undefined) {
      const found = queued.indexOf("\n", start);
      const end = found === -1 ? queued.length : found + 1;
      loading = lines.feed(queued.slice(start, end))?.then(resume);
      // `end` reports the failure.
      loading?.catch(() => undefined);
      start = end;
    }
    queued = queued.slice(start);
    flush();
  };
  const resume = () => {
    const resumed = loading;
    loading = undefined;
    try {
      drain();
    } catch (error) {
      loading = resumed;
      throw error;
    }
  };
  const settle = async (): Promise<void> => {
    if (loading === undefined) return;
    await loading;
    await settle();
  };
  return {
    push: (delta) => {
      queued += withNewlines(delta);
      if (loading === undefined) drain();
    },
    breakLine: () => {
      reader.breakLine();
      flush();
    },
    end: async () => {
      await settle();
      await lines.end();
      reader.end();
      flush();
    },
  };
}

/** Normalizes line breaks to newlines. A carriage return at the end of a piece waits for the next one. */
function createNewlineReader(): (piece: string) => string {
  let carriageReturn = "";
  return (piece) => {
    const text = carriageReturn + piece;
    carriageReturn = text.endsWith("\r") ? "\r" : "";
    const whole = carriageReturn === "" ? text : text.slice(0, -1);
    return whole.replaceAll(/\r\n?/g, "\n");
  };
}

/** Assembles lines, and passes on early those that are certain to be text. */
function createLineFeed(reader: BlockReader) {
  let line = "";
  let isText = false;
  const endLine = () => {
    const whole = line;
    line = "";
    if (!isText) return reader.line(whole);
    isText = false;
    reader.endText();
    return undefined;
  };
  const takeText = () => {
    isText = reader.takeText(line.slice(0, MAX_UNDECIDED));
    if (!isText) return;
    reader.addText(line.slice(MAX_UNDECIDED));
    line = "";
  };
  return {
    /** Takes at most one line, with its line break if it has arrived. */
    feed: (piece: string): Promise<void> | undefined => {
      const isWhole = piece.endsWith("\n");
      const text = isWhole ? piece.slice(0, -1) : piece;
      const isUndecided = !isText && line.length < MAX_UNDECIDED;
      if (isText) reader.addText(text);
      else line += text;
      if (isWhole) return endLine();
      if (isUndecided) takeText();
      return undefined;
    },
    end: () => (isText || line !== "" ? endLine() : undefined),
  };
}

interface BlockReaderOptions {
  readonly paint: Paint;
  readonly width: number;
  readonly hyperlinks: boolean;
  readonly colorsCode?: boolean;
  readonly write: (text: string) => void;
}

/** A container, or the document itself. */
interface Level {
  readonly container?: Container;
  isEmpty: boolean;
  /** The list of its last block. */
  list?: { readonly marker: string; readonly next: number } | undefined;
}

class BlockReader {
  readonly #paint: Paint;
  readonly #page: Page;
  readonly #leaf: LeafWriter;
  readonly #document: Level = { isEmpty: true };
  readonly #levels: (Level & { readonly container: Container })[] = [];
  #followsBlank = false;

  constructor({ paint, width, hyperlinks, colorsCode = true, write }: BlockReaderOptions) {
    this.#paint = paint;
    this.#page = createPage(width, write);
    const startBlock = () => {
      this.#startBlock(false);
    };
    this.#leaf = new LeafWriter({ page: this.#page, paint, hyperlinks, colorsCode, startBlock });
  }

  /** Takes a whole line without its line break. Await the promise before the next line. */
  line(line: string): Promise<void> | undefined {
    const start = readLineStart(line, this.#open());
    this.#enter(start);
    const loading = this.#leaf.apply(start.leaf, start.matched < this.#levels.length);
    this.#followsBlank = start.leaf.type === "blank" && start.opened.length === 0;
    return loading;
  }

  /**
   * Takes the beginning of a line if it is paragraph text regardless of how it continues; pass the rest to `addText`
   * and `endText`. Otherwise returns false and does nothing.
   */
  takeText(beginning: string): boolean {
    const start = readLineStart(beginning, this.#open());
    if (start.leaf.type !== "text" || !isCertainlyText(start.leaf.rest)) return false;
    if (this.#leaf.takesWholeLines() && this.#isContinuation(start)) return false;
    this.#enter(start);
    this.#leaf.beginText(start.leaf.rest);
    this.#followsBlank = false;
    return true;
  }

  addText(text: string): void {
    this.#leaf.addText(text);
  }

  endText(): void {
    this.#leaf.endText();
  }

  breakLine(): void {
    if (!this.#page.isAtLineStart()) this.#page.endLine();
  }

  end(): void {
    this.#closeTo(0);
  }

  #open(): OpenBlocks {
    return { containers: this.#levels, leaf: this.#leaf.open() };
  }

  #isContinuation({ matched, opened }: LineStart): boolean {
    return matched === this.#levels.length && opened.length === 0;
  }

  /** Closes the containers that the line does not continue, and opens those it starts. */
  #enter(start: LineStart): void {
    const { matched, opened, task, leaf } = start;
    const isLazy = leaf.type === "text" && opened.length === 0 && this.#leaf.open() === "paragraph";
    if (isLazy || this.#isContinuation(start)) return;
    this.#closeTo(matched);
    for (const [index, container] of opened.entries()) {
      this.#openContainer(container, index === opened.length - 1 ? task : undefined);
    }
  }

  #closeTo(count: number): void {
    this.#leaf.close();
    while (this.#levels.length > count) {
      this.#levels.pop();
      this.#page.close();
    }
  }

  #openContainer(container: Container, task: string | undefined): void {
    if (container.type === "quote") {
      this.#startBlock(false);
      const bar = `${this.#paint("dim", "│")} `;
      this.#page.open({ first: bar, further: bar, width: 2 });
    } else {
      const parent = this.#level();
      const list = parent.list?.marker === container.marker ? parent.list : undefined;
      const number = list?.next ?? container.number ?? 0;
      this.#startBlock(list !== undefined);
      parent.list = { marker: container.marker, next: number + 1 };
      const isOrdered = container.number !== undefined;
      const marks = [isOrdered ? `${number}${container.marker}` : "•", task ?? ""];
      // A checkbox replaces the bullet.
      const shown = isOrdered || task === undefined ? marks.join(" ").trim() : task;
      this.#page.open(markMargin(`${shown} `));
    }
    this.#levels.push({ container, isEmpty: true });
  }

  /** A blank line separates blocks; in lists only where the author left one. */
  #startBlock(isNextItem: boolean): void {
    const level = this.#level();
    const isApart = this.#followsBlank || (level.container?.type !== "item" && !isNextItem);
    if (!level.isEmpty && isApart) this.#page.endLine();
    level.isEmpty = false;
    if (!isNextItem) level.list = undefined;
  }

  #level(): Level {
    return this.#levels.at(-1) ?? this.#document;
  }
}
