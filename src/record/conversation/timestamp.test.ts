import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ShapeError } from "../../util/index.ts";
import {
  compareTimestamps,
  parseTimestamp,
  timestampFromDate,
  timestampToMilliseconds,
} from "./timestamp.ts";

test.each([
  "2026-01-02 03:04:05.123456789",
  "2026-01-02 03:04:05.678",
  "2026-01-02 03:04:05.0",
  "2026-01-02 03:04:05",
  "2026-01-02T03:04:05Z",
  "2026-01-02T03:04:05.123456+02:00",
  "2024-02-29 23:59:59.9",
])("the time %s is read and kept unchanged", (text) => {
  expect(parseTimestamp(text)).toBe(text);
});

test.each<[string, unknown, string]>([
  ["no value", undefined, "nothing"],
  ["a number", 1767323045, "number"],
  ["a list deeper than a stack", JSON.parse("[".repeat(20_000) + "]".repeat(20_000)), "array"],
  ["a word", "yesterday", "a string"],
  ["a day without a time", "2026-01-02", "a string"],
  ["ten digits of a second", "2026-01-02 03:04:05.1234567890", "a string"],
  ["a point without digits", "2026-01-02 03:04:05.", "a string"],
  ["a thirteenth month", "2026-13-02 03:04:05.0", "a string"],
  ["a thirtieth of February", "2026-02-30 03:04:05.0", "a string"],
  ["an hour twenty-four", "2026-01-02 24:00:00.0", "a string"],
  ["a zone twenty-five hours away", "2026-01-02T03:04:05+25:00", "a string"],
])("%s is not a time", (_, value, shown) => {
  expect(() => parseTimestamp(value)).toThrow(
    new ShapeError("timestamp", `expected a time like "2026-01-02 03:04:05.678", got ${shown}`),
  );
});

test("the error has the path of the field", () => {
  expect(() => parseTimestamp("soon", "pinned_at")).toThrow(
    new ShapeError("pinned_at", 'expected a time like "2026-01-02 03:04:05.678", got a string'),
  );
});

test("a time is written without trailing zeros, but with at least one fractional digit", () => {
  const times = ["000", "500", "050", "120", "678", "007"].map((milliseconds) =>
    timestampFromDate(new Date(`2026-01-02T03:04:05.${milliseconds}Z`)),
  );
  expect(times).toEqual([
    "2026-01-02 03:04:05.0",
    "2026-01-02 03:04:05.5",
    "2026-01-02 03:04:05.05",
    "2026-01-02 03:04:05.12",
    "2026-01-02 03:04:05.678",
    "2026-01-02 03:04:05.007",
  ]);
});

test("any time survives a round trip", () => {
  const moments = fc.date({
    min: new Date("0001-01-01"),
    max: new Date("9999-12-31"),
    noInvalidDate: true,
  });
  fc.assert(
    fc.property(moments, (date) => {
      const text = parseTimestamp(timestampFromDate(date));
      expect(timestampToMilliseconds(text)).toBe(date.getTime());
    }),
  );
});

test("digits after milliseconds are truncated, and the zone is applied", () => {
  const times = [
    "2026-01-02 03:04:05.1239",
    "2026-01-02 03:04:05.9999999",
    "2026-01-02T05:04:05+02:00",
    "2026-01-02T03:04:05Z",
  ].map((text) => timestampToMilliseconds(parseTimestamp(text)) - Date.UTC(2026, 0, 2, 3, 4, 5));
  expect(times).toEqual([123, 999, 0, 0]);
});

test.each([
  ["2026-01-02 03:04:05.123456788", "2026-01-02 03:04:05.123456789", -1],
  ["2026-01-02 03:04:05.123456789", "2026-01-02 03:04:05.123456788", 1],
  ["2026-01-02 03:04:05.1", "2026-01-02 03:04:05.100000000", 0],
  ["2026-01-02 03:04:05", "2026-01-02 03:04:05.0", 0],
  ["2026-01-02 03:04:05.9", "2026-01-02 03:04:06.0", -1],
  ["2026-01-02 03:04:05.5", "2026-01-02T05:04:05.5+02:00", 0],
  ["2026-01-02T03:30:00+02:00", "2026-01-02 02:00:00.0", -1],
  ["1969-12-31 23:59:59.9", "1969-12-31 23:59:59.10", 1],
  ["1969-12-31 23:59:59.9", "1970-01-01 00:00:00.5", -1],
])("%s and %s are compared with full precision", (left, right, order) => {
  expect(compareTimestamps(parseTimestamp(left), parseTimestamp(right))).toBe(order);
});
