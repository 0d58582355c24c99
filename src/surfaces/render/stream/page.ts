/** Lays out text: splits it into words, wraps them, and writes the margins of containers. */
import { graphemesOf, neutralize } from "../../../util/index.ts";
import type { Paint, StyleName } from "../style.ts";
import { textWidth } from "../wrap.ts";

/** The text before a container's lines. */
export interface Margin {
  readonly first: string;
  readonly further: string;
  readonly width: number;
}

export interface Page {
  /** Columns left for text. */
  room(): number;
  open(margin: Margin): void;
  /** An empty container gets its own line. */
  close(): void;
  write(text: string): void;
  /** Ends the line, even an empty one. */
  endLine(): void;
  isAtLineStart(): boolean;
}

/** If margins leave less, lines overflow rather than shrink to one word. */
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

/** A mark on the first line, spaces on the others. */
export function markMargin(mark: string): Margin {
  const width = textWidth(mark);
  return { first: mark, further: " ".repeat(width), width };
}

export interface Flow {
  add(pieces: readonly Piece[]): void;
  end(): void;
  /** Width of the longest line. */
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
    if (page.isAtLineStart()) breaker.endLine(); // Other output may have ended the line.
    const { breaks, blanks } = breaker.place(piece);
    if (breaks) page.endLine();
    // Painting word by word allows a line break anywhere.
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

/** OSC 8. The address must come from `findSafeAddress`. */
function hyperlink(address: string, text: string): string {
  return `\x1b]8;;${address}\x1b\\${text}\x1b]8;;\x1b\\`;
}

interface LineBreaker {
  /** Decides whether a line break or spaces go before the word. */
  place(word: Word): { readonly breaks: boolean; readonly blanks: number };
  endLine(): void;
  /** Width of the longest line so far. */
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

/** Wraps a complete text. */
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

export interface Look {
  readonly styles: readonly StyleName[];
  /** Makes it a link. Must be safe. */
  readonly address?: string;
  /** Keeps all spaces, as in code. */
  readonly keepsBlanks?: boolean;
}

interface Fragment {
  readonly text: string;
  readonly look: Look;
}

export interface Word {
  readonly type: "word";
  /** Spaces before it, unless it starts a line. */
  readonly blanks: number;
  readonly fragments: readonly Fragment[];
  readonly width: number;
}

export type Piece = Word | { readonly type: "break" };

export interface WordSplitter {
  /** Takes untrusted text and neutralizes it. */
  add(text: string, look: Look): void;
  addBreak(): void;
  /** Returns what was added since the last call. Treats the last word as complete. */
  take(): Piece[];
}

export const UNSTYLED: Look = { styles: [] };

/** A fast check: no character below this range is wide. */
const MAYBE_WIDE = /[\u1100-\u{10ffff}]/u;
/** Must not start a line. */
const CLOSING_PUNCTUATION = /^[、。，．！？；：」』）】〉》〕｝ー…]/u;

export function createWordSplitter(): WordSplitter {
  let pieces: Piece[] = [];
  let fragments: Fragment[] = [];
  let blanks = 0;
  const endWord = () => {
    if (fragments.length === 0) return;
    const width = fragments.reduce((sum, { text }) => sum + textWidth(text), 0);
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

/** Scripts without spaces can be wrapped at any wide character. */
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
  for (const segment of graphemesOf(text)) {
    if (textWidth(segment) < 2 && !CLOSING_PUNCTUATION.test(segment)) {
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
