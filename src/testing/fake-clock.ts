/** A clock for tests. */
import type { Clock } from "../util/index.ts";

/** A clock that moves only when `advance` is called. */
export class FakeClock implements Clock {
  #now: number;
  readonly #sleepers = new Set<{ readonly until: number; readonly wake: () => void }>();

  constructor(start: Date | string = "2026-01-02T03:04:05.678Z") {
    this.#now = new Date(start).getTime();
  }

  now(): Date {
    return new Date(this.#now);
  }

  /** Resolves once `advance` has moved the clock far enough. */
  sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    if (signal.aborted) reject(signal.reason as Error);
    const sleeper = { until: this.#now + milliseconds, wake: resolve };
    this.#sleepers.add(sleeper);
    const onAbort = () => reject(signal.reason as Error);
    signal.addEventListener("abort", onAbort, { once: true });
    return promise.finally(() => {
      this.#sleepers.delete(sleeper);
      signal.removeEventListener("abort", onAbort);
    });
  }

  /** How many `sleep` calls are pending. */
  get sleepers(): number {
    return this.#sleepers.size;
  }

  /** Moves the clock and wakes every sleeper that is due. */
  advance(milliseconds: number): void {
    this.#now += milliseconds;
    for (const { until, wake } of this.#sleepers) if (until <= this.#now) wake();
  }
}
