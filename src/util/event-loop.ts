/** Keeps the event loop responsive during long synchronous work. */

/** Short enough that someone typing does not notice the delay. */
const MAX_BLOCKING_MS = 10;

/** When the event loop is last known to have completed an iteration. */
let lastTurnAt = 0;

/**
 * Usage: `if (shouldYield()) await yieldToEventLoop();`. Check right before each step, so that only as many
 * concurrent tasks continue as fit into one iteration of the loop.
 */
export function shouldYield(): boolean {
  return monotonicMs() - lastTurnAt >= MAX_BLOCKING_MS;
}

/** Resolves once other pending callbacks have run. */
export async function yieldToEventLoop(): Promise<void> {
  do {
    const askedAt = monotonicMs();
    await new Promise((resolve) => setImmediate(resolve));
    // The first waiting task to resume records the new iteration.
    if (lastTurnAt < askedAt) lastTurnAt = monotonicMs();
  } while (shouldYield());
}

/** A monotonic clock. `performance.now()` would first load a Node module, which adds 4 ms to a command's start. */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e3 + nanoseconds / 1e6;
}
