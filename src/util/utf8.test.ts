import { isUtf8 } from "node:buffer";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { anyText } from "../record/conversation/events.fixture.ts";
import { base64Size, bytesToBase64, decodeBase64, encodeBase64 } from "./utf8.ts";

test("text is encoded as UTF-8 in the standard alphabet, with padding", () => {
  const encoded = ["", "a", "ab", "abc", "é", "日本", "🦀", "?>?>"].map(encodeBase64);
  expect(encoded).toEqual(["", "YQ==", "YWI=", "YWJj", "w6k=", "5pel5pys", "8J+mgA==", "Pz4/Pg=="]);
});

test("any text survives a round trip", () => {
  fc.assert(
    fc.property(anyText, (text) => {
      expect(decodeBase64(encodeBase64(text))).toBe(text);
    }),
  );
});

test("the URL-safe alphabet is accepted too", () => {
  const decoded = ["8J-mgA==", "Pz4_Pg=="].map(decodeBase64);
  expect(decoded).toEqual(["🦀", "?>?>"]);
});

test("text that mixes both alphabets is not base64", () => {
  const texts = ["Pj4-Pj4+", "Pz4_Pz4/", "Pj4-Pz4/", "Pz4_Pj4+"];
  expect(texts.map(decodeBase64)).toEqual([undefined, undefined, undefined, undefined]);
});

test("doubly encoded text loses one layer", () => {
  expect(decodeBase64(encodeBase64(encodeBase64("fn main")))).toBe(encodeBase64("fn main"));
});

test("a byte order mark is part of the text", () => {
  expect(decodeBase64("77u/YQ==")).toBe("\uFEFFa");
});

test.each([
  ["plain text", "hello world"],
  ["a word whose length is no multiple of four", "hello"],
  ["missing padding", "YQ"],
  ["half of the padding", "YQ="],
  ["padding that nothing needs", "YWJj===="],
  ["padding in the middle", "YQ==YWJj"],
  ["trailing bits that are not zero", "YR=="],
  ["trailing bits that are not zero, URL-safe", "Pz4_Pz=="],
  ["a newline", "YWJj\n"],
  ["a newline that fills up four characters", "YWJ\n"],
  ["a space", "YWJ jYW"],
  ["bytes that are not UTF-8", "/////w=="],
  ["half of a surrogate pair", "7aCA"],
])("%s is not base64", (_, text) => {
  expect(decodeBase64(text)).toBeUndefined();
});

test("text is base64 exactly if encoding its bytes gives the same text", () => {
  const unit = fc.constantFrom(...Array.from("AEQYgw09+/-_== \n"));
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 12 }), (text) => {
      const bytes = Buffer.from(text, "base64");
      const padded = bytes.toString("base64");
      const urlSafe = padded.replaceAll("+", "-").replaceAll("/", "_");
      const isEncoded = (text === padded || text === urlSafe) && isUtf8(bytes);
      expect(decodeBase64(text)).toBe(isEncoded ? bytes.toString("utf8") : undefined);
    }),
    { numRuns: 5000 },
  );
});

test("before padding, only characters without leftover bits are valid", () => {
  const alphabet = Array.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
  const accepted = (text: (last: string) => string) =>
    alphabet.filter((last) => decodeBase64(text(last)) !== undefined).join("");
  expect([accepted((last) => `Y${last}==`), accepted((last) => `YW${last}=`)]).toEqual([
    "AQgw",
    "AEIMQUYcgkosw048",
  ]);
});

test("the size of base64 is that of its bytes, and unknown for anything else", () => {
  const sizes = ["", "QQ==", "QUI=", "QUJD"].map(base64Size);
  const others = ["QQ", "Q===", "====", "AA==BB==", "QUI\n", "_-AA", "AA=A", "QU!D"].map(
    base64Size,
  );
  expect({ sizes, others }).toEqual({ sizes: [0, 1, 2, 3], others: others.map(() => undefined) });
});

test("part of a buffer is encoded alone", () => {
  expect(bytesToBase64(Buffer.from("abcde").subarray(1, 4))).toBe("YmNk");
});
