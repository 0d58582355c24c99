import { expect, test } from "vitest";
import { TypedWidget } from "./typed-widget.fixture.ts";
import { type Paint, plain } from "../render/index.ts";
import { contextLines, headerRows, previewContext, withHeader, withRowsAbove } from "./context.ts";
import type { FormHeader } from "./dialogue.ts";
import { selectList } from "./select-list.ts";

const STANDING: FormHeader = {
  answered: [
    { message: "Name?", summary: "Ada\u001b[2J\nLovelace" },
    { message: "Which of all these?", summary: "the very first one" },
  ],
};
const OPTIONS = Array.from({ length: 9 }, (_, index) => ({ label: `option ${index + 1}` }));

function listBelow(header: FormHeader, rows: number) {
  const list = selectList({ message: "Then?", options: OPTIONS }, { hasMore: false });
  const start = { filter: "", active: 8, marked: [] };
  return new TypedWidget(withHeader(header, list), start, { columns: 30, rows });
}

test("each answer takes one line above the question", () => {
  expect(listBelow(STANDING, 11).type("n 9").screen).toEqual([
    "✔ Name? Ada␛[2J Lovelace",
    "✔ Which of all… the very firs…",
    "? Then? n 9▮",
    "❯ option 9",
    "  ↑↓ move · type to filter …",
  ]);
});

test("a list below gets fewer rows on a small screen", () => {
  const { screen } = listBelow(STANDING, 11);
  expect([screen.length, screen.slice(2, 4)]).toEqual([11, ["? Then? ▮", "  option 3"]]);
});

test("a list keeps its minimum of rows, whatever is above it", () => {
  const { screen } = listBelow({ ...STANDING, context: "a\nb\nc" }, 10);
  expect([screen.length, screen.slice(0, 3)]).toEqual([10, ["a", "… 2 more lines", "? Then? ▮"]]);
});

test.each([
  { what: "is there whole", rows: 2, text: "+a\u001b[2J\n\tb", isCut: false },
  { what: "is cut", rows: 5, text: "1\n2\n3\n4\n5\n6", isCut: true },
  { what: "has no room", rows: 0, text: "1", isCut: true },
])("a context that $what in $rows rows", ({ rows, text, isCut }) => {
  const canvas = { columns: 30, rows, paint: plain };
  const shown = headerRows({ ...STANDING, context: text }, canvas);
  expect([shown.isCut, shown.rows.length]).toEqual([isCut, rows]);
});

test("answers that do not fit are cut at the start, and in a review at the end", () => {
  const canvas = { columns: 30, rows: 1, paint: plain };
  expect([
    headerRows(STANDING, canvas),
    headerRows({ ...STANDING, isReview: true }, canvas),
  ]).toEqual([
    { rows: ["✔ Which of all… the very firs…"], isCut: false },
    { rows: ["… 2 more lines"], isCut: true },
  ]);
});

test("a context is neutralized and wrapped", () => {
  const context = `a\t日\u202e${"x".repeat(10)}`;
  expect(
    headerRows({ answered: [], context }, { columns: 16, rows: 20, paint: plain }).rows,
  ).toEqual(["a⇥   日<U+202E>x", "xxxxxxxxx"]);
});

const CANVAS = { columns: 11, rows: 4, paint: plain };
const marked: Paint = (style, text) => `<${style}>${text}`;

test("a unified diff is coloured", () => {
  const diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n same\n-old\n+new and more\n";
  expect(contextLines(diff, { ...CANVAS, paint: marked })).toEqual([
    "<bold>--- a/x",
    "<bold>+++ b/x",
    "<cyan>@@ -1 +1 @@",
    " same",
    "<red>-old",
    "<green>+new and",
    "<green>↳  more",
  ]);
});

test("a list with dashes is not a diff", () => {
  expect(contextLines("- one\n- two", { ...CANVAS, paint: marked })).toEqual(["- one", "- two"]);
});

test("prose is wrapped at words, and rows of a diff say that they continue a line", () => {
  const diff = "@@ -1 +1 @@\n+a line that is long";
  expect([contextLines("A line that is long.", CANVAS), contextLines(diff, CANVAS)]).toEqual([
    ["A line that", "is long."],
    ["@@ -1 +1 @@", "+a line", "↳  that is", "↳  long"],
  ]);
});

test("escape sequences are neutralized before anything is coloured", () => {
  expect(contextLines("@@ -1 +1 @@\n+\u001b[2Jnew", { ...CANVAS, paint: marked })[1]).toBe(
    "<green>+<U+001B>[2",
  );
});

test.each([
  { what: "what fits", lines: ["a", "b", "c", "d"], shown: ["a", "b", "c", "d"], hasMore: false },
  {
    what: "as much as leaves a line to say so",
    lines: ["a", "b", "c", "d", "e"],
    shown: ["a", "b", "c", "… 2 more lines"],
    hasMore: true,
  },
  {
    what: "fewer lines if they are long",
    lines: ["a", "b".repeat(15), "c", "d"],
    shown: ["a", "b".repeat(15), "… 2 more lines"],
    hasMore: true,
  },
  {
    what: "the beginning of a line that is too long",
    lines: ["a".repeat(100)],
    shown: ["a".repeat(11), "a".repeat(11), "a".repeat(11), "… 1 more line"],
    hasMore: true,
  },
])("shows $what", ({ lines, shown, hasMore }) => {
  expect(previewContext(lines, CANVAS)).toEqual({ shown, hasMore });
});

test.each([
  ["share the screen with a question", 12, ["  next: in Rust", "? Then? ▮"], 12],
  ["leave a small screen to the question", 8, ["? Then? ▮", "  option 4"], 8],
])("messages that wait %s", (_, rows, first, length) => {
  const list = selectList({ message: "Then?", options: OPTIONS }, { hasMore: false });
  const start = { filter: "", active: 8, marked: [] };
  const both = withRowsAbove(() => ["  next: in Rust"], list);
  const { screen } = new TypedWidget(both, start, { columns: 30, rows });
  expect([screen.slice(0, 2), screen.length]).toEqual([first, length]);
});
