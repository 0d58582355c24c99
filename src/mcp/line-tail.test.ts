import { expect, test } from "vitest";
import { LineTail } from "./line-tail.ts";

test("the last 64 lines are kept, wherever the output is cut", () => {
  const tail = new LineTail();
  for (let line = 1; line <= 100; line += 1) {
    tail.add(`line `);
    tail.add(`${line}\r\n\nhalf`);
    tail.add(`\n`);
  }
  const { lines } = tail;
  expect(lines).toHaveLength(64);
  expect(lines.slice(-2)).toEqual(["line 100", "half"]);
});

test("a line that has not ended counts, and one that never ends costs little", () => {
  const tail = new LineTail();
  tail.add("begin\n");
  for (let piece = 0; piece < 100; piece += 1) tail.add("x".repeat(100));
  expect(tail.lines).toEqual(["begin", "x".repeat(1000)]);
});
