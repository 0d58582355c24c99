import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { findCitations, fragmentIn } from "../support/citations.ts";
import { documentFile, renderDocument } from "./document.ts";
import { areas } from "./threats.ts";

const cited = findCitations("counters");
const ids = areas.flatMap(({ threats }) => threats.map(({ id }) => id));

test("every threat has a unique id", () => {
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
});

test("every threat is countered by a test", () => {
  expect(ids.filter((id) => !cited.has(id))).toEqual([]);
});

test("every citation names a known threat", () => {
  const known = new Set(ids);
  expect([...cited.keys()].filter((id) => !known.has(id))).toEqual([]);
});

test("every test that the page cites is a sentence of its own", () => {
  const citations = [...cited.values()].flat();
  expect(citations.flatMap((citation) => fragmentIn(citation) ?? [])).toEqual([]);
});

test("docs/project/threat-model.md is up to date", () => {
  expect(readFileSync(documentFile, "utf8")).toBe(renderDocument());
});
