/**
 * Caches the records that this process released last: a service opens the same conversation for a message, for the
 * answer to a question and for the next message, and need not read all of it each time.
 */
import type { LoadedEvents } from "./event-file.ts";
import { fingerprintOf } from "./fingerprint.ts";

/** The maximum size of the cached records, in bytes on disk. They take several times as much memory. */
const MAX_BYTES = 16 << 20;

/** By file, the most recent last. */
const recent = new Map<string, { readonly loaded: LoadedEvents; readonly bytes: number }>();
let total = 0;

export function keepRecent(loaded: LoadedEvents, bytes: number): void {
  forget(loaded.file);
  if (bytes > MAX_BYTES) return;
  recent.set(loaded.file, { loaded, bytes });
  total += bytes;
  for (const [file] of recent) {
    if (total <= MAX_BYTES) break;
    forget(file);
  }
}

/** Undefined if it is not cached, or another program has changed the file. The next writer adds to its list of entries. */
export function findRecent(file: string): LoadedEvents | undefined {
  const loaded = recent.get(file)?.loaded;
  return loaded?.fingerprint === fingerprintOf(file) ? loaded : undefined;
}

/** Like `findRecent`, but removes it: the caller may change it. */
export function takeRecent(file: string): LoadedEvents | undefined {
  const loaded = findRecent(file);
  forget(file);
  return loaded;
}

function forget(file: string): void {
  const found = recent.get(file);
  if (found === undefined) return;
  recent.delete(file);
  total -= found.bytes;
}
