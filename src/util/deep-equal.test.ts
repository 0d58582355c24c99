import { isDeepStrictEqual } from "node:util";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { isDeepEqual } from "./deep-equal.ts";
import type { Json } from "./json.ts";

test("JSON is the same if Node says so, whatever it is", () => {
  const value = fc.jsonValue() as fc.Arbitrary<Json>;
  fc.assert(
    fc.property(value, value, (one, other) => {
      expect(isDeepEqual(one, other)).toBe(isDeepStrictEqual(one, other));
      expect(isDeepEqual(one, structuredClone(one))).toBe(true);
    }),
  );
});

test.each<[Json | undefined, Json | undefined, boolean]>([
  [{ a: 1, b: [2] }, { b: [2], a: 1 }, true],
  [{ a: 1 }, { b: 1 }, false],
  [{ a: 1 }, { a: 1, b: 2 }, false],
  [[1, 2], [2, 1], false],
  [[], {}, false],
  [undefined, null, false],
  [JSON.parse('{ "__proto__": 1 }') as Json, {}, false],
])("%j and %j are compared by their content", (one, other, isSame) => {
  expect(isDeepEqual(one, other)).toBe(isSame);
});
