import { expect, test } from "vitest";
import { CappedOutput } from "./capped-output.ts";

function textOf(limit: number, chunks: readonly (string | Buffer)[]): string {
  const output = new CappedOutput(limit);
  for (const chunk of chunks) output.add(Buffer.from(chunk));
  return output.toText();
}

test("an output within the limit is kept as it is", () => {
  const chunks = ["", "ab", "c\n"];
  expect([textOf(4, chunks), textOf(100, chunks), textOf(4, [])]).toEqual(["abc\n", "abc\n", ""]);
});

test("what goes beyond the limit is counted and told", () => {
  const chunks = ["abc", "defg", "hij"];
  expect(textOf(5, chunks)).toBe("abcde\n[Truncated: 5 of 10 bytes omitted.]");
});

test("only a cut output says that it is one", () => {
  const outputs = [3, 2].map((limit) => new CappedOutput(limit));
  for (const output of outputs) output.add(Buffer.from("abc"));
  expect(outputs.map(({ isCut }) => isCut)).toEqual([false, true]);
});

test("a character that comes in pieces is put together", () => {
  const bytes = Buffer.from("é日🦀");
  expect(
    textOf(
      100,
      [...bytes].map((byte) => Buffer.from([byte])),
    ),
  ).toBe("é日🦀");
});

test("bytes that are no UTF-8 are replaced", () => {
  expect(textOf(100, [Buffer.from([0x61, 0xff, 0x62, 0xc3])])).toBe("a\uFFFDb\uFFFD");
});

test("a character that the limit cuts in two is left out", () => {
  expect(textOf(3, ["ab日"])).toBe("ab\n[Truncated: 2 of 5 bytes omitted.]");
});
