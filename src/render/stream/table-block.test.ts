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
