/** Time as a port: nothing below the command line reads the system clock by itself. */

export interface Clock {
  now(): Date;
  /** Throws the signal's reason when it is aborted. */
  sleep(milliseconds: number, signal: AbortSignal): Promise<void>;
}

/** What a timer can wait for; with anything longer it fires at once. */
export const LONGEST_TIMER_MS = 2_147_483_647;

/** The clock of this machine. */
export const systemClock: Clock = { now: () => new Date(), sleep };

async function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  const onAbort = () => reject(signal.reason as Error); // Whatever it is, it is thrown as it is.
  signal.addEventListener("abort", onAbort, { once: true });
  return promise.finally(() => {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  });
}
