/** Waiting that can be given up, for work that goes on. */

/** Rejects at once with the signal's reason; what it waited for is not ended by that. */
export async function abortable<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  work.catch(() => undefined); // Nobody may be left to hear of it.
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** Waits for something at most so long. False: it is not over yet. */
export async function isOverWithin(work: Promise<unknown>, milliseconds: number): Promise<boolean> {
  const late = Promise.withResolvers<false>();
  const timer = setTimeout(() => late.resolve(false), milliseconds);
  try {
    return await Promise.race([work.then(isOver, isOver), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function isOver(): true {
  return true;
}

/** The longest time a timer of Node can wait; anything longer fires at once. */
export const LONGEST_TIMER_MS = 2_147_483_647;
