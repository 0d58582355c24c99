import { expect, test } from "vitest";
import { toolResult } from "../../record/conversation/events.fixture.ts";
import { briefResult } from "./result-brief.ts";
import { renderResultLines } from "./result-lines.ts";
import { plain } from "./style.ts";

const LINES = { paint: plain, width: 40 };

test.each([
  ["one\ntwo\n", {}, "Read src/a.ts", "2 lines, 8 B"],
  ["one", {}, "Read src/a.ts", "1 line, 3 B"],
  ["[The file is empty.]", {}, "Read src/a.ts", "0 lines, 0 B"],
  ["[x]\n", { start_line: 7 }, "Read src/a.ts from line 7", "1 line, 4 B"],
  ["a\n", { end_line: 1 }, "Read src/a.ts from line 1", "1 line, 2 B"],
  [
    "one\n[Showing only lines 1 to 1. Continue with start_line 2.]",
    {},
    "Read src/a.ts",
    "1 line, 4 B",
  ],
])(
  "a file that was read is one line with its name, lines and size: %j %j",
  (content, more, title, note) => {
    const call = { name: "fs_read_file", arguments: { path: "src/a.ts", ...more } };
    expect(briefResult(call, toolResult("a", content))).toEqual({ title, note, most: 0 });
  },
);

test.each([
  ["failed", { path: "a" }, true],
  ["has no path", {}, false],
  ["has arguments of another version", { path: "a", encoding: "latin1" }, false],
  ["has a line that is no number", { path: "a", start_line: "1" }, false],
])("a call to read a file that %s is shown like any other", (_what, given, isError) => {
  const call = { name: "fs_read_file", arguments: given };
  expect(briefResult(call, toolResult("a", "one\n", isError))).toEqual({});
});

test("a command that succeeded shows its last three lines, and not that it has", () => {
  const call = { name: "shell_run", arguments: { command: "make" } };
  const response = toolResult("a", "one\ntwo\nthree\nfour\n[Exit status 0.]");
  const { most, isEndFirst } = briefResult(call, response);
  expect(renderResultLines(response, { ...LINES, resultLines: most ?? 9, isEndFirst })).toEqual([
    "  │ … 1 more line",
    "  │ two",
    "  │ three",
    "  │ four",
  ]);
});

test("what else jp says of a command that succeeded stays", () => {
  const response = toolResult("a", "one\n[Exit status 0.]\n[New Git repositories: x.]");
  expect(renderResultLines(response, { ...LINES, resultLines: 3, isEndFirst: true })).toEqual([
    "  │ one",
    "  │ [New Git repositories: x.]",
  ]);
});
