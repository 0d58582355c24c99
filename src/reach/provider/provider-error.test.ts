import * as fc from "fast-check";
import { expect, test } from "vitest";
import { maxRetriesFor, ProviderError, RetryCounter, retryDelay } from "./provider-error.ts";

const POLICY = { maxRetries: 5, baseBackoffMs: 1000, maxBackoffMs: 60_000 };

function overloaded(retryAfterMs?: number): ProviderError {
  return new ProviderError("overloaded", "Busy.", {
    isRetryable: true,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

test("each delay doubles, up to the maximum", () => {
  const policy = { ...POLICY, maxRetries: 8 };
  const delays = [0, 1, 2, 3, 4, 5, 6, 7, 8].map((retries) =>
    retryDelay(policy, retries, overloaded()),
  );
  expect(delays).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, undefined]);
});

test("a server that is starting is asked about every two seconds, for about a minute", () => {
  const error = new ProviderError("starting", "Loading model.", { isRetryable: true });
  const delays = Array.from({ length: 31 }, (_, retries) => retryDelay(POLICY, retries, error));
  expect(maxRetriesFor(POLICY, error)).toBe(30);
  expect(delays).toEqual([1000, ...Array.from({ length: 29 }, () => 2000), undefined]);
});

test("a server that is starting is not asked again by those who want no retries or shorter ones", () => {
  const error = new ProviderError("starting", "Loading model.", { isRetryable: true });
  const none = { ...POLICY, maxRetries: 0 };
  const short = { ...POLICY, maxBackoffMs: 500 };
  expect([
    [maxRetriesFor(none, error), retryDelay(none, 0, error)],
    [maxRetriesFor(short, error), retryDelay(short, 9, error)],
  ]).toEqual([
    [0, undefined],
    [30, 500],
  ]);
});

test.each([
  [0, 0],
  [1500, 1500],
  [60_001, 60_000],
  [86_400_000, 60_000],
])("a provider that asks for %d ms gets %d ms", (asked, expected) => {
  expect(retryDelay(POLICY, 3, overloaded(asked))).toBe(expected);
});

test("permanent errors and errors of other kinds are not retried", () => {
  const permanent = new ProviderError("refused", "No.", { isRetryable: false, retryAfterMs: 1 });
  const errors = [permanent, new Error("bug"), "text", undefined];
  expect(errors.map((error) => retryDelay(POLICY, 0, error))).toEqual(errors.map(() => undefined));
});

test("a delay is never negative and never above the maximum", () => {
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

test("waiting for a server to start takes nothing from the retries of other errors", () => {
  const retries = new RetryCounter({ ...POLICY, maxRetries: 1 });
  const starting = new ProviderError("starting", "Loading model.", { isRetryable: true });
  const made = [starting, starting, overloaded(), overloaded()].map(
    (error) => retries.next(error)?.retry,
  );
  expect(made).toEqual([1, 2, 1, undefined]);
});
