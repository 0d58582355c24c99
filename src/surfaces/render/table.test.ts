import * as fc from "fast-check";
import stringWidth from "fast-string-width";
import { describe, expect, test } from "vitest";
import { type Paint, plain } from "./style.ts";
import { renderTable, type TableOptions } from "./table.ts";
import { truncate } from "./wrap.ts";

const bracketed: Paint = (style, text) => `<${style}>${text}</>`;

function table(rows: readonly (readonly string[])[], options: Partial<TableOptions> = {}) {
  return renderTable({
    columns: [{ title: "NAME" }, { title: "SIZE", align: "right" }, { title: "TITLE" }],
    rows: rows.map((row) => row.map((text) => ({ text }))),
    paint: plain,
    width: Number.POSITIVE_INFINITY,
    ...options,
  });
}

describe("a table", () => {
  test("has columns as wide as their widest cell, without trailing spaces", () => {
    const rows = [
      ["a", "1", "first"],
      ["longer name", "1000", ""],
    ];
    expect(table(rows)).toEqual([
      "NAME         SIZE  TITLE",
      "a               1  first",
      "longer name  1000",
    ]);
  });

  test("aligns numbers in its last column", () => {
    const columns = [{ title: "NAME" }, { title: "SIZE", align: "right" }] as const;
    const rows = [
      ["a", "1"],
      ["b", "10000"],
    ].map((row) => row.map((text) => ({ text })));
    expect(table([], { columns, rows })).toEqual(["NAME   SIZE", "a         1", "b     10000"]);
  });

  test("aligns wide, combined and narrow characters", () => {
    const rows = [
      ["日本語", "1", "x"],
      ["👩🏽‍💻", "2", "x"],
      ["e\u0301te\u0301", "3", "x"],
      ["ascii", "4", "x"],
    ];
    expect(table(rows)).toEqual([
      "NAME    SIZE  TITLE",
      "日本語     1  x",
      "👩🏽‍💻         2  x",
      "e\u0301te\u0301        3  x",
      "ascii      4  x",
    ]);
  });

  test("without rows is its header", () => {
    expect(table([])).toEqual(["NAME  SIZE  TITLE"]);
  });

  test("fills missing cells of a short row", () => {
    expect(table([["a"]])).toEqual(["NAME  SIZE  TITLE", "a"]);
  });

  test("paints texts and not the space around them", () => {
    const columns = [{ title: "A" }, { title: "B" }] as const;
    const rows = [[{ text: "x" }, { text: "y", style: "dim" as const }], [{ text: "wide" }]];
    expect(
      renderTable({ columns, rows, paint: bracketed, width: Number.POSITIVE_INFINITY }),
    ).toEqual(["<bold>A</>     <bold>B</>", "x     <dim>y</>", "wide"]);
  });
});

describe("a table that is too wide", () => {
  const columns = [{ title: "ID" }, { title: "TITLE", shrinks: true }];
  const long = [["jp-c1", "a title that is too long for the screen"]];

  test("shortens the column that may shrink, and marks the cut", () => {
    expect(table(long, { columns, width: 20 })).toEqual(["ID     TITLE", "jp-c1  a title that…"]);
  });

  test("fills exactly the width of the screen, even with wide characters", () => {
    const rows = [["jp-c1", "日本語日本語日本語"]];
    expect(table(rows, { columns, width: 20 })).toEqual(["ID     TITLE", "jp-c1  日本語日本語…"]);
  });

  test("shrinks one column after the other, as far as is needed", () => {
    const rows = [["x".repeat(20), "y".repeat(20)]];
    const shrinking = columns.map((column) => ({ ...column, shrinks: true }));
    expect(table(rows, { columns: shrinking, width: 24 })).toEqual([
      "ID        TITLE",
      "xxxxxxx…  yyyyyyyyyyyyy…",
    ]);
  });

  test("leaves eight characters of a column that shrinks", () => {
    expect(table(long, { columns, width: 1 })).toEqual(["ID     TITLE", "jp-c1  a title…"]);
  });

  test("drops its last columns if they do not fit, but keeps two", () => {
    const rows = [["on", "a_tool", "builtin", "what it does, at length"]];
    const all = ["", "TOOL", "SOURCE", "SUMMARY"].map((title) => ({
      title,
      shrinks: title === "SUMMARY",
    }));
    expect([29, 28, 19, 5].map((width) => table(rows, { columns: all, width })[1])).toEqual([
      "on  a_tool  builtin  what it…",
      "on  a_tool  builtin",
      "on  a_tool  builtin",
      "on  a_tool",
    ]);
  });

  test("is not wrapped if the width is unlimited", () => {
    expect(table(long, { columns, width: Number.POSITIVE_INFINITY })).toEqual([
      "ID     TITLE",
      "jp-c1  a title that is too long for the screen",
    ]);
  });
});

describe("cutting text", () => {
  test.each([
    ["abc", 3, "abc"],
    ["abcd", 3, "ab…"],
    ["abcd", 1, "…"],
    ["日本語", 6, "日本語"],
    ["日本語", 5, "日本…"],
    ["日本語", 4, "日…"],
    ["e\u0301e\u0301e\u0301", 2, "e\u0301…"],
    ["", 1, ""],
  ])("cuts %j at %d columns to %j", (text, width, cut) => {
    expect(truncate(text, width)).toBe(cut);
  });

  test.each([
    ["a family", "👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧", 5, "👨‍👩‍👧👨‍👩‍👧…"],
    ["a skin colour", "👍🏽👍🏽", 3, "👍🏽…"],
    ["a flag", "🇩🇪🇫🇷🇯🇵", 5, "🇩🇪🇫🇷…"],
  ])("keeps %s whole, which is one character of several", (_what, text, width, cut) => {
    expect(truncate(text, width)).toBe(cut);
  });

  test("never exceeds the width, and leaves a text that fits unchanged", () => {
    const anyText = fc.string({ unit: "grapheme", maxLength: 30 });
    fc.assert(
      fc.property(anyText, fc.integer({ min: 1, max: 40 }), (text, width) => {
        const cut = truncate(text, width);
        expect(stringWidth(cut)).toBeLessThanOrEqual(width);
        expect(cut === text).toBe(stringWidth(text) <= width);
      }),
    );
  });
});
