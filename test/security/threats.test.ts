import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { findCitations } from "./citations.ts";
import { documentFile, renderDocument } from "./document.ts";
import { areas } from "./threats.ts";

const cited = findCitations(".");
const ids = areas.flatMap(({ threats }) => threats.map(({ id }) => id));

test("every threat has a unique id", () => {
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
});

test("every threat is countered by a test", () => {
  expect(ids.filter((id) => !cited.has(id))).toEqual([]);
});

test("every citation names a known threat and is inside a test", () => {
  const known = new Set(ids);
  const wrong = [...cited].filter(
    ([id, citations]) => !known.has(id) || citations.some(({ title }) => title === ""),
  );
  expect(wrong).toEqual([]);
});

test("docs/project/threat-model.md is up to date", () => {
  expect(readFileSync(documentFile, "utf8")).toBe(renderDocument());
});
