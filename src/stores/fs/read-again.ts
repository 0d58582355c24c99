/** Remembers what small files say: a service opens the same conversation for each of its questions. */
import { lstatSync } from "node:fs";
import { fingerprint, isSettled } from "./fingerprint.ts";

interface ReadFile {
  readonly fingerprint: string;
  readonly value: unknown;
}

/** By path, the latest last. */
const known = new Map<string, ReadFile>();
const MAX_FILES = 256;
/** Larger ones would fill the memory. */
const MAX_BYTES = 1 << 16;

/**
 * Calls `read`, or returns its last value if the file has not changed since. The value must not be changed. Throws what
 * `read` throws.
 */
export function readAgain<Value>(file: string, read: () => Value): Value {
  const stats = lstatSync(file, { bigint: true, throwIfNoEntry: false });
  const found = known.get(file);
  known.delete(file);
  if (stats === undefined) return read();
  const current = fingerprint(stats);
  const value = found?.fingerprint === current ? (found.value as Value) : read();
  const isKept = stats.size <= MAX_BYTES && isSettled(Number(stats.mtimeNs) / 1e6);
  if (isKept) remember(file, { fingerprint: current, value });
  return value;
}

function remember(file: string, found: ReadFile): void {
  known.set(file, found);
  for (const first of known.keys()) {
    if (known.size <= MAX_FILES) break;
    known.delete(first);
  }
}
