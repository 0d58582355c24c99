/**
 * Timestamps of the record: `2026-01-02 03:04:05.678`, in UTC without a zone, with one to nine
 * fractional digits. They stay text, because a `Date` would lose all digits after the third.
 */
import { mismatch } from "../../util/index.ts";

declare const brand: unique symbol;

/** Unchanged from the record: our own form, or RFC 3339 in older records. */
export type Timestamp = string & { readonly [brand]: "Timestamp" };

const PATTERN =
  /^(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))[ T]((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:\.(\d{1,9}))?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)?$/i;

/** Sorts like text: it has no zone, and no zeros at the end that could differ. */
const SORTABLE = /^.{10} .{8}\.(?:0|\d*[1-9])$/;

/** Throws `ShapeError` if the value is not a time in either form. */
export function parseTimestamp(value: unknown, path = "timestamp"): Timestamp {
  const timestamp = findTimestamp(value);
  if (timestamp !== undefined) return timestamp;
  throw mismatch(path, 'a time like "2026-01-02 03:04:05.678"', value);
}

/** Undefined if the value is not a time. */
export function findTimestamp(value: unknown): Timestamp | undefined {
  const isTime = typeof value === "string" && PATTERN.test(value) && isRealDay(value);
  return isTime ? (value as Timestamp) : undefined; // Checked on the line above.
}

/** In the form of the record, in UTC. */
export function timestampFromDate(date: Date): Timestamp {
  const text = date.toISOString();
  const zeros = text.endsWith("00Z") ? 2 : text.endsWith("0Z") ? 1 : 0;
  return text.replace("T", " ").slice(0, -1 - zeros) as Timestamp;
}

/** Milliseconds since the epoch, truncated. */
export function timestampToMilliseconds(timestamp: Timestamp): number {
  // Our own form, without the pattern: a list needs a thousand of them.
  if (timestamp.length <= 23 && timestamp[10] === " " && timestamp[19] === ".") {
    return Date.parse(`${timestamp.slice(0, 10)}T${timestamp.slice(11)}Z`);
  }
  const [, day, time, fraction = "", zone = "Z"] = PATTERN.exec(timestamp) ?? [];
  return Date.parse(`${day}T${time}.${fraction.slice(0, 3).padEnd(3, "0")}${zone}`);
}

/** Compares with full precision. */
export function compareTimestamps(left: Timestamp, right: Timestamp): number {
  if (SORTABLE.test(left) && SORTABLE.test(right)) {
    return left < right ? -1 : left > right ? 1 : 0;
  }
  const difference = toNanoseconds(left) - toNanoseconds(right);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

function toNanoseconds(timestamp: Timestamp): bigint {
  const fraction = PATTERN.exec(timestamp)?.[3] ?? "";
  const seconds = Math.floor(timestampToMilliseconds(timestamp) / 1000);
  return BigInt(seconds) * 1_000_000_000n + BigInt(fraction.padEnd(9, "0"));
}

/** The pattern accepts 31 days in every month. */
function isRealDay(text: string): boolean {
  const day = Number(text.slice(8, 10));
  if (day <= 28) return true;
  const last = new Date(Date.UTC(Number(text.slice(0, 4)), Number(text.slice(5, 7)), 0));
  return day <= last.getUTCDate();
}
