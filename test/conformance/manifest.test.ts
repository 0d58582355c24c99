import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { findCitations, fragmentIn } from "../support/citations.ts";
import { documentFile, renderDocument } from "./document.ts";
import { requirements } from "./manifest.ts";

const cited = findCitations("verifies");
const met = new Set(requirements.filter(({ state }) => state === "met").map(({ id }) => id));

test("every requirement has an id of its own", () => {
  const ids = requirements.map(({ id }) => id);
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
});

test("every requirement that is met is shown by a test", () => {
  expect([...met].filter((id) => !cited.has(id))).toEqual([]);
});

test("no test cites a requirement that is only planned, or that does not exist", () => {
  expect([...cited.keys()].filter((id) => !met.has(id))).toEqual([]);
});

test.each([
  ["a record", "is shown"],
  ["a record", "in a pipe on a terminal"],
  ["a record", "is shown to %s in a pipe"],
  ["in a pipe", "is shown without any colors"],
])("a fragment is not a sentence to cite: %s %s", (subject, title) => {
  expect(fragmentIn({ file: "a.test.ts", title, sentence: `${subject} ${title}` })).toBeDefined();
});

test("every test that the page cites is a sentence of its own", () => {
  const citations = [...cited.values()].flat();
  expect(citations.flatMap((citation) => fragmentIn(citation) ?? [])).toEqual([]);
});

test("docs/project/conformance.md says what the manifest and the tests say", () => {
  expect(readFileSync(documentFile, "utf8")).toBe(renderDocument());
});
