import { createMarkdownStream, type MarkdownStreamOptions, type Paint, plain } from "./index.ts";

/** Shows what is painted without any escape sequence. */
export const bracketed: Paint = (style, text) => `<${style}>${text}</>`;

export type Looks = Partial<Omit<MarkdownStreamOptions, "write">>;

/** Everything that is written for a text that comes in these pieces. */
export async function streamMarkdown(pieces: readonly string[], looks: Looks = {}) {
  const writes: string[] = [];
  const stream = createMarkdownStream({
    paint: plain,
    width: 40,
    hyperlinks: false,
    ...looks,
    write: (text) => writes.push(text),
  });
  for (const piece of pieces) stream.push(piece);
  await stream.end();
  return writes.join("");
}

/** The lines of a document given by its lines. */
export async function linesOf(document: readonly string[], looks: Looks = {}) {
  const text = await streamMarkdown([document.join("\n")], looks);
  return text.replace(/\n$/, "").split("\n");
}
