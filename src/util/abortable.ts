/** Abortable waiting, for work that does not take an `AbortSignal` itself. */

/** Rejects with the signal's reason as soon as it aborts. The work itself is not cancelled. */
export async function abortable<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  work.catch(() => undefined); // After an abort, no one else handles a rejection.
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
