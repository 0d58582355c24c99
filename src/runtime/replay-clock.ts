/** The time of a replay. Where nothing happened then for a while, it skips that while: so deadlines pass again. */
import type { Clock } from "../util/index.ts";

export class ReplayClock implements Clock {
  readonly #clock: Clock;
  readonly #sleepers = new Set<AbortController>();
  #aheadMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): Date {
    return new Date(this.#clock.now().getTime() + this.#aheadMs);
  }

  async sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
    const end = this.now().getTime() + milliseconds;
    for (let left = milliseconds; left > 0; left = end - this.now().getTime()) {
      const skip = new AbortController();
      this.#sleepers.add(skip);
      const either = AbortSignal.any([signal, skip.signal]);
      await this.#clock.sleep(left, either).catch(() => signal.throwIfAborted());
      this.#sleepers.delete(skip);
    }
  }

  /** Does nothing if it is later already. */
  skipTo(milliseconds: number): void {
    this.#aheadMs = Math.max(this.#aheadMs, milliseconds - this.#clock.now().getTime());
    for (const sleeper of this.#sleepers) sleeper.abort();
  }
}
