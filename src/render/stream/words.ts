/** Text taken apart into words, the smallest pieces that a line may end behind. */
import stringWidth from "fast-string-width";
import { neutralize } from "../neutralize.ts";
import type { StyleName } from "../style.ts";

/** How a stretch of text looks. */
export interface Look {
  readonly styles: readonly StyleName[];
  /** A safe address, where the stretch is a link. */
  readonly address?: string;
  /** Blanks are kept as they are, as code needs them. */
  readonly keepsBlanks?: boolean;
}

export interface Fragment {
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
const CLOSING = /^[、。，．！？；：」』）】〉》〕｝ー…]/u;

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
    if (stringWidth(segment) < 2 && !CLOSING.test(segment)) {
      narrow += segment;
      continue;
    }
    endNarrow();
    parts.push({ part: segment, mayBreakBefore: !CLOSING.test(segment) });
    afterWide = true;
  }
  endNarrow();
  return parts;
}
