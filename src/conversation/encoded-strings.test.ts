import { expect, test } from "vitest";
import { type JsonObject, ShapeError } from "../util/index.ts";
import { decodeStrings, decodeText, encodeStrings } from "./encoded-strings.ts";

const plain = {
  path: "src/main.rs",
  "key==": ["a", { deep: "é" }],
  line: 3,
  force: true,
  nothing: null,
};

const encoded = {
  path: "c3JjL21haW4ucnM=",
  "key==": ["YQ==", { deep: "w6k=" }],
  line: 3,
  force: true,
  nothing: null,
};

test("every text is encoded at any depth, and no key and no other value", () => {
  expect(encodeStrings(plain)).toStrictEqual(encoded);
});

test("every text is decoded at any depth, and no key and no other value", () => {
  expect(decodeStrings(encoded)).toStrictEqual(plain);
});

test("one layer is removed, and text that has none stays as it is", () => {
  const texts = ["WVE9PQ==", "YQ==", "a", "YR==", "YQ==\n", "Pz4_Pg==", ""].map(decodeText);
  expect(texts).toEqual(["YQ==", "a", "a", "YR==", "YQ==\n", "?>?>", ""]);
});

test("what is nested deeper than a stack is refused, both ways", () => {
  const deep = JSON.parse(`${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`) as JsonObject;
  const refused = new ShapeError("", "nested deeper than 1000 levels");
  expect(() => decodeStrings(deep)).toThrow(refused);
  expect(() => encodeStrings(deep)).toThrow(refused);
});
