import * as fc from "fast-check";
import highlighter from "highlight.js/lib/core";
import { Lexer } from "marked";
import { afterEach, describe, expect, test, vi } from "vitest";
import { bracketed, streamMarkdown } from "../markdown-stream.fixture.ts";
import type { Paint } from "../style.ts";

/** Everything that a terminal acts on, but for the ends of lines and tabs. */
const DANGEROUS =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/;
const EVIL = "\x1b[2J\x1b]8;;http://evil\x07\x9b31m\u202e\x08";

/** The escape sequences of our own colours and links; any others are not ours. */
const OURS = /\x1b\[1m|\x1b\[22m|\x1b\]8;;(?:[\x21-\x7e]*)\x1b\\/g;
const ansi: Paint = (_style, text) => `\x1b[1m${text}\x1b[22m`;

async function foreignEscapes(document: string): Promise<RegExpMatchArray | null> {
  const text = await streamMarkdown([document], { paint: ansi, hyperlinks: true });
  return text.replaceAll(OURS, "").match(DANGEROUS);
}

describe("text reaches the terminal only as text", () => {
  test.each([
    ["a paragraph", EVIL],
    ["emphasis", `**${EVIL}** *${EVIL}* ~~${EVIL}~~`],
    ["code in a line", `\`${EVIL}\``],
    ["the text of a link", `[${EVIL}](http://a.b)`],
    ["the address of a link", `[a](<http://a.b/${EVIL}>) [a](http://a.b/${EVIL})`],
    ["an address", `<http://a.b/${EVIL}> http://a.b/${EVIL}`],
    ["an address in entities", "[a](http://a.b/&#27;&#92;&#7;) [a](mailto:&#x1b;]0;x&#x9c;)"],
    ["the title of a link", `[a](http://a.b "${EVIL}")`],
    ["an image", `![${EVIL}](${EVIL})`],
    ["a heading", `# ${EVIL}\n\n${EVIL}\n===`],
    ["a list", `- ${EVIL}\n\n  ${EVIL}\n1. [x] ${EVIL}`],
    ["a quote", `> ${EVIL}`],
    ["code", `\`\`\`\n${EVIL}\n\`\`\``],
    ["code in a language", `\`\`\`js\nlet a = "${EVIL}" // ${EVIL}\n\`\`\``],
    ["the name of a language", `\`\`\`js${EVIL}\n1\n\`\`\`\n~~~${EVIL} ${EVIL}\n~~~`],
    ["code that is indented", `    ${EVIL}`],
    ["a table", `| ${EVIL} | b |\n|---|---|\n| ${EVIL} | c |`],
    ["a table without bars at the sides", `a | ${EVIL}\n--|--\n${EVIL} | b`],
    ["HTML", `<div ${EVIL}>\n${EVIL}\n\n<b ${EVIL}> <!-- ${EVIL} -->`],
    ["entities", "&#27;[2J &#x9b;31m &#8238; &#0; &#xd800; &#x110000;"],
    ["a definition", `[a]: http://a.b/${EVIL}\n[${EVIL}]: c\n\n[a] [${EVIL}]`],
    ["an escaped character", `\\${EVIL} \\\x1b[2J`],
    ["a mark of the order of bytes at the start", `\ufeff# a`],
  ])("in %s", async (_place, document) => {
    expect(await foreignEscapes(document)).toBeNull();
  });

  test("whatever the text", async () => {
    const parts = fc.oneof(
      fc.string({ unit: "binary", maxLength: 20 }),
      fc.constantFrom(
        EVIL,
        "\x1b",
        "&#27;",
        "[a](http://b/",
        ")",
        "`",
        "*",
        "\n",
        "|",
        "- ",
        "> ",
        "```js\n",
      ),
      fc.integer({ min: 0, max: 0x9f }).map((code) => String.fromCharCode(code)),
    );
    const anyText = fc.array(parts, { maxLength: 40 }).map((all) => all.join(""));
    await fc.assert(
      fc.asyncProperty(anyText, async (text) => {
        expect(await foreignEscapes(text)).toBeNull();
        expect(await streamMarkdown([text])).not.toMatch(DANGEROUS);
      }),
      { numRuns: 200 },
    );
  });
});

test("link labels are not looked up in a prototype", async () => {
  expect(
    await streamMarkdown(["[constructor] [a][valueOf] [toString][] [__proto__]"], { width: 80 }),
  ).toBe("[constructor] [a][valueOf] [toString][] [**proto**]\n");
});

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

describe("a long text in short deltas is not scanned repeatedly", () => {
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

  test("if it is a long comment", async () => {
    const line = "a comment that goes on\n";
    const short = await readingsOf(`\`\`\`ts\n/*\n${repeat(line, SIZE / 4)}`);
    const long = await readingsOf(`\`\`\`ts\n/*\n${repeat(line, SIZE / 2)}`);
    expect(long / short).toBeLessThan(1.1);
  });
});
