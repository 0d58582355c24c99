import highlighter from "highlight.js/lib/core";
import { Lexer } from "marked";
import { afterEach, describe, expect, test, vi } from "vitest";
import { bracketed, streamMarkdown } from "../../../test/support/markdown-stream.ts";

const SIZE = 40_000;

afterEach(() => {
  vi.restoreAllMocks();
});

/** How often each character is taken apart or highlighted, on average, if it comes with nineteen others. */
async function readingsOf(document: string): Promise<number> {
  const lex = vi.spyOn(Lexer.prototype, "inlineTokens");
  const highlight = vi.spyOn(highlighter, "highlight");
  await streamMarkdown(document.match(/[^]{1,20}/g) ?? [], { paint: bracketed, width: 80 });
  const work = [...lex.mock.calls, ...highlight.mock.calls].reduce(
    (sum, [text]) => sum + text.length,
    0,
  );
  vi.restoreAllMocks();
  return work / document.length;
}

/** A document of this size. */
function repeat(unit: string, size = SIZE): string {
  return unit.repeat(size / unit.length);
}

describe("a long text in short pieces is not read again and again", () => {
  test.each([
    ["one paragraph", "Some *words* of `text` and more. ", 2],
    ["one paragraph that opens what it never closes", "a *b [c `d <e ", 2],
    ["one word", "word", 0],
    ["one word of marks", "*_~`[<", 0],
    ["one word of wide characters", "日本", 0],
    ["one line of a single mark", "*", 0],
    ["one line that begins like a table", "| a **b** ", 2],
    ["a list", "- item *one*\n", 2],
    ["a quote in a quote", "> > text *one*\n", 2],
    ["paragraphs", "Some *words*.\n\n", 2],
    ["headings", "# Some *words*\n", 2],
    ["rows of a table", "| a *b* |\n|---|\n", 2],
  ])("if it is %s", async (_name, unit, most) => {
    expect(await readingsOf(repeat(unit))).toBeLessThanOrEqual(most);
  });

  test("if it is code", async () => {
    expect(await readingsOf(`\`\`\`ts\n${repeat("const a = 1;\n")}`)).toBeLessThanOrEqual(1);
  });

  test("if it is a comment, of which only a limited part is read again", async () => {
    const line = "a comment that goes on\n";
    const short = await readingsOf(`\`\`\`ts\n/*\n${repeat(line, SIZE / 4)}`);
    const long = await readingsOf(`\`\`\`ts\n/*\n${repeat(line, SIZE / 2)}`);
    expect(long / short).toBeLessThan(1.1);
  });
});
