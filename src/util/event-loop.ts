/** Keeps the event loop responsive during long synchronous work. */

/** Short enough that someone typing does not notice the delay. */
const MAX_BLOCKING_MS = 10;

/** When the event loop is last known to have completed an iteration. */
let lastTurnAt = 0;

/**
 * Usage: `if (shouldYield()) await yieldToEventLoop();`. Check right before each step, so that of
 * several concurrent tasks only as many continue as fit into one iteration of the loop.
 */
export function shouldYield(): boolean {
  return milliseconds() - lastTurnAt >= MAX_BLOCKING_MS;
}

/** Resolves once other pending callbacks have run. */
export async function yieldToEventLoop(): Promise<void> {
  do {
    const askedAt = milliseconds();
    await new Promise((resolve) => setImmediate(resolve));
    // Of several waiting tasks, the first to resume records the new iteration.
    if (lastTurnAt < askedAt) lastTurnAt = milliseconds();
  } while (shouldYield());
}

/** Unlike `performance.now()`, which loads a module of Node first, it costs nothing at the start of a command. */
function milliseconds(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e3 + nanoseconds / 1e6;
}
