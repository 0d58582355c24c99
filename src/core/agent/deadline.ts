/**
 * When a question stops waiting. The time is on record, so a deadline also passes while no process runs.
 *
 * Clocks can be set. A waiting process closes its prompt once the clock reaches the deadline, or once the time that was
 * left at the start has elapsed, whichever comes first: setting the clock back cannot keep a prompt open. A process
 * that resumes never waits longer than the question's original time.
 */
import { type Timestamp, timestampToMilliseconds } from "../../record/conversation/index.ts";
import type { Clock } from "../../util/index.ts";
import type { ClosingReason } from "./stop-cause.ts";

/** The longest time between two looks at the clock: it may be set, or the machine may sleep. */
const MAX_SLEEP_MS = 30_000;

/** Like every reason to abort, an `AbortError`: providers report any other as a failed request. */
class TimedOut extends DOMException implements ClosingReason {
  readonly notice = "This question was not answered in time.";

  constructor() {
    super("The deadline has passed.", "AbortError");
  }
}

/** Whether the signal was aborted by a deadline. */
export function isTimedOut({ reason }: AbortSignal): boolean {
  return reason instanceof TimedOut;
}

/** A running deadline. `stop` it once the question no longer waits. */
export class Deadline {
  readonly at: Timestamp;
  readonly #clock: Clock;
  readonly #passed = new AbortController();
  readonly #stopped = new AbortController();

  /** `since`: when the question was asked. */
  constructor(clock: Clock, at: Timestamp, since: Timestamp) {
    this.at = at;
    this.#clock = clock;
    const end = timestampToMilliseconds(at);
    const given = end - timestampToMilliseconds(since);
    const left = Math.min(end - clock.now().getTime(), given);
    if (left <= 0) this.#passed.abort(new TimedOut());
    else void this.#watch(end, left).catch(() => undefined); // It throws when stopped.
  }

  /** Aborted when the time is up. */
  get signal(): AbortSignal {
    return this.#passed.signal;
  }

  stop(): void {
    this.#stopped.abort();
  }

  async #watch(end: number, milliseconds: number): Promise<void> {
    let left = milliseconds;
    for (;;) {
      const pause = Math.min(left, end - this.#clock.now().getTime(), MAX_SLEEP_MS);
      if (pause <= 0) break;
      await this.#clock.sleep(pause, this.#stopped.signal);
      left -= pause;
    }
    this.#passed.abort(new TimedOut());
  }
}
