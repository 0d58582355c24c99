import { expect, test } from "vitest";
import { LineReader } from "./line-reader.ts";

function linesOf(chunks: readonly (string | Buffer)[]): string[] {
  const lines: string[] = [];
  const reader = new LineReader((line) => lines.push(line));
  for (const chunk of chunks) reader.add(Buffer.from(chunk));
  reader.end();
  return lines;
}

test("a line is given when it is complete, and the last one at the end", () => {
  const lines: string[] = [];
  const reader = new LineReader((line) => lines.push(line));
  const seen = ["a", "b\nc\nd", "e\n", "f"].map((chunk) => {
    reader.add(Buffer.from(chunk));
    return [...lines];
  });
  reader.end();
  expect([...seen, lines]).toEqual([
    [],
    ["ab", "c"],
    ["ab", "c", "de"],
    ["ab", "c", "de"],
    ["ab", "c", "de", "f"],
  ]);
});

test("a carriage return ends a line, and empty lines are left out", () => {
  expect(linesOf(["10%\r20%\r\n\n  \nend"])).toEqual(["10%", "20%", "end"]);
});

test("a character that comes in pieces is put together", () => {
  const bytes = Buffer.from("日\n");
  expect(linesOf([bytes.subarray(0, 1), bytes.subarray(1)])).toEqual(["日"]);
});

test("of a line that is too long only the beginning is given", () => {
  const chunks = ["x".repeat(300), "y".repeat(300), "z".repeat(1_000_000), "\nnext\n"];
  expect(linesOf(chunks)).toEqual([`${"x".repeat(300)}${"y".repeat(200)}…`, "next"]);
});
