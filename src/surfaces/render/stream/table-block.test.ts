import stringWidth from "fast-string-width";
import { describe, expect, test } from "vitest";
import { bracketed, linesOf } from "../markdown-stream.fixture.ts";

const TABLE = [
  "| Name | Meaning | Count |",
  "|:--|:-:|--:|",
  "| **日本** | a\\|b `x\\|y` | 1 |",
  "| c | | 1000 | left out |",
  "| short",
];

describe("a table", () => {
  test("aligns its columns, even with wide characters", async () => {
    expect(await linesOf(TABLE)).toEqual([
      "Name     │  Meaning  │ Count",
      "─────────┼───────────┼──────",
      "**日本** │ a|b `x|y` │     1",
      "c        │           │  1000",
      "short    │           │",
    ]);
  });

  test("has bold titles and dim lines", async () => {
    expect(await linesOf(["| a | b |", "|-|-|", "| *c* | |"], { paint: bracketed })).toEqual([
      "<bold>a</> <dim>│</> <bold>b</>",
      "<dim>──┼──</>",
      "<italic>c</> <dim>│</>",
    ]);
  });

  test("wraps cells and splits words to fit the width", async () => {
    const document = [
      "| Key | Text |",
      "|-|-|",
      "| a | some words to wrap<br>here |",
      "| b | Donaudampfschifffahrt 日本語日本語日本 |",
    ];
    const lines = await linesOf(document, { width: 20 });
    expect(lines).toEqual([
      "Key │ Text",
      "────┼───────────────",
      "a   │ some words to",
      "    │ wrap",
      "    │ here",
      "b   │ Donaudampfschi",
      "    │ fffahrt 日本語",
      "    │ 日本語日本",
    ]);
    expect(Math.max(...lines.map((line) => stringWidth(line)))).toBeLessThanOrEqual(20);
  });

  test("becomes a list of its cells if its columns do not fit", async () => {
    const document = [
      "| One | Two | Three |",
      "|-|-|-|",
      "| a | long text here | c |",
      "| d | e | |",
    ];
    expect(await linesOf(document, { width: 16 })).toEqual([
      "One: a",
      "Two: long text",
      "here",
      "Three: c",
      "",
      "One: d",
      "Two: e",
      "Three:",
    ]);
  });

  test("ends where something else starts", async () => {
    expect(await linesOf(["text", "| a |", "|--|", "| b |", "# c"])).toEqual([
      "text",
      "",
      "a",
      "─",
      "b",
      "",
      "# c",
    ]);
  });

  test("without bars at the sides is shown unchanged", async () => {
    expect(await linesOf(["a | b", "--|--", "1 | *2*", "", "text"])).toEqual([
      "a | b",
      "--|--",
      "1 | *2*",
      "",
      "text",
    ]);
  });

  test("needs as many delimiters as header cells", async () => {
    expect(await linesOf(["| a | b |", "|---|"])).toEqual(["| a | b | |---|"]);
  });
});

describe("a table in HTML", () => {
  test("is drawn with its header row", async () => {
    const document = [
      "<table>",
      '  <thead><tr><th>Name</th><th class="n">Size &amp; *kind*</th></tr></thead>',
      "  <tbody>",
      "    <tr><td><b>a</b>|b</td><td><code>x|y</code></td></tr>",
      "    <tr><td>c<td>2",
      "  </tbody>",
      "</table>",
      "",
      "After.",
    ];
    expect(await linesOf(document, { paint: bracketed })).toEqual([
      "<bold>Name</> <dim>│</> <bold>Size</> <bold>&</> <bold>*</><bold>kind</><bold>*</>",
      "<dim>─────┼──────────────</>",
      "<bold>a</>|b  <dim>│</> <cyan>x|y</>",
      "c    <dim>│</> 2",
      "",
      "After.",
    ]);
  });

  test.each([
    ["no header row", "<table><tr><td>a</td></tr></table>"],
    ["cells over several columns", '<table><tr><th colspan="2">a</th></tr></table>'],
    ["a caption", "<table><caption>c</caption><tr><th>a</th></tr></table>"],
    ["no end", "<table><tr><th>a</th></tr>"],
  ])("is shown unchanged if it has %s", async (_what, table) => {
    expect(await linesOf([table], { width: 80 })).toEqual([table]);
  });
});
