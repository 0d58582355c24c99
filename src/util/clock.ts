/** Time as a port: only the command line picks the system clock; everything else is passed one. */

export interface Clock {
  now(): Date;
  /** Throws the signal's reason when it is aborted. */
  sleep(milliseconds: number, signal: AbortSignal): Promise<void>;
}

/** The longest delay `setTimeout` supports. A longer one would fire immediately. */
export const MAX_TIMER_MS = 2_147_483_647;

/** This machine's clock. */
export const systemClock: Clock = { now: () => new Date(), sleep };

async function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  const onAbort = () => reject(signal.reason as Error); // Any value; rejected unchanged.
  signal.addEventListener("abort", onAbort, { once: true });
  return promise.finally(() => {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  });
}
