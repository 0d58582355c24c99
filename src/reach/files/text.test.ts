import * as fc from "fast-check";
import { expect, test } from "vitest";
import { decodeUtf8, parseText, toBody, toBytes } from "./text.ts";

test("parsing a text and encoding it gives the same bytes", () => {
  const anyPiece = fc.constantFrom("a", "é𝄞", "\r", "\n", "\r\n", "\uFEFF");
  fc.assert(
    fc.property(fc.array(anyPiece), (pieces) => {
      const encoded = Buffer.from(pieces.join(""));
      const text = parseText(encoded);
      expect(text === undefined ? undefined : toBytes(text)).toEqual(encoded);
    }),
  );
});

test.each([
  ["a\nb\n", "a\nb\n", { hasBom: false, isCrlf: false }],
  ["a\r\nb\r\n", "a\nb\n", { hasBom: false, isCrlf: true }],
  ["a\r\nb\n", "a\r\nb\n", { hasBom: false, isCrlf: false }],
  ["\nb\r\n", "\nb\r\n", { hasBom: false, isCrlf: false }],
  ["\uFEFFa\r\n", "a\n", { hasBom: true, isCrlf: true }],
  ["\uFEFF", "", { hasBom: true, isCrlf: false }],
  ["", "", { hasBom: false, isCrlf: false }],
])("the format of %j is recognized", (text, body, format) => {
  expect(parseText(Buffer.from(text))).toEqual({ body, format });
});

test("bytes that are not UTF-8 text are rejected", () => {
  const others = [Buffer.from([0]), Buffer.from([0xff, 0xfe]), Buffer.from([0xc3])];
  expect(others.map(parseText)).toEqual([undefined, undefined, undefined]);
});

test("a character cut in two is dropped if the bytes are truncated", () => {
  const cut = Buffer.from("a€").subarray(0, 3);
  expect([decodeUtf8(cut, true), decodeUtf8(cut)]).toEqual(["a", undefined]);
});

test("a text takes on the format of its file", () => {
  expect([
    toBody("a\r\nb\n", { hasBom: false, isCrlf: true }),
    toBody("\uFEFFa\r\n", { hasBom: true, isCrlf: false }),
    toBody("\uFEFFa\r\n", { hasBom: false, isCrlf: false }),
  ]).toEqual(["a\nb\n", "a\r\n", "\uFEFFa\r\n"]);
});
