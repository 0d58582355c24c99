/**
 * Markdown on a terminal while it is being written by a model. Everything is written once, without
 * moving the cursor: words of paragraphs as they become certain, code line by line, tables at their
 * end. What is written depends on the text alone, not on the pieces it comes in.
 */
import type { Paint } from "../style.ts";
import { BlockReader } from "./block-reader.ts";

/** How Markdown is shown, and where it goes. */
export interface MarkdownStreamOptions {
  /** Where it paints nothing, marks such as stars stay visible. */
  readonly paint: Paint;
  /** Columns of a line. */
  readonly width: number;
  /** Whether links may be written as OSC 8; addresses are shown behind their texts otherwise. */
  readonly hyperlinks: boolean;
  /** Gets all that a piece of text made certain, at once. */
  readonly write: (text: string) => void;
}

/** Markdown that is rendered while it is being written. */
export interface MarkdownStream {
  /** Any piece of foreign text. It may wait inside while a language is loaded. */
  push(delta: string): void;
  /** Resolves when everything is written. Nothing may be pushed afterwards. */
  end(): Promise<void>;
}

/** A line whose beginning is undecided after so much of it is taken when it ends. */
const LONGEST_BEGINNING = 200;

/** Renders each piece once, and never moves the cursor back. */
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
  let carriageReturn = "";
  let loading: Promise<void> | undefined;

  const drain = () => {
    let start = 0;
    while (start < queued.length && loading === undefined) {
      const found = queued.indexOf("\n", start);
      const end = found === -1 ? queued.length : found + 1;
      loading = lines.feed(queued.slice(start, end))?.then(resume);
      // What fails while nobody waits is told by `end`.
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
      const text = carriageReturn + delta;
      carriageReturn = text.endsWith("\r") ? "\r" : "";
      const whole = carriageReturn === "" ? text : text.slice(0, -1);
      queued += whole.replaceAll(/\r\n?/g, "\n");
      if (loading === undefined) drain();
    },
    end: async () => {
      await settle();
      await lines.end();
      reader.end();
      flush();
    },
  };
}

/** Puts lines together, and hands on those early that are certain to be text. */
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
    isText = reader.takeText(line.slice(0, LONGEST_BEGINNING));
    if (!isText) return;
    reader.addText(line.slice(LONGEST_BEGINNING));
    line = "";
  };
  return {
    /** At most one line, with its end if that is known. */
    feed: (piece: string): Promise<void> | undefined => {
      const isWhole = piece.endsWith("\n");
      const text = isWhole ? piece.slice(0, -1) : piece;
      const isUndecided = !isText && line.length < LONGEST_BEGINNING;
      if (isText) reader.addText(text);
      else line += text;
      if (isWhole) return endLine();
      if (isUndecided) takeText();
      return undefined;
    },
    end: () => (isText || line !== "" ? endLine() : undefined),
  };
}
