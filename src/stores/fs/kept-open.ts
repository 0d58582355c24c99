/**
 * Keeps the files of the last few writers open between their writes. Opening them again costs more than a write, but a
 * process may have thousands of turns that wait, and only so many open files.
 */

/** How many writers keep their files open while they write nothing. */
const MOST = 4;

/** Functions that close the files of idle writers. That of the last to write is at the end. */
const idle = new Set<() => void>();

/** Nothing is being written: `close` may be called from now on, once. */
export function mayClose(close: () => void): void {
  idle.add(close);
  for (const first of idle) {
    if (idle.size <= MOST) break;
    idle.delete(first);
    first();
  }
}

/** The files are used again, or closed. */
export function mayNotClose(close: () => void): void {
  idle.delete(close);
}
