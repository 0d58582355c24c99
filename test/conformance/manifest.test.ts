import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { requirements } from "./manifest.ts";

const cited = citedIds();

test("every requirement has an id of its own", () => {
  const ids = requirements.map(({ id }) => id);
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
});

test("every requirement that is met is shown by a test", () => {
  const met = requirements.filter(({ state }) => state === "met").map(({ id }) => id);
  expect(met.filter((id) => !cited.has(id))).toEqual([]);
});

test("no test cites a requirement that is only planned, or that does not exist", () => {
  const met = new Set(requirements.filter(({ state }) => state === "met").map(({ id }) => id));
  expect([...cited].filter((id) => !met.has(id))).toEqual([]);
});

/** The string literals in all `verifies(…)` calls of the test files. */
function citedIds(): Set<string> {
  const files = globSync(["src/**/*.test.ts", "test/**/*.test.ts"]);
  const calls = files.flatMap(
    (file) => readFileSync(file, "utf8").match(/verifies\([^)]*\)/g) ?? [],
  );
  return new Set(calls.flatMap((call) => call.match(/(?<=")[^"]+(?=")/g) ?? []));
}
