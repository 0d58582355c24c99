/** A clock that stands still until it is told to move. */
import type { Clock } from "../util/index.ts";

/** A clock that stands still until `advance` moves it. */
export class FakeClock implements Clock {
  #now: number;
  readonly #sleepers = new Set<{ readonly until: number; readonly wake: () => void }>();

  constructor(start: Date | string = "2026-01-02T03:04:05.678Z") {
    this.#now = new Date(start).getTime();
  }

  now(): Date {
    return new Date(this.#now);
  }

  /** Wakes when the clock was moved far enough. */
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

  /** How many are waiting for it to move. */
  get sleepers(): number {
    return this.#sleepers.size;
  }

  /** Moves it, and wakes whoever waited for that moment. */
  advance(milliseconds: number): void {
    this.#now += milliseconds;
    for (const { until, wake } of this.#sleepers) if (until <= this.#now) wake();
  }
}
