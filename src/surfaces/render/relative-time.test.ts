import { expect, test } from "vitest";
import { relativeTime } from "./relative-time.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const MOMENT = Date.UTC(2026, 0, 2, 3, 4, 5);

test.each([
  [0, "just now"],
  [MINUTE - 1, "just now"],
  [MINUTE, "1 minute ago"],
  [2 * MINUTE - 1, "1 minute ago"],
  [2 * MINUTE, "2 minutes ago"],
  [HOUR - 1, "59 minutes ago"],
  [HOUR, "1 hour ago"],
  [DAY - 1, "23 hours ago"],
  [DAY, "1 day ago"],
  [7 * DAY - 1, "6 days ago"],
  [7 * DAY, "1 week ago"],
  [30 * DAY - 1, "4 weeks ago"],
  [30 * DAY, "1 month ago"],
  [365 * DAY - 1, "12 months ago"],
  [365 * DAY, "1 year ago"],
  [20 * 365 * DAY, "20 years ago"],
])("%d milliseconds before now is %s", (distance, text) => {
  expect(relativeTime(MOMENT - distance, MOMENT)).toBe(text);
});

test.each([
  [MINUTE - 1, "just now"],
  [MINUTE, "in 1 minute"],
  [3 * DAY, "in 3 days"],
])("%d milliseconds after now is %s", (distance, text) => {
  expect(relativeTime(MOMENT + distance, MOMENT)).toBe(text);
});
