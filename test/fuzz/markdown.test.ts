/** Markdown from models: any text of any length, in any pieces. */
/* oxlint-disable vitest/no-standalone-expect -- `fuzz` makes a test of each property. */
import * as fc from "fast-check";
import stringWidth from "fast-string-width";
import { expect, test } from "vitest";
import { type Paint } from "../../src/surfaces/render/index.ts";
import { streamMarkdown } from "../../src/surfaces/render/markdown-stream.fixture.ts";
import { neutralize } from "../../src/util/index.ts";
import { fuzz } from "./fuzz.ts";
import { explainGrowth } from "./growth.ts";
import { damagedText, hostilePiece, hostileText, inPieces } from "./hostile-text.ts";

const ansi: Paint = (style, text) => `\u001b[${style.length}m${text}\u001b[0m`;
/** Colours, and links whose URLs contain only printable characters. */
const OURS = /\u001b\[\d+m|\u001b\]8;;[\x21-\x7e]*\u001b\\/g;
const UNSAFE =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/;

const LINES = [
  "# Title *a*",
  "Setext",
  "===",
  "---",
  "- item",
  "  - inner",
  "1. one",
  "10) ten",
  "- [x] task",
  "> quote",
  "> > deeper",
  "```js",
  "let x = `1` // 日本",
  "```",
  "~~~",
  "    indented",
  "\tindented",
  "| a | b |",
  "|---|:-:|",
  "| `x` | 日本 |",
  "a | b",
  "--|--",
  "<div>",
  "<!-- c -->",
  "<b>x</b> <br> y",
  "[a]: http://x.y 'z'",
  "[a] [b][a] ![i](http://x.y/z.png) <http://x.y>",
  "**bold** *em* ~~del~~ `code` \\* &amp; &#27;",
  "www.example.com me@x.y https://x.y/(z)",
  "*open **never `closed [here](",
  "two blanks  ",
  "backslash\\",
  "",
  "   ",
];

const line = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...LINES) },
  { weight: 2, arbitrary: damagedText(fc.constantFrom(...LINES)) },
  { weight: 1, arbitrary: hostileText },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom("- ", "> ", "# ", "| ", "*", "[", "`", "1. "), hostilePiece)
      .map(([mark, piece]) => mark + piece),
  },
);

const anyDocument = fc
  .array(fc.tuple(line, fc.constantFrom("\n", "\n", "\n", "\r\n", "\n\n", "\r")), { maxLength: 12 })
  .map((lines) => lines.flat().join(""));

fuzz(
  "the output depends only on the text, not on how it is split",
  150,
  fc.asyncProperty(
    inPieces(anyDocument),
    fc.integer({ min: 1, max: 100 }),
    fc.boolean(),
    async (pieces, width, hyperlinks) => {
      const looks = { width, hyperlinks, paint: ansi };
      expect(await streamMarkdown(pieces, looks)).toBe(
        await streamMarkdown([pieces.join("")], looks),
      );
    },
  ),
);

fuzz(
  "the output contains no terminal sequences except our own colours and links",
  250,
  fc.asyncProperty(inPieces(anyDocument), fc.boolean(), async (pieces, hyperlinks) => {
    const coloured = await streamMarkdown(pieces, { width: 40, hyperlinks, paint: ansi });
    expect(coloured.replaceAll(OURS, "")).not.toMatch(UNSAFE);
    const plain = await streamMarkdown(pieces, { width: 40 });
    expect(plain).not.toMatch(UNSAFE);
    expect(plain === "" || plain.endsWith("\n")).toBe(true);
  }),
);

/** Words that fit on a line. */
const word = fc.constantFrom(
  "a",
  "**be**",
  "*see*",
  "`d e`",
  "日本",
  "[f](g)",
  "&amp;",
  "~~h~~",
  "i_j",
);
const prose = fc
  .array(
    fc
      .tuple(
        fc.constantFrom("", "- ", "> ", "1. ", "  - ", "# ", "> - "),
        fc.array(word, { minLength: 1, maxLength: 30 }),
      )
      .map(([mark, words]) => mark + words.join(" ")),
    { maxLength: 6 },
  )
  .map((lines) => lines.join("\n"));
/** Of the page: a margin of at most four levels, and the minimum for the text. */
const MIN_WIDTH = 24;

fuzz(
  "no line of text is wider than the page",
  150,
  fc.asyncProperty(prose, fc.integer({ min: MIN_WIDTH, max: 90 }), async (document, width) => {
    const text = await streamMarkdown([document], { width });
    expect(text.split("\n").filter((each) => stringWidth(each) > width)).toEqual([]);
  }),
);

fuzz(
  "plain text keeps all its words, in order",
  100,
  fc.asyncProperty(
    fc.array(fc.stringMatching(/^[a-z日本é]{1,12}$/), { maxLength: 60 }),
    async (words) => {
      const text = await streamMarkdown([words.join(" ")], { width: 20 });
      expect(text.replaceAll(/\s/g, "")).toBe(words.join(""));
    },
  ),
);

const REPEATED: readonly string[] = [
  "[",
  "]",
  "![",
  "[a](",
  "[a][",
  "*",
  "**a ",
  "*a_b~~",
  "_",
  "~",
  "`",
  "`a``",
  ">",
  "> ",
  "|",
  "|a",
  "- ",
  "1. ",
  "\\",
  "&",
  "&#1",
  "<",
  "<a ",
  "<!--",
  "http://",
  "a@",
  "www.",
  "#",
  " ",
  "\t",
  "\n",
  "=\n",
  "-\n",
  "> > ",
  "- a\n",
  "| a | b |\n|--|--|\n",
  "```\n",
  "[a]: b\n",
  "日本",
  "e\u0301",
  "\u0301",
  "a\n    b\n",
  "<div>\n",
  "(",
  '"',
];

test.each(REPEATED)("repeating %j takes linear time", async (piece) => {
  const render = async (length: number) => {
    const text = piece.repeat(Math.ceil(length / piece.length));
    await streamMarkdown([text], { width: 80, paint: ansi, hyperlinks: true });
    await streamMarkdown(text.match(/[^]{1,512}/g) ?? [], { width: 80 });
    neutralize(text);
  };
  expect(await explainGrowth(4_000, render)).toBeUndefined();
});

test.each([
  [
    "a line of bars below headings",
    (count: number) => `|a${"|a".repeat(count)}\n|${"-|".repeat(count)}-\n`,
  ],
  ["a long row", (count: number) => `|a|b|\n|-|-|\n|${"x ".repeat(count)}|y|\n`],
  ["a long cell", (count: number) => `|a|b|\n|-|-|\n|${"x".repeat(count)}|y|\n`],
  ["many rows", (count: number) => `|a|b|\n|-|-|\n${"|x|y|\n".repeat(count / 6)}`],
  ["a heading", (count: number) => `# ${"x ".repeat(count)} #`],
  ["blanks after a heading", (count: number) => `# x${" ".repeat(count)}y`],
  ["an invalid rule", (count: number) => `${"- ".repeat(count)}x`],
  ["an invalid definition", (count: number) => `[${"a ".repeat(count)}]: ${"b".repeat(count)} "`],
  ["code", (count: number) => `\`\`\`js\n${"let x = `${1}`; /* */ ".repeat(count / 20)}\n\`\`\`\n`],
  [
    "nested lists",
    (count: number) =>
      Array.from({ length: Math.sqrt(count) }, (_, level) => `${"  ".repeat(level)}- a`).join("\n"),
  ],
])("%s takes linear time", async (_what, make) => {
  const render = (count: number) =>
    streamMarkdown([make(count)], { width: 80, paint: ansi, hyperlinks: true });
  expect(await explainGrowth(4_000, render)).toBeUndefined();
});
