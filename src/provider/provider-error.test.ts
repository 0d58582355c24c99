import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ProviderError, retryDelay } from "./provider-error.ts";

const POLICY = { maxRetries: 5, baseBackoffMs: 1000, maxBackoffMs: 60_000 };

function overloaded(retryAfterMs?: number): ProviderError {
  return new ProviderError("overloaded", "Busy.", {
    isRetryable: true,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

test("every pause is twice as long as the one before, up to the longest", () => {
  const policy = { ...POLICY, maxRetries: 8 };
  const delays = [0, 1, 2, 3, 4, 5, 6, 7, 8].map((retries) =>
    retryDelay(policy, retries, overloaded()),
  );
  expect(delays).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, undefined]);
});

test.each([
  [0, 0],
  [1500, 1500],
  [60_001, 60_000],
  [86_400_000, 60_000],
])("a provider that asks for %d ms gets %d", (asked, expected) => {
  expect(retryDelay(POLICY, 3, overloaded(asked))).toBe(expected);
});

test("what will fail again, and what no provider said, is not tried again", () => {
  const hopeless = new ProviderError("refused", "No.", { isRetryable: false, retryAfterMs: 1 });
  const errors = [hopeless, new Error("bug"), "text", undefined];
  expect(errors.map((error) => retryDelay(POLICY, 0, error))).toEqual(errors.map(() => undefined));
});

test("a pause is always a time that can be waited, never above the longest", () => {
  fc.assert(
    fc.property(
      fc.record({ maxRetries: fc.nat(), baseBackoffMs: fc.nat(), maxBackoffMs: fc.nat() }),
      fc.nat(),
      fc.option(fc.nat(), { nil: undefined }),
      (policy, retries, asked) => {
        const delay = retryDelay(policy, retries, overloaded(asked));
        expect(delay === undefined).toBe(retries >= policy.maxRetries);
        expect(delay ?? 0).toBeGreaterThanOrEqual(0);
        expect(delay ?? 0).toBeLessThanOrEqual(policy.maxBackoffMs);
      },
    ),
  );
});
