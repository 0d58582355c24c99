/** The lines that are written: what stands before each of them, and where the last one is. */
import stringWidth from "fast-string-width";
import { neutralize } from "../neutralize.ts";
import type { Paint, StyleName } from "../style.ts";

/** What a container puts before its lines. */
export interface Margin {
  readonly first: string;
  readonly further: string;
  readonly width: number;
}

export interface Page {
  /** Columns that a line has for its text. */
  room(): number;
  open(margin: Margin): void;
  /** A container that nothing was written in is a line of its own. */
  close(): void;
  write(text: string): void;
  /** Ends the line, which may be empty. */
  endLine(): void;
  isAtLineStart(): boolean;
}

/** Lines are too long rather than a word wide, where margins take all the room. */
const MIN_ROOM = 12;

export function createPage(width: number, output: (text: string) => void): Page {
  const margins: { readonly margin: Margin; isUsed: boolean }[] = [];
  let isAtLineStart = true;
  const lineStart = () => {
    const parts = margins.map((entry) => {
      const part = entry.isUsed ? entry.margin.further : entry.margin.first;
      entry.isUsed = true;
      return part;
    });
    return parts.join("");
  };
  const endLine = () => {
    output(isAtLineStart ? `${lineStart().trimEnd()}\n` : "\n");
    isAtLineStart = true;
  };
  return {
    room: () =>
      Math.max(MIN_ROOM, width - margins.reduce((sum, { margin }) => sum + margin.width, 0)),
    open: (margin) => {
      margins.push({ margin, isUsed: false });
    },
    close: () => {
      if (margins.at(-1)?.isUsed === false) endLine();
      margins.pop();
    },
    write: (text) => {
      output(isAtLineStart ? lineStart() + text : text);
      isAtLineStart = false;
    },
    endLine,
    isAtLineStart: () => isAtLineStart,
  };
}

/** A margin with a mark on its first line and blanks below. */
export function markMargin(mark: string): Margin {
  const width = stringWidth(mark);
  return { first: mark, further: " ".repeat(width), width };
}

export interface Flow {
  add(pieces: readonly Piece[]): void;
  end(): void;
  /** The longest line, once there is one. */
  widest(): number;
}

export function createFlow(page: Page, paint: Paint): Flow {
  const breaker: LineBreaker = createLineBreaker(page.room());
  const addPiece = (piece: Piece) => {
    if (piece.type === "break") {
      breaker.endLine();
      page.endLine();
      return;
    }
    const { breaks, blanks } = breaker.place(piece);
    if (breaks) page.endLine();
    // Each word is painted for itself: a line's end can then stand anywhere.
    page.write(" ".repeat(blanks) + paintFragments(piece.fragments, paint));
  };
  return {
    add: (pieces) => {
      for (const piece of pieces) addPiece(piece);
    },
    end: () => {
      if (!page.isAtLineStart()) page.endLine();
    },
    widest: () => breaker.widest(),
  };
}

export function paintFragments(fragments: readonly Fragment[], paint: Paint): string {
  return fragments
    .map(({ text, look }) => {
      const painted = look.styles.reduceRight((inner, style) => paint(style, inner), text);
      return look.address === undefined ? painted : hyperlink(look.address, painted);
    })
    .join("");
}

/** OSC 8. The address comes from `findSafeAddress`. */
function hyperlink(address: string, text: string): string {
  return `\x1b]8;;${address}\x1b\\${text}\x1b]8;;\x1b\\`;
}

interface LineBreaker {
  /** What comes before the word: the end of the line, or blanks on it. */
  place(word: Word): { readonly breaks: boolean; readonly blanks: number };
  endLine(): void;
  /** The longest line so far. */
  widest(): number;
}

function createLineBreaker(room: number): LineBreaker {
  let column = 0;
  let widest = 0;
  return {
    place: ({ blanks, width }) => {
      const breaks = column > 0 && column + blanks + width > room;
      const shown = column === 0 || breaks ? 0 : blanks;
      column = (breaks ? 0 : column) + shown + width;
      widest = Math.max(widest, column);
      return { breaks, blanks: shown };
    },
    endLine: () => {
      column = 0;
    },
    widest: () => widest,
  };
}

/** All lines of some text at once. */
export function breakLines(pieces: readonly Piece[], room: number): Word[][] {
  const breaker = createLineBreaker(room);
  const lines: Word[][] = [[]];
  for (const piece of pieces) {
    if (piece.type === "break") {
      breaker.endLine();
      lines.push([]);
      continue;
    }
    const { breaks, blanks } = breaker.place(piece);
    if (breaks) lines.push([]);
    lines.at(-1)?.push({ ...piece, blanks });
  }
  return lines;
}

/** How a stretch of text looks. */
export interface Look {
  readonly styles: readonly StyleName[];
  /** A safe address, where the stretch is a link. */
  readonly address?: string;
  /** Blanks are kept as they are, as code needs them. */
  readonly keepsBlanks?: boolean;
}

interface Fragment {
  readonly text: string;
  readonly look: Look;
}

export interface Word {
  readonly type: "word";
  /** Blanks before it, unless it begins a line. */
  readonly blanks: number;
  readonly fragments: readonly Fragment[];
  readonly width: number;
}

export type Piece = Word | { readonly type: "break" };

export interface WordSplitter {
  /** Foreign text: made harmless here, and nowhere before. */
  add(text: string, look: Look): void;
  addBreak(): void;
  /** What was added since the last time; the last word is taken to be complete. */
  take(): Piece[];
}

export const UNSTYLED: Look = { styles: [] };

/** Made when it is first needed: that takes as long as half of Node's own start. */
let segmenter: Intl.Segmenter | undefined;
/** From the first wide character on, roughly: below it there is nothing to look at more closely. */
const MAYBE_WIDE = /[\u1100-\u{10ffff}]/u;
/** Never at the start of a line. */
const CLOSING_PUNCTUATION = /^[、。，．！？；：」』）】〉》〕｝ー…]/u;

export function createWordSplitter(): WordSplitter {
  let pieces: Piece[] = [];
  let fragments: Fragment[] = [];
  let blanks = 0;
  const endWord = () => {
    if (fragments.length === 0) return;
    const width = fragments.reduce((sum, { text }) => sum + stringWidth(text), 0);
    pieces.push({ type: "word", blanks, fragments, width });
    fragments = [];
    blanks = 0;
  };
  const addBlanks = (text: string, look: Look) => {
    endWord();
    blanks = look.keepsBlanks === true ? blanks + text.length : Math.max(blanks, 1);
  };
  const addSolid = (text: string, look: Look) => {
    for (const { part, mayBreakBefore } of splitWide(text)) {
      if (mayBreakBefore) endWord();
      fragments.push({ text: part, look });
    }
  };
  return {
    add: (text, look) => {
      for (const run of neutralize(text).match(/[ \t\n]+|[^ \t\n]+/g) ?? []) {
        if (/^[ \t\n]/.test(run)) addBlanks(run, look);
        else addSolid(run, look);
      }
    },
    addBreak: () => {
      endWord();
      blanks = 0;
      pieces.push({ type: "break" });
    },
    take: () => {
      endWord();
      const taken = pieces;
      pieces = [];
      return taken;
    },
  };
}

interface Part {
  readonly part: string;
  readonly mayBreakBefore: boolean;
}

/** Scripts without blanks may be broken at any wide character. */
function splitWide(text: string): Part[] {
  if (!MAYBE_WIDE.test(text)) return [{ part: text, mayBreakBefore: false }];
  const parts: Part[] = [];
  let narrow = "";
  let afterWide = false;
  const endNarrow = () => {
    if (narrow !== "") parts.push({ part: narrow, mayBreakBefore: afterWide });
    if (narrow !== "") afterWide = false;
    narrow = "";
  };
  for (const { segment } of (segmenter ??= new Intl.Segmenter()).segment(text)) {
    if (stringWidth(segment) < 2 && !CLOSING_PUNCTUATION.test(segment)) {
      narrow += segment;
      continue;
    }
    endNarrow();
    parts.push({ part: segment, mayBreakBefore: !CLOSING_PUNCTUATION.test(segment) });
    afterWide = true;
  }
  endNarrow();
  return parts;
}
