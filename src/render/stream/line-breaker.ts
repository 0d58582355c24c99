/** Where lines of words end. Words wider than a line stay whole: a cut address cannot be followed. */
import type { Piece, Word } from "./words.ts";

export interface LineBreaker {
  /** What comes before the word: the end of the line, or blanks on it. */
  place(word: Word): { readonly breaks: boolean; readonly blanks: number };
  endLine(): void;
  /** The longest line so far. */
  widest(): number;
}

export function createLineBreaker(room: number): LineBreaker {
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
