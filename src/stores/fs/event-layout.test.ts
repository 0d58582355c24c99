import * as fc from "fast-check";
import { expect, test } from "vitest";
import { anyText } from "../record-elements.fixture.ts";
import { reindentJson } from "./event-layout.ts";

const anyIndent = fc.constantFrom<string | number>("", 1, 2, 4, "\t", "\n", "\r\n  ");

test("any JSON is laid out like JSON.stringify would print it", () => {
  fc.assert(
    fc.property(fc.jsonValue(), anyIndent, (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      expect(reindentJson(text, 0)).toBe(JSON.stringify(JSON.parse(text), null, 2));
    }),
  );
});

test("a value inside a list is indented by its level", () => {
  fc.assert(
    fc.property(fc.jsonValue(), anyIndent, (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      const expected = JSON.stringify([JSON.parse(text)], null, 2);
      expect(`[\n  ${reindentJson(text, 1)}\n]`).toBe(expected);
    }),
  );
});

test("strings with any characters are unchanged", () => {
  fc.assert(
    fc.property(anyText(), (text) => {
      const element = JSON.stringify({ [text]: [text] });
      expect(reindentJson(element, 0)).toBe(JSON.stringify(JSON.parse(element), null, 2));
    }),
  );
});

test("numbers, escapes and the order of keys are unchanged", () => {
  const text = '{"2":1.0,"1":12345678901234567890,"e":[1E+2,-0.0,1e-7],"t":"\\u00e9\\/ { [ , :"}';
  expect(reindentJson(text, 0)).toBe(
    [
      "{",
      '  "2": 1.0,',
      '  "1": 12345678901234567890,',
      '  "e": [',
      "    1E+2,",
      "    -0.0,",
      "    1e-7",
      "  ],",
      '  "t": "\\u00e9\\/ { [ , :"',
      "}",
    ].join("\n"),
  );
});

test("empty lists and objects are put on one line", () => {
  expect(reindentJson('{ "a" : [ \n ] , "b" : {\t} }', 0)).toBe('{\n  "a": [],\n  "b": {}\n}');
});

test("a text of a million escapes is laid out", () => {
  const text = JSON.stringify({ content: '"\\\n'.repeat(400_000) });
  expect(reindentJson(text, 0)).toBe(JSON.stringify(JSON.parse(text), null, 2));
});
