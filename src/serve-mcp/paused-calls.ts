/** Calls that wait for a request with the answer. Each can be taken up once, and not for ever. */
import { randomUUID } from "node:crypto";
import type { Clock } from "../util/index.ts";
import type { RoundTripCall } from "./round-trip-call.ts";

/** A client that has gone does not say so: after this it is taken for gone. */
export const PATIENCE_MS = 60 * 60 * 1000;

interface PausedCall {
  readonly call: RoundTripCall;
  readonly taken: AbortController;
}

export class PausedCalls {
  readonly #clock: Clock;
  readonly #paused = new Map<string, PausedCall>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What it is taken up by. A call that is being ended is not kept. */
  pause(call: RoundTripCall): string {
    const key = randomUUID();
    if (call.signal.aborted) return key;
    const taken = new AbortController();
    this.#paused.set(key, { call, taken });
    const waiting = AbortSignal.any([taken.signal, call.signal]);
    void this.#clock.sleep(PATIENCE_MS, waiting).then(
      () => call.stop(),
      () => undefined, // It was taken up, or has ended by itself.
    );
    call.signal.addEventListener("abort", () => this.#paused.delete(key), { once: true });
    return key;
  }

  /** Undefined if it was taken up before, or has ended. */
  take(key: string): RoundTripCall | undefined {
    const { call, taken } = this.#paused.get(key) ?? {};
    this.#paused.delete(key);
    taken?.abort();
    return call;
  }
}
