import { expect, test } from "vitest";
import { LineSplitter } from "./line-splitter.ts";

test("lines come out whole, wherever the bytes are cut", () => {
  const text = "one\r\ntwö\n\nthree\nrest";
  const splitter = new LineSplitter();
  const lines = [...Buffer.from(text)].flatMap((byte) => [...splitter.add(Buffer.from([byte]))]);
  expect(lines).toEqual(["one", "twö", "", "three"]);
  expect([...new LineSplitter().add(Buffer.from(text))]).toEqual(lines);
});

test("a line that never ends is refused before it takes all memory", () => {
  const splitter = new LineSplitter();
  const piece = Buffer.alloc(16 * 1024 * 1024, "x");
  for (let count = 0; count < 2; count += 1) expect([...splitter.add(piece)]).toEqual([]);
  expect(() => [...splitter.add(piece)]).toThrow("it sent a message of more than 32 MiB");
});
