/**
 * Finds turns that a worker can continue: by wake-ups, which are fast, and by polling the rows, which misses nothing.
 * Both only make it try: one statement then takes whichever turn has been ready longest, and that nobody else takes.
 */
import type { ConversationId } from "../../record/conversation/index.ts";
import { monotonicMs, toError } from "../../util/index.ts";
import type { ConversationWriter, RunningWork, WorkLoad, WorkOptions } from "../port.ts";
import type { Channel } from "./channel.ts";
import { Hearing } from "./hearing.ts";
import { type WakeUpReader, wakeUpReader } from "./wake-ups.ts";
import type { WorkspaceRows } from "./workspace-rows.ts";

/** The polling interval while notifications arrive. */
const LOOK_MS = 1000;
/** The polling interval without notifications. */
const DEAF_LOOK_MS = 250;
/** The least pause between two polls. */
const MIN_LOOK_MS = 50;
/** How long to skip a turn that was taken but cannot continue on this machine. */
const SKIP_MS = 60_000;
/** Beyond that, polling finds the rest. */
const MAX_HINTS = 10_000;
/** The longest that a worker leaves a turn to others, which are faster or do less. */
const MAX_DELAY_MS = 20;

/** The part of the store that a worker needs. */
export interface WorkPlace {
  /** The key of the workspace. */
  readonly workspace: string;
  /** Takes the turn that has been ready longest, except these. Undefined if there is none. */
  take(skipped: readonly ConversationId[]): Promise<ConversationWriter | undefined>;
  readonly channel: Channel;
  readonly rows: Pick<WorkspaceRows, "readBacklog" | "measureWork" | "database">;
}

export class TurnWork implements RunningWork {
  readonly #place: WorkPlace;
  readonly #options: WorkOptions;
  readonly #hearing: Hearing;
  /** Slots in use: turns that run, and attempts to take one. */
  readonly #slots = new Set<Promise<void>>();
  readonly #running = new Set<ConversationId>();
  readonly #skipped = new Map<ConversationId, number>();
  /** Turns that were put back, and reported. */
  readonly #reported = new Set<ConversationId>();
  /** Turns that are said to be ready, oldest first, with the number of the hint. */
  readonly #hints = new Map<ConversationId, number>();
  #lastHint = 0;
  /** How many turns the last poll has found that were not tried since. */
  #backlog = 0;
  /** The tenant's limit of running turns is reached: the end of each lets another one start. */
  #isLimited = false;
  /** How often in a row others were faster. */
  #losses = 0;
  #delay: NodeJS.Timeout | undefined;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #lookedAt = 0;
  #isStopping = false;

  constructor(place: WorkPlace, options: WorkOptions) {
    this.#place = place;
    this.#options = options;
    const { workspace, channel, rows } = place;
    const readWakeUp: WakeUpReader = wakeUpReader({ workspace, queue: options.queue });
    this.#hearing = new Hearing(
      { channel, database: rows.database, workspace, readWakeUp },
      {
        onWakeUp: (id) => this.#onWakeUp(id),
        hasHints: () => this.#hints.size > 0,
        onChange: (id) => this.#hints.delete(id),
        onProblem: (problem) => options.onProblem?.(problem),
      },
    );
    this.#look();
  }

  get running(): number {
    return this.#running.size;
  }

  measure(): Promise<WorkLoad> {
    return this.#place.rows.measureWork(this.#options.queue);
  }

  /** Takes no more turns, and waits for the running ones. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#delay);
    await this.#looking;
    await Promise.all(this.#slots);
    await this.#hearing.close();
  }

  /** Those that have more to do, and those that were slower before, leave others the first try. */
  #onWakeUp(id: ConversationId): void {
    if (this.#skipped.has(id) || this.#hints.size >= MAX_HINTS) return;
    this.#lastHint += 1;
    this.#hints.set(id, this.#lastHint);
    if (this.#delay !== undefined || this.#slots.size >= this.#options.concurrency) return;
    const most = Math.min(MAX_DELAY_MS, this.#losses + this.#slots.size);
    if (most === 0) return this.#fill();
    this.#delay = setTimeout(() => {
      this.#delay = undefined;
      this.#fill();
    }, Math.random() * most);
  }

  /** Tries to take as many turns as seem to be ready. */
  #fill(): void {
    for (;;) {
      const { size } = this.#slots;
      const tries = size - this.#running.size;
      if (this.#isStopping || size >= this.#options.concurrency) return;
      if (tries >= this.#hints.size + this.#backlog) return;
      const slot = this.#takeAndRun().finally(() => {
        this.#slots.delete(slot);
        this.#fill();
      });
      this.#slots.add(slot);
    }
  }

  /** Never throws. */
  async #takeAndRun(): Promise<void> {
    const lastHint = this.#lastHint;
    try {
      const conversation = await this.#place.take(this.#passed());
      if (conversation === undefined) return this.#foundNone(lastHint);
      this.#losses = 0;
      this.#backlog = Math.max(0, this.#backlog - 1);
      this.#hints.delete(conversation.id);
      this.#running.add(conversation.id);
      try {
        await this.#run(conversation);
      } finally {
        this.#running.delete(conversation.id);
        if (this.#isLimited) this.#backlog = Math.max(1, this.#backlog);
      }
    } catch (error) {
      this.#foundNone(this.#lastHint); // The next poll tries again.
      this.#options.onProblem?.(toError(error));
    }
  }

  /** Not offered here. A turn that was just released may turn out to be one for others. */
  #passed(): readonly ConversationId[] {
    return [...this.#skipped.keys(), ...this.#running];
  }

  async #run(conversation: ConversationWriter): Promise<void> {
    if (conversation.isOwnTurn && (await this.#options.run(conversation)) === "ran") return;
    this.#skipped.set(conversation.id, Date.now() + SKIP_MS);
    this.#reportSteppedBack(conversation);
    await conversation.release();
  }

  /** Others have taken what the hints were about, or may not be taken now. Later hints still count. */
  #foundNone(lastHint: number): void {
    this.#losses = Math.min(this.#losses + 1, MAX_DELAY_MS);
    this.#backlog = 0;
    for (const [id, number] of this.#hints) if (number <= lastHint) this.#hints.delete(id);
    if (this.#running.size > 0) this.#lookWithin(MIN_LOOK_MS); // The limit may be reached.
  }

  #look(): void {
    if (this.#isStopping || this.#looking !== undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#lookedAt = monotonicMs();
    const pause = this.#hearing.check() ? LOOK_MS : DEAF_LOOK_MS;
    this.#looking = this.#lookOnce(pause);
  }

  /** Never throws. */
  async #lookOnce(pause: number): Promise<void> {
    let next: number | undefined;
    try {
      next = await this.#readBacklog();
    } catch (error) {
      this.#options.onProblem?.(toError(error));
    }
    this.#looking = undefined;
    this.#lookWithin(Math.min(pause, next ?? pause));
  }

  #lookWithin(ms: number): void {
    if (this.#isStopping || this.#looking !== undefined) return;
    const due = Math.max(this.#lookedAt + MIN_LOOK_MS, monotonicMs() + ms);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#look(), due - monotonicMs());
  }

  /** Resolves to the time until the next turn is due, if there is one. */
  async #readBacklog(): Promise<number | undefined> {
    const { concurrency, queue } = this.#options;
    const now = Date.now();
    for (const [id, until] of this.#skipped) if (until < now) this.#skipped.delete(id);
    const skipped = this.#passed();
    const found = await this.#place.rows.readBacklog({ queue, skipped, most: concurrency });
    this.#isLimited = found.isLimited;
    this.#backlog = found.ready < concurrency ? found.ready : Number.POSITIVE_INFINITY;
    if (found.isLimited) this.#backlog = 0;
    this.#fill();
    return found.nextMs;
  }

  /** Once, not each time that it is skipped. */
  #reportSteppedBack({ id, steppedBack }: ConversationWriter): void {
    if (steppedBack === undefined || this.#reported.has(id)) return;
    this.#reported.add(id);
    this.#options.onProblem?.(steppedBack);
  }
}
