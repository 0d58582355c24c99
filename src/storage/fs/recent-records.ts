/**
 * The records that this process has let go of last, as they were: a service opens the same conversation for a message, for the
 * answer to a question and for the next message, and need not read all of it each time.
 */
import type { LoadedEvents } from "./event-file.ts";

/** The most bytes of records. In memory they take several times as much. */
const MAX_BYTES = 16 << 20;

/** By file, the latest last. */
const recent = new Map<string, { readonly loaded: LoadedEvents; readonly bytes: number }>();
let total = 0;

export function keepRecent(loaded: LoadedEvents, bytes: number): void {
  takeRecent(loaded.file);
  if (bytes > MAX_BYTES) return;
  recent.set(loaded.file, { loaded, bytes });
  total += bytes;
  for (const [file] of recent) {
    if (total <= MAX_BYTES) break;
    takeRecent(file);
  }
}

/** Undefined if it is not there. It is only a guess: another program may have changed the file. */
export function takeRecent(file: string): LoadedEvents | undefined {
  const found = recent.get(file);
  if (found === undefined) return undefined;
  recent.delete(file);
  total -= found.bytes;
  return found.loaded;
}
