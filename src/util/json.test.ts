import { expect, test } from "vitest";
import { counters } from "../../test/security/threats.ts";
import { parseJson } from "./json.ts";

test.each([
  ["", "invalid JSON: unexpected end"],
  ["hunter2", "invalid JSON"],
  ['{"a": hunter2}', "invalid JSON"],
  ['{\n  "hunter2": 1,\n}', "3:1: invalid JSON"],
  ['{"hunter2": "hunter2', "1:21: invalid JSON"],
  ['["hunter2 at position 3"\n"x"]', "2:1: invalid JSON"],
])("any invalid JSON is rejected with its position, and not quoted: %j", (text, message) => {
  counters("T-PATH-5");
  expect(() => parseJson(text)).toThrow(new SyntaxError(message));
});

test("valid JSON is parsed", () => {
  expect(parseJson('{"a": [1, null, "b"]}')).toEqual({ a: [1, null, "b"] });
});
