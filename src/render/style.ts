/**
 * Colours and weights as a port: the same rendering serves terminals, pipes and tests. Blue is left out,
 * which is hard to read on black; yellow, on white, never stands for something that no word says.
 */

export type StyleName =
  | "bold"
  | "dim"
  | "italic"
  | "underline"
  | "red"
  | "green"
  | "yellow"
  | "magenta"
  | "cyan";

/** Returns the text itself where there are no colours. */
export type Paint = (style: StyleName, text: string) => string;

/** Paints nothing. */
export const plain: Paint = (_style, text) => text;
