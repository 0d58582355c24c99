/**
 * A property as a test, with few runs by default.
 *
 * - `JP_FUZZ_TIMES=100` multiplies the number of runs.
 * - `JP_FUZZ_SEED=…` repeats a failure; fast-check prints the seed with each one.
 */
import { takeCoverage } from "node:v8";
import * as fc from "fast-check";
import { afterAll, expect, test } from "vitest";

const TIMES = Number(process.env["JP_FUZZ_TIMES"] ?? 1);
const SEED = process.env["JP_FUZZ_SEED"];
const TIMEOUT_MS = 180_000;
/** Much more than a run takes on a machine that has other things to do. */
const TIMEOUT_PER_RUN_MS = 10;

// For coverage-program.ts: Vitest ends a worker before Node writes its coverage.
if (process.env["NODE_V8_COVERAGE"] !== undefined) afterAll(() => takeCoverage());

/** After each run, checks that `Object.prototype` is not polluted. */
export function fuzz<Values>(
  title: string,
  runs: number,
  property: fc.IAsyncPropertyWithHooks<Values> | fc.IPropertyWithHooks<Values>,
): void {
  property.afterEach(() => {
    if (foreignMembers().length > 0) throw new Error(`polluted by ${foreignMembers().join(", ")}`);
  });
  // oxlint-disable-next-line vitest/valid-title -- The caller passes a literal.
  test(title, { timeout: Math.max(TIMEOUT_MS, runs * TIMEOUT_PER_RUN_MS) * TIMES }, async () => {
    await fc.assert(property, {
      numRuns: runs * TIMES,
      ...(SEED !== undefined && { seed: Number(SEED) }),
    });
    expect(foreignMembers()).toEqual([]);
  });
}

const OWN_MEMBERS: ReadonlySet<string> = new Set(Object.getOwnPropertyNames(Object.prototype));

function foreignMembers(): readonly string[] {
  return Object.getOwnPropertyNames(Object.prototype).filter((name) => !OWN_MEMBERS.has(name));
}

/** The error that a call throws, or undefined. */
export function thrownBy(call: () => unknown): unknown {
  try {
    call();
    return undefined;
  } catch (error) {
    return error;
  }
}

/**
 * Whether `JSON.parse` returns the value that was written. That of Node 24 takes a key such as `"` for one that ends with a
 * backslash, if it has seen that in the same place of another object.
 */
export function canParse(value: unknown): boolean {
  const text = JSON.stringify(value);
  return JSON.stringify(JSON.parse(text)) === text;
}
