/** Code, line by line as it comes, between two dim fences. Lines are not wrapped: they may be copied. */
import { neutralize, oneLine } from "../neutralize.ts";
import type { Paint } from "../style.ts";
import { truncate } from "../table.ts";
import { createLineHighlighter, type LineHighlighter } from "../highlight.ts";
import type { Page } from "./page.ts";

export interface CodeBlock {
  add(line: string): void;
  close(): void;
}

export interface CodeBlockOptions {
  readonly page: Page;
  readonly paint: Paint;
  /** What stands behind the fence; its first word names the language. */
  readonly info: string;
}

const FENCE = "```";

/** The language is loaded before the first line comes: `prepareLanguage` does it. */
export function createCodeBlock({ page, paint, info }: CodeBlockOptions): CodeBlock {
  let highlight: LineHighlighter | undefined;
  page.write(paint("dim", truncate(FENCE + oneLine(info), page.room())));
  page.endLine();
  return {
    add: (line) => {
      highlight ??= createLineHighlighter(languageOf(info), paint);
      const shown = highlight(neutralize(line));
      if (shown !== "") page.write(shown);
      page.endLine();
    },
    close: () => {
      page.write(paint("dim", FENCE));
      page.endLine();
    },
  };
}

/** `ts`, also in ```` ```ts title="a.ts" ````, `{.ts}` or `ts{1,3}`. */
export function languageOf(info: string): string {
  return /^\{?\.?([\w+#-]+)/.exec(info)?.[1]?.toLowerCase() ?? "";
}
