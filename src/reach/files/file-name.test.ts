import { expect, test } from "vitest";
import { decodeFileName, formatPath, toSystemPath } from "./index.ts";

const NAMES = [
  Buffer.from("plain.txt"),
  Buffer.from("ünïcode 🙂"),
  Buffer.from([0x63, 0xe9, 0x2e, 0x63]),
  Buffer.from([0xff, 0xfe, 0xc3]),
  Buffer.from([0xc3, 0xa9, 0xe9, 0xc3, 0xa9]),
  Buffer.from([0xed, 0xb2, 0x80]), // An encoded surrogate, which is not UTF-8.
  Buffer.from([0xf0, 0x9f, 0x99]),
  Buffer.from([0xc0, 0x80]),
];

test.each(NAMES)("a file name survives as a string, whatever its bytes are: %j", (bytes) => {
  expect(Buffer.from(toSystemPath(decodeFileName(bytes)))).toEqual(bytes);
});

test("no two file names look the same", () => {
  const others = ["c\\xe9.c", '"c\\xe9.c"', "c\\udce9.c"].map((text) => Buffer.from(text));
  const shown = [...NAMES, ...others].map((bytes) => formatPath(decodeFileName(bytes)));
  expect(new Set(shown).size).toBe(shown.length);
});

test("bytes that are not UTF-8 are shown escaped", () => {
  expect(formatPath(decodeFileName(Buffer.from([0x63, 0xe9, 0x2e, 0x63])))).toBe('"c\\xe9.c"');
});
