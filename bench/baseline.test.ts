import { expect, test } from "vitest";
import { compareWithBaseline } from "./baseline.ts";

const result = (name: string, ratio: number) => ({ name, ratio, detail: "" });

test("reports ratios that are new or more than half worse, but not noise", () => {
  const results = [result("a", 1.5), result("b", 1.51), result("c", 1)];
  expect(compareWithBaseline(results, { a: 1, b: 1 })).toEqual([
    "b: 1.51, and was 1.00",
    "c: not in the baseline; store it with --store",
  ]);
});
