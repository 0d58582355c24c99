import stringWidth from "fast-string-width";
import { describe, expect, test } from "vitest";
import { bracketed, linesOf } from "../../../test/support/markdown-stream.ts";

const TABLE = [
  "| Name | Meaning | Count |",
  "|:--|:-:|--:|",
  "| **日本** | a\\|b `x\\|y` | 1 |",
  "| c | | 1000 | left out |",
  "| short",
];

describe("a table", () => {
  test("lines up its columns, also with wide characters", async () => {
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

  test("wraps cells, and cuts words, to stay on the page", async () => {
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

  test("is a list of its cells where the page is too narrow for its columns", async () => {
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

  test("ends where something else begins", async () => {
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

  test("without bars at the sides is shown as it was written", async () => {
    expect(await linesOf(["a | b", "--|--", "1 | *2*", "", "text"])).toEqual([
      "a | b",
      "--|--",
      "1 | *2*",
      "",
      "text",
    ]);
  });

  test("needs as many dashes as titles", async () => {
    expect(await linesOf(["| a | b |", "|---|"])).toEqual(["| a | b | |---|"]);
  });
});
