/** A clock that stands still until it is told to move. */
import type { Clock } from "../util/index.ts";

export class FakeClock implements Clock {
  #now: number;

  constructor(start: Date | string = "2026-01-02T03:04:05.678Z") {
    this.#now = new Date(start).getTime();
  }

  now(): Date {
    return new Date(this.#now);
  }

  advance(milliseconds: number): void {
    this.#now += milliseconds;
  }
}
