import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bracketed } from "../markdown-stream.fixture.ts";
import { addInline, type InlineOptions } from "./inline.ts";
import { createFlow, createPage, createWordSplitter } from "./page.ts";
import { createParagraph } from "./paragraph.ts";

const INLINE: InlineOptions = { keepsMarks: false, hyperlinks: false, links: {} };

/** As it is written while it grows. */
function grown(text: string): string {
  let written = "";
  const page = createPage(60, (part) => {
    written += part;
  });
  const paragraph = createParagraph({ page, paint: bracketed, inline: INLINE });
  for (const line of text.split("\n")) {
    paragraph.add(line);
    paragraph.endLine();
  }
  paragraph.close();
  return written;
}

/** As it is when all of it is taken apart at once. */
function whole(text: string): string {
  let written = "";
  const page = createPage(60, (part) => {
    written += part;
  });
  const flow = createFlow(page, bracketed);
  const splitter = createWordSplitter();
  addInline(text.trim(), splitter, INLINE);
  flow.add(splitter.take());
  flow.end();
  return written;
}

const word = fc.constantFrom("word", "a", "snake_case", "~5", "x.", "(y)", "“z”", "日本、語。");
const leaf = fc.oneof(
  { weight: 6, arbitrary: word },
  fc.constantFrom(
    "`co de`",
    "``a ` b``",
    "`*x `",
    "\\*",
    "\\`",
    "\\[",
    "&lt;",
    "<b class='x y'>",
    "</b>",
  ),
  fc.constantFrom(
    "[t u](http://v.w 'x ) y')",
    "![a b](c)",
    "<http://a.b>",

    "[1]",
  ),
  fc.constantFrom("2 * 3", "a_b", "<3", "5 < 6", "* ", "_ ", "- "),
);
const { text: anyText } = fc.letrec<{ text: string; node: string }>((tie) => ({
  node: fc.oneof(
    { depthSize: "small" },
    leaf,
    tie("text").map((inner) => `**a ${inner} z**`),
    tie("text").map((inner) => `*a ${inner} z*`),
    tie("text").map((inner) => `_a ${inner} z_`),
    tie("text").map((inner) => `~~a ${inner} z~~`),
    word.map((inner) => `[a *${inner} z*](http://a.b)`),
  ),
  text: fc
    .array(fc.tuple(tie("node"), fc.constantFrom(" ", " ", "\n", "  \n", "\\\n")), {
      minLength: 1,
      maxLength: 6,
    })
    .map((parts) => parts.flat().join("").trim()),
}));

describe("a paragraph written while it grows", () => {
  test("depends on the whole text", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        fc.pre(text.length < 900 && text.split("\n").every((line) => line.trim() !== ""));
        expect(grown(text)).toBe(whole(text));
      }),
      { numRuns: 300 },
    );
  });
});
