/** Words written one after the other, wrapped where the page ends. */
import type { Paint } from "../style.ts";
import { createLineBreaker, type LineBreaker } from "./line-breaker.ts";
import { hyperlink } from "./link.ts";
import type { Page } from "./page.ts";
import type { Fragment, Piece } from "./words.ts";

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
