import { expect, test } from "vitest";
import { findRetryAfter, readFailure } from "./read-failure.ts";

const now = new Date("2026-11-15T12:00:00Z");

test.each([
  [{ "retry-after-ms": "250", "retry-after": "9" }, 250],
  [{ "retry-after": "9" }, 9000],
  [{ "retry-after": "1.5" }, 1500],
  [{ "retry-after": "Sun, 15 Nov 2026 12:00:30 GMT" }, 30_000],
  [{ "retry-after": "Sun, 15 Nov 2026 11:00:00 GMT" }, 0],
  [{ "retry-after": "soon" }, undefined],
  [{}, undefined],
])("%j means %s ms", (responseHeaders, expected) => {
  expect(findRetryAfter(readFailure({ responseHeaders }), now)).toBe(expected);
});

test("Google sends the delay in the body", () => {
  const details = [{ "@type": "…RetryInfo", retryDelay: "34.5s" }];
  const data = { error: { code: 429, message: "Quota", status: "RESOURCE_EXHAUSTED", details } };
  expect(findRetryAfter(readFailure({ data }), now)).toBe(34_500);
});
