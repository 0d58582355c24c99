/** A limit on time that only counts while it is told to. */
import { type Clock, MAX_TIMER_MS } from "../util/index.ts";

export class TimeLimit {
  readonly #clock: Clock;
  readonly #onOver: () => void;
  #leftMs: number;
  #running: { readonly since: number; readonly stop: AbortController } | undefined;

  /** Infinite for none. */
  constructor(clock: Clock, milliseconds: number, onOver: () => void) {
    this.#clock = clock;
    this.#leftMs = milliseconds;
    this.#onOver = onOver;
  }

  start(): void {
    if (this.#running !== undefined || this.#leftMs === Number.POSITIVE_INFINITY) return;
    const stop = new AbortController();
    this.#running = { since: this.#clock.now().getTime(), stop };
    const wait = Math.min(Math.max(0, this.#leftMs), MAX_TIMER_MS);
    this.#clock.sleep(wait, stop.signal).then(this.#onOver, () => undefined);
  }

  stop(): void {
    if (this.#running === undefined) return;
    this.#leftMs -= this.#clock.now().getTime() - this.#running.since;
    this.#running.stop.abort();
    this.#running = undefined;
  }
}
