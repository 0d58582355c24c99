import * as fc from "fast-check";
import { expect, test } from "vitest";
import { decodeUtf8, parseText, toBody, toBytes } from "./text-format.ts";

test("a text that is taken apart and put together is the same, byte for byte", () => {
  const anyPiece = fc.constantFrom("a", "é𝄞", "\r", "\n", "\r\n", "\uFEFF");
  fc.assert(
    fc.property(fc.array(anyPiece), (pieces) => {
      const bytes = Buffer.from(pieces.join(""));
      const text = parseText(bytes);
      expect(text === undefined ? undefined : toBytes(text)).toEqual(bytes);
    }),
  );
});

test.each([
  ["a\nb\n", "a\nb\n", { hasMark: false, isCrlf: false }],
  ["a\r\nb\r\n", "a\nb\n", { hasMark: false, isCrlf: true }],
  ["a\r\nb\n", "a\r\nb\n", { hasMark: false, isCrlf: false }],
  ["\nb\r\n", "\nb\r\n", { hasMark: false, isCrlf: false }],
  ["\uFEFFa\r\n", "a\n", { hasMark: true, isCrlf: true }],
  ["\uFEFF", "", { hasMark: true, isCrlf: false }],
  ["", "", { hasMark: false, isCrlf: false }],
])("%j is written in its own way", (text, body, format) => {
  expect(parseText(Buffer.from(text))).toEqual({ body, format });
});

test("what is not text in UTF-8 is no text", () => {
  const others = [Buffer.from([0]), Buffer.from([0xff, 0xfe]), Buffer.from([0xc3])];
  expect(others.map(parseText)).toEqual([undefined, undefined, undefined]);
});

test("of a character that was cut in two nothing is read, if it is known to be cut", () => {
  const cut = Buffer.from("a€").subarray(0, 3);
  expect([decodeUtf8(cut, true), decodeUtf8(cut)]).toEqual(["a", undefined]);
});

test("text of a model takes the format of the file, and keeps its own where there is none", () => {
  expect([
    toBody("a\r\nb\n", { hasMark: false, isCrlf: true }),
    toBody("\uFEFFa\r\n", { hasMark: true, isCrlf: false }),
    toBody("\uFEFFa\r\n", { hasMark: false, isCrlf: false }),
  ]).toEqual(["a\nb\n", "a\r\n", "\uFEFFa\r\n"]);
});
