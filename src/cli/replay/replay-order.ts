/**
 * Schedules a replay: one event after another, in the recorded order and at the recorded time. Everything that
 * depends on the record waits here. When nothing can proceed by itself, the first recorded event does. Finding that
 * out takes at most one turn of the event loop, so no timer is needed.
 */
import {
  type ConversationEvent,
  timestampToMilliseconds,
} from "../../record/conversation/index.ts";
import { abortable, type Clock } from "../../util/index.ts";

/** The position of an event that never happens. */
export const NEVER = Number.POSITIVE_INFINITY;

export interface OrderOptions {
  /** Called when nothing before this position can proceed. Returns whether something may now. */
  readonly onQuiet: (position: number) => boolean;
  /** Called once. */
  readonly onEnd: () => void;
}

export class ReplayOrder {
  readonly #options: OrderOptions;
  readonly #waiting = new Map<() => void, number>();
  #running = 0;
  #isLooking = false;
  #isOver = false;

  constructor(options: OrderOptions) {
    this.#options = options;
  }

  /** The process has ended. Later events do not count. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Waits until everything before this position has happened or cannot happen. Returns early if the process ends. */
  async until(position: number, signal?: AbortSignal): Promise<void> {
    if (this.#isOver) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.set(resolve, position);
    this.#look();
    if (signal === undefined) await promise;
    else await abortable(promise, signal).catch(() => undefined);
    this.#waiting.delete(resolve);
  }

  /** Waits for work outside the replay, and makes everything else wait for it. */
  async during<Value>(work: Promise<Value>): Promise<Value> {
    this.#running += 1;
    try {
      return await work;
    } finally {
      this.#running -= 1;
      this.#look();
    }
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#options.onEnd();
    for (const resume of this.#waiting.keys()) resume();
  }

  /** By the next turn of the event loop, everything has gone as far as it can. */
  #look(): void {
    if (this.#isLooking || this.#isOver) return;
    this.#isLooking = true;
    setImmediate(() => {
      this.#isLooking = false;
      if (this.#running === 0 && !this.#isOver) this.#goOn();
    });
  }

  #goOn(): void {
    const [first] = [...this.#waiting].toSorted(([, left], [, right]) => left - right);
    if (first === undefined) return undefined;
    const [resume, position] = first;
    if (this.#options.onQuiet(position)) return this.#look();
    if (position === NEVER) return this.end();
    this.#waiting.delete(resume);
    resume();
    return this.#look();
  }
}

/** A replay's clock, which skips idle time, so that deadlines pass again. */
export class ReplayClock implements Clock {
  readonly #clock: Clock;
  readonly #sleepers = new Set<AbortController>();
  #aheadMs = 0;
  #delayMs: number;

  /** `delayMs` is the delay so far. The given clock may be stopped. */
  constructor(clock: Clock, delayMs: number) {
    this.#clock = clock;
    this.#delayMs = delayMs;
  }

  /** The largest delay behind the record. */
  get delayMs(): number {
    return this.#delayMs;
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

  /** Advances to this event, which is next. Returns whether time has passed. */
  skipTo({ timestamp }: ConversationEvent): boolean {
    const time = timestampToMilliseconds(timestamp) + this.#delayMs;
    const aheadMs = time - this.#clock.now().getTime();
    if (aheadMs <= this.#aheadMs) return false;
    this.#aheadMs = aheadMs;
    for (const sleeper of this.#sleepers) sleeper.abort();
    return true;
  }

  /** Notes that this event has happened again. */
  note({ timestamp }: ConversationEvent): void {
    const delay = this.now().getTime() - timestampToMilliseconds(timestamp);
    this.#delayMs = Math.max(this.#delayMs, delay);
  }
}

/** Stopped, so that a replay without live parts does not depend on the machine's time. */
export const stoppedClock: Clock = {
  now: () => new Date(0),
  sleep: (_milliseconds, signal) => untilAborted(signal),
};

/** Throws the signal's reason when it is aborted. */
export function untilAborted(signal: AbortSignal): Promise<never> {
  return abortable(new Promise<never>(() => undefined), signal);
}
