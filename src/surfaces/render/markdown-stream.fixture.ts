import { createMarkdownStream, type MarkdownStreamOptions, type Paint, plain } from "./index.ts";

/** Shows styles without escape sequences. */
export const bracketed: Paint = (style, text) => `<${style}>${text}</>`;

/** The line above or below code. */
export function ruled(title = ""): string {
  return `<dim>${(title === "" ? "" : `── ${title} `).padEnd(40, "─")}</>`;
}

export type Looks = Partial<Omit<MarkdownStreamOptions, "write">>;

/** The complete output for a text that arrives in these pieces. */
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

/** The output lines for a document given as lines. */
export async function linesOf(document: readonly string[], looks: Looks = {}) {
  const text = await streamMarkdown([document.join("\n")], looks);
  return text.replace(/\n$/, "").split("\n");
}
