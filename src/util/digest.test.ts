import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import type { Json } from "./json.ts";
import { canonicalJson, sha256, sha256Here } from "./digest.ts";

test("canonical JSON sorts keys by UTF-16 code units, as in the example of RFC 8785", () => {
  const value = {
    "\u20ac": "Euro Sign",
    "\r": "Carriage Return",
    "\ufb33": "Hebrew Letter Dalet With Dagesh",
    "1": "One",
    "\ud83d\ude00": "Emoji: Grinning Face",
    "\u0080": "Control",
    "\u00f6": "Latin Small Letter O With Diaeresis",
  };
  expect(Object.values(JSON.parse(canonicalJson(value)) as Record<string, string>)).toEqual([
    "One", // A JavaScript object lists it first; the text has it after "\r".
    "Carriage Return",
    "Control",
    "Latin Small Letter O With Diaeresis",
    "Euro Sign",
    "Emoji: Grinning Face",
    "Hebrew Letter Dalet With Dagesh",
  ]);
  expect(canonicalJson(value).startsWith(String.raw`{"\r":"Carriage Return","1":"One"`)).toBe(true);
});

test("canonical JSON writes numbers, strings and literals as RFC 8785 does", () => {
  const value = {
    numbers: [Number("333333333.33333329"), 1e30, 4.5, 2e-3, 0.000000000000000000000000001, -0],
    string: "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"/",
    literals: [null, true, false],
  };
  expect(canonicalJson(value)).toBe(
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27,0],' +
      String.raw`"string":"€$\u000f\nA'B\"\\\\\"/"}`,
  );
});

test("canonical JSON leaves out members that are undefined", () => {
  const value = { b: 1, a: undefined } as unknown as Json;
  expect(canonicalJson(value)).toBe('{"b":1}');
});

test("SHA-256 is in hexadecimal digits", () => {
  expect(sha256("")).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
});

test("our own SHA-256 is that of Node, for data of any length up to several blocks", () => {
  for (let length = 0; length <= 300; length += 1) {
    const bytes = Uint8Array.from({ length }, (_, index) => (index * 31 + length) % 256);
    expect(sha256Here(bytes)).toBe(createHash("sha256").update(bytes).digest("hex"));
  }
});

test("a digest is the same before and after Node's own is loaded", () => {
  const texts = Array.from({ length: 200 }, (_, index) => `${"ä😀\ud800".repeat(index)}${index}`);
  const expected = texts.map((text) => createHash("sha256").update(text).digest("hex"));
  expect(texts.map((text) => sha256(text))).toEqual(expected);
});
