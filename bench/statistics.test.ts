import { describe, expect, test } from "vitest";
import { figureOf, isWorse, limitOf, median, ratioOf } from "./statistics.ts";

/** Rounds around a time. The same seed gives the same noise. */
function rounds(time: number, noise: number, seed: number): readonly number[] {
  let state = seed;
  const random = () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
  return Array.from({ length: 20 }, () => time * (1 + noise * (random() + random() - 1)));
}

/** A command that takes `times` as long as starting Node. */
function measured(times: number, noise: number, seed: number) {
  return ratioOf(rounds(32 * times, noise, seed), rounds(32, noise, seed + 1));
}

const SEEDS = Array.from({ length: 200 }, (_, index) => 1 + index * 7_919);

describe("a median", () => {
  test.each([
    [[3, 1, 2], 2],
    [[4, 1, 3, 2], 2.5],
    [[], Number.NaN],
  ])("of %j is %d", (values, expected) => {
    expect(median(values)).toBe(expected);
  });

  test("ignores a single outlier", () => {
    expect(figureOf([10, 10, 10, 10, 900])).toEqual({ value: 10, noise: 0 });
  });
});

describe("a ratio", () => {
  test("is that of the medians", () => {
    expect(ratioOf([6, 8, 7], [1, 2, 3]).value).toBe(3.5);
  });

  test("has no noise if both sides slow down together", () => {
    expect(ratioOf([40, 80, 60], [10, 20, 15])).toEqual({ value: 4, noise: 0 });
  });

  test("is noisier the more its rounds differ", () => {
    expect(measured(4, 0.3, 1).noise).toBeGreaterThan(measured(4, 0.1, 1).noise);
  });
});

describe("a comparison", () => {
  test.each([0, 0.05, 0.2, 0.5])("accepts the same command at a noise of %d", (noise) => {
    const worse = SEEDS.filter((seed) =>
      isWorse("cpu", measured(4, noise, seed), measured(4, noise, seed + 2)),
    );
    expect(worse).toEqual([]);
  });

  test.each([
    [1.2, 0.03],
    [1.6, 0.1],
    [3, 0.3],
  ])("reports a command that takes %d times as long at a noise of %d", (growth, noise) => {
    const missed = SEEDS.filter(
      (seed) => !isWorse("cpu", measured(4, noise, seed), measured(4 * growth, noise, seed + 2)),
    );
    expect(missed).toEqual([]);
  });

  test("allows more growth by the clock than of CPU time, and more of that than of a size", () => {
    const exact = { value: 1, noise: 0 };
    const limits = (["time", "cpu", "size"] as const).map((kind) => limitOf(kind, exact, exact));
    expect(limits).toEqual([0.25, 0.12, 0.05]);
  });

  test("uses the noise of the noisier run", () => {
    const [quiet, noisy] = [
      { value: 1, noise: 0.01 },
      { value: 1, noise: 0.2 },
    ];
    expect(limitOf("cpu", quiet, noisy)).toBe(limitOf("cpu", noisy, quiet));
    expect(limitOf("cpu", quiet, noisy)).toBeCloseTo(0.6);
  });

  test("never reports an improvement", () => {
    expect(isWorse("size", { value: 10, noise: 0 }, { value: 5, noise: 0 })).toBe(false);
  });
});
