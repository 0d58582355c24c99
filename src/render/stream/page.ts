/** The lines that are written: what stands before each of them, and where the last one is. */
import stringWidth from "fast-string-width";

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
const LEAST_ROOM = 12;

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
      Math.max(LEAST_ROOM, width - margins.reduce((sum, { margin }) => sum + margin.width, 0)),
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
