/** Waiting for promises: until a signal aborts, or for a limited time. */

/** Rejects with the signal's reason as soon as it aborts. The work itself is not cancelled. */
export async function abortable<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  work.catch(() => undefined); // After an abort, nothing else handles a rejection.
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

/** Waits for a promise for a limited time: true if it settled, either way, before the time was up. */
export async function settlesWithin(
  work: Promise<unknown>,
  milliseconds: number,
): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<false>();
  const timer = setTimeout(resolve, milliseconds, false);
  try {
    return await Promise.race([Promise.allSettled([work]).then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
