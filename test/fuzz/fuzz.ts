/**
 * A property as a test: few runs with every `npm test`, as many more as one likes by hand.
 *
 * - `JP_FUZZ_TIMES=100` runs each property a hundred times as often.
 * - `JP_FUZZ_SEED=…` begins where a failure was; fast-check prints the seed with every failure.
 */
import { takeCoverage } from "node:v8";
import * as fc from "fast-check";
import { afterAll, expect, test } from "vitest";

const TIMES = Number(process.env["JP_FUZZ_TIMES"] ?? 1);
const SEED = process.env["JP_FUZZ_SEED"];
const LONGEST_MS = 30_000;

// For coverage-program.ts: a worker is ended before Node could write it by itself.
if (process.env["NODE_V8_COVERAGE"] !== undefined) afterAll(() => takeCoverage());

/** `runs` in the short mode. After each one, nothing may have come into the prototype of all objects. */
export function fuzz<Values>(
  title: string,
  runs: number,
  property: fc.IAsyncPropertyWithHooks<Values> | fc.IPropertyWithHooks<Values>,
): void {
  property.afterEach(() => {
    if (foreignMembers().length > 0) throw new Error(`polluted by ${foreignMembers().join(", ")}`);
  });
  // oxlint-disable-next-line vitest/valid-title -- Whoever calls has written it.
  test(title, { timeout: LONGEST_MS * TIMES }, async () => {
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

/** What a call throws; undefined if it throws nothing. */
export function thrownBy(call: () => unknown): unknown {
  try {
    call();
    return undefined;
  } catch (error) {
    return error;
  }
}
