/** Of a flood of progress messages only so many are passed on; the rest is thrown away. */
import type { Clock } from "../util/index.ts";

const MAX_AT_ONCE = 20;
const INTERVAL_MS = 100;

/** A few at once, and after that one for each interval. */
export class ProgressLimit {
  readonly #clock: Clock;
  /** Until then there was one for each interval. */
  #usedUntil = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  allows(): boolean {
    const now = this.#clock.now().getTime();
    const usedUntil = Math.max(now, this.#usedUntil) + INTERVAL_MS;
    if (usedUntil - now > MAX_AT_ONCE * INTERVAL_MS) return false;
    this.#usedUntil = usedUntil;
    return true;
  }
}
