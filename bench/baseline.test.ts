import { describe, expect, test } from "vitest";
import { findRegressions } from "./baseline.ts";
import type { Figures } from "./measure.ts";

const figure = (value: number, noise = 0.02) => ({ value, noise });
const result = (name: string, all: Figures) => ({ name, figures: all });
const figures = { time: figure(4, 0.1), cpu: figure(3) };
const baseline = { query: { date: "2026-11-15", commit: "b9716c8", figures } };

describe("a comparison with the baseline", () => {
  test("accepts what is within the noise", () => {
    const now = { time: figure(4.9), cpu: figure(3.3) };
    expect(findRegressions([result("query", now)], baseline)).toEqual([]);
  });

  test("reports CPU time that the noise of the clock hides", () => {
    const now = { time: figure(4.4, 0.1), cpu: figure(3.6) };
    expect(findRegressions([result("query", now)], baseline)).toEqual([
      {
        name: "query",
        reason: "CPU time grew by 20 %, from 3.00 at b9716c8 to 3.60; noise explains 12 %",
      },
    ]);
  });

  test("reports waiting, which costs no CPU time", () => {
    const now = { time: figure(8, 0.1), cpu: figure(3) };
    expect(findRegressions([result("query", now)], baseline)).toEqual([
      {
        name: "query",
        reason: "time grew by 100 %, from 4.00 at b9716c8 to 8.00; noise explains 30 %",
      },
    ]);
  });

  test("reports a result that is not in the baseline", () => {
    expect(findRegressions([result("new", { cpu: figure(1) })], baseline)).toEqual([
      { name: "new", reason: "not in the baseline; store it with --store" },
    ]);
  });
});
