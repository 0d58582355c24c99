/** Generators of hostile JSON, and of mutations of valid JSON. */
import * as fc from "fast-check";
import { isJsonObject, type Json, type JsonObject } from "../../src/util/index.ts";
import { hostileText } from "./hostile-text.ts";

/** Deeper than the stack allows for recursion. */
const DEEP = 20_000;

const hostileKey: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom("__proto__", "constructor", "prototype", "toString", "length", "", "type", "0"),
  hostileText,
);

const scalar: fc.Arbitrary<Json> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.constantFrom<Json>(
      null,
      true,
      false,
      0,
      -1,
      1.5,
      1e308,
      5e-324,
      9_007_199_254_740_991,
      1e21,
      "",
      "null",
      "12",
      '{"a":1}',
    ),
  },
  { weight: 12, arbitrary: hostileText },
  { weight: 1, arbitrary: fc.constantFrom("(deep list)", "(deep object)", "(deep prototype)") },
);

/** Any JSON, preferably unexpected. Objects may have `__proto__`. */
export const hostileJson: fc.Arbitrary<Json> = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    scalar,
    fc.array(tie("json"), { maxLength: 3 }),
    fc.array(fc.tuple(hostileKey, tie("json")), { maxLength: 3 }).map(objectOf),
  ),
})).json;

/** Markers for values that are nested too deeply to print. */
const MARKS: Readonly<Record<string, readonly [open: string, core: string, close: string]>> = {
  "(deep list)": ["[", "", "]"],
  "(deep object)": ['{"a":', "1", "}"],
  "(deep prototype)": ['{"__proto__":', "1", "}"],
};

/** Replaces the markers in a value. */
export function withDepths(value: Json): Json {
  if (typeof value === "string") return Object.hasOwn(MARKS, value) ? deepJson(value) : value;
  if (Array.isArray(value)) return value.map(withDepths);
  if (!isJsonObject(value)) return value;
  return objectOf(Object.entries(value).map(([key, item]) => [key, withDepths(item)]));
}

function deepJson(mark: string): Json {
  const [open, core, close] = MARKS[mark] ?? ["", "null", ""];
  return JSON.parse(open.repeat(DEEP) + core + close.repeat(DEEP)) as Json; // `JSON.parse` returns JSON.
}

interface Change {
  /** Counts the values in the document. */
  readonly at: number;
  readonly how: "replace" | "drop" | "rename" | "wrap" | "double";
  readonly value: Json;
  readonly key: string;
}

const anyChange: fc.Arbitrary<Change> = fc.record({
  at: fc.nat(200),
  how: fc.constantFrom("replace", "replace", "drop", "rename", "wrap", "double"),
  value: hostileJson,
  key: hostileKey,
});

/** The document, unchanged or with a few values and keys changed. It may contain markers. */
export function changedJson(document: fc.Arbitrary<unknown>): fc.Arbitrary<Json> {
  return fc
    .tuple(document, fc.array(anyChange, { maxLength: 3 }))
    .map(([value, changes]) => changes.reduce<Json>(changed, value as Json)); // The caller guarantees it.
}

function changed(document: Json, change: Change): Json {
  const places = countPlaces(document);
  return changeAt(document, change, { left: change.at % places });
}

function countPlaces(value: Json): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + countPlaces(item), 1);
  if (!isJsonObject(value)) return 1;
  return Object.values(value).reduce<number>((sum, item) => sum + countPlaces(item), 1);
}

function changeAt(value: Json, change: Change, counter: { left: number }): Json {
  if (counter.left === 0) {
    counter.left -= 1;
    return applyTo(value, change);
  }
  counter.left -= 1;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item: Json) => changeAt(item, change, counter));
  return objectOf(
    Object.entries(value).map(([key, item]): [string, Json] => [
      key,
      changeAt(item, change, counter),
    ]),
  );
}

function applyTo(value: Json, { how, value: other, key }: Change): Json {
  switch (how) {
    case "replace":
      return other;
    case "wrap":
      return [value];
    case "double":
      return objectOf([
        [key, value],
        ["also", value],
      ]);
    case "drop":
      return isJsonObject(value) ? objectOf(Object.entries(value).slice(1)) : null;
    case "rename": {
      if (!isJsonObject(value)) return { [key]: value };
      return objectOf(
        Object.entries(value).map(([name, item], index): [string, Json] => [
          index === 0 ? key : name,
          item,
        ]),
      );
    }
  }
}

/** With `__proto__` as an ordinary key. */
function objectOf(entries: readonly (readonly [string, Json])[]): JsonObject {
  return Object.fromEntries(entries);
}
