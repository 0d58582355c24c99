import { PassThrough } from "node:stream";
import { styleText } from "node:util";
import { expect, test } from "vitest";
import { columnsOf, createOutput, showsHyperlinks } from "./output.ts";
import { sizeOf } from "./terminal.ts";

test.each([
  [{ isTTY: true, columns: 120 }, 120],
  [{ isTTY: true, columns: 0 }, 80],
  [{ isTTY: true }, 80],
  [{ isTTY: false, columns: 120 }, Number.POSITIVE_INFINITY],
])("a stream with %j has %i columns", (stream, columns) => {
  expect(columnsOf(stream as NodeJS.WriteStream)).toBe(columns); // All that is used of it.
});

test.each(["plain", "", styleText("bold", "bold", { validateStream: false })])(
  "text on a terminal is painted as Node does it: %j",
  (text) => {
    const stream = Object.assign(new PassThrough(), { isTTY: true, getColorDepth: () => 8 });
    const stdout = stream as unknown as NodeJS.WriteStream; // All that is used of it.
    const { paint } = createOutput({ stdout, stderr: stdout });
    const painted = ["dim", "red", "dim"] as const;
    expect(painted.map((style) => paint(style, text))).toEqual(
      painted.map((style) => styleText(style, text, { validateStream: false })),
    );
  },
);

test("a terminal that does not know its size has 80 columns and 24 rows", () => {
  expect([sizeOf({ columns: 0, rows: 0 }), sizeOf({ columns: 60, rows: 0 })]).toEqual([
    { columns: 80, rows: 24 },
    { columns: 60, rows: 24 },
  ]);
});

test.each([
  [{ TERM: "xterm-256color" }, false],
  [{ TERM: "linux" }, false],
  [{ TERM: "xterm-256color", TERM_PROGRAM: "Apple_Terminal" }, false],
  [{ TERM: "xterm-kitty" }, true],
  [{ TERM: "xterm-256color", TERM_PROGRAM: "iTerm.app" }, true],
  [{ TERM: "xterm-256color", VTE_VERSION: "7600" }, true],
  [{ TERM: "xterm-256color", VTE_VERSION: "4900" }, false],
  [{ TERM: "xterm-256color", WT_SESSION: "1" }, true],
  [{ TERM: "tmux-256color", TERM_PROGRAM: "WezTerm" }, false],
  [{ TERM: "xterm-kitty", FORCE_HYPERLINK: "0" }, false],
  [{ TERM: "tmux-256color", FORCE_HYPERLINK: "1" }, true],
])("a terminal with %j opens links whose address it does not show: %s", (variables, isShown) => {
  expect(showsHyperlinks(variables)).toBe(isShown);
});
