/** Colours and weights as a port: the same rendering serves terminals, pipes and tests. */

export type StyleName =
  | "bold"
  | "dim"
  | "italic"
  | "red"
  | "green"
  | "yellow"
  | "blue"
  | "magenta"
  | "cyan";

/** Returns the text itself where there are no colours. */
export type Paint = (style: StyleName, text: string) => string;

export const plain: Paint = (_style, text) => text;
