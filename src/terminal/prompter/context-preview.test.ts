import { expect, test } from "vitest";
import { type Paint, plain } from "../../render/index.ts";
import { contextLines, previewContext } from "./context-preview.ts";

const CANVAS = { columns: 10, rows: 4, paint: plain };
const marked: Paint = (style, text) => `<${style}>${text}`;

test("a unified diff is coloured", () => {
  const diff = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n";
  expect(contextLines(diff, { ...CANVAS, paint: marked })).toEqual([
    "<bold>--- a/x",
    "<bold>+++ b/x",
    "<cyan>@@ -1,2 +1,2 @@",
    " same",
    "<red>-old",
    "<green>+new",
  ]);
});

test("a list with dashes is no diff", () => {
  expect(contextLines("- one\n- two", { ...CANVAS, paint: marked })).toEqual(["- one", "- two"]);
});

test("prose is broken at words, and a diff is not", () => {
  const diff = "@@ -1 +1 @@\n+a line that is long";
  expect([contextLines("A line that is long.", CANVAS), contextLines(diff, CANVAS)]).toEqual([
    ["A line", "that is", "long."],
    ["@@ -1 +1 @@", "+a line that is long"],
  ]);
});

test("escape sequences are made visible before anything is coloured", () => {
  expect(contextLines("@@ -1 +1 @@\n+\u001b[2Jnew", { ...CANVAS, paint: marked })[1]).toBe(
    "<green>+␛[2Jnew",
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
    shown: ["a".repeat(10), "a".repeat(10), "a".repeat(10), "… 1 more line"],
    hasMore: true,
  },
])("shows $what", ({ lines, shown, hasMore }) => {
  expect(previewContext(lines, CANVAS)).toEqual({ shown, hasMore });
});
