import * as fc from "fast-check";
import { expect, test } from "vitest";
import { anyText } from "../record-elements.fixture.ts";
import { findElementEnd, findStringEnd, INCOMPLETE, INVALID } from "./element-scan.ts";

const anyJson = fc
  .tuple(
    fc.oneof(fc.jsonValue(), anyText(), fc.dictionary(anyText(), anyText())),
    fc.constantFrom(0, 2),
  )
  .map(([value, indent]) => JSON.stringify(value, null, indent));
const anyFollower = fc.constantFrom(",", "]", " ", "\n", "\r\n]", ',{"a":1}', ' ,"b"]', "}");

test("a value ends where its JSON ends, whatever follows and wherever it starts", () => {
  fc.assert(
    fc.property(anyText(), anyJson, anyFollower, (before, json, after) => {
      const bytes = Buffer.from(before + json + after);
      const from = Buffer.byteLength(before);
      expect(findElementEnd(bytes, from, bytes.length)).toBe(from + Buffer.byteLength(json));
    }),
  );
});

test("a value that has brackets or quotes ends with the last of them", () => {
  fc.assert(
    fc.property(anyJson, (json) => {
      const bytes = Buffer.from(json);
      const isBare = !/["}\]]$/.test(json);
      expect(findElementEnd(bytes, 0, bytes.length)).toBe(isBare ? INCOMPLETE : bytes.length);
    }),
  );
});

test("an incomplete value is never mistaken for a complete one", () => {
  const bytes = Buffer.from('{"a":["}",{"\\"]":"\\\\"}],"b":-1.5}');
  const ends = Array.from(bytes, (_, length) => findElementEnd(bytes, 0, length));
  expect(ends).toEqual(ends.map(() => INCOMPLETE));
});

test("bytes after the limit are ignored", () => {
  const bytes = Buffer.from('{"a":1},{"b":2}');
  expect({
    whole: findElementEnd(bytes, 8, 15),
    cut: findElementEnd(bytes, 8, 14),
    string: findStringEnd(bytes, 10, 11),
  }).toEqual({ whole: 15, cut: INCOMPLETE, string: INCOMPLETE });
});

test("a line break in a string means that the closing quote is missing", () => {
  const bytes = Buffer.from('{"a": "text,\n  "b": "more"}');
  expect({
    element: findElementEnd(bytes, 0, bytes.length),
    string: findStringEnd(bytes, 7, bytes.length),
  }).toEqual({ element: INVALID, string: INVALID });
});

test("a quote after backslashes closes a string only if their number is even", () => {
  const ends = ['"', '\\"', '\\\\"', '\\\\\\"', '\\\\\\\\"'].map((text) =>
    findStringEnd(Buffer.from(text), 0, text.length),
  );
  expect(ends).toEqual([1, INCOMPLETE, 3, INCOMPLETE, 5]);
});

// Searching for a line break again after every quote would be quadratic, and time out here.
test("the end of a long text full of quotes is found", () => {
  const bytes = Buffer.from(JSON.stringify({ content: '"'.repeat(2_000_000) }));
  expect(findElementEnd(bytes, 0, bytes.length)).toBe(bytes.length);
});
