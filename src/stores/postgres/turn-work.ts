/**
 * Finds turns that a worker can continue: by wake-ups, which are fast, and by polling the rows, which misses nothing.
 * Both lead to the same lease, so a turn that is found twice runs once.
 */
import type { Job, PgBoss } from "pg-boss";
import { type ConversationId, findConversationId } from "../../record/conversation/index.ts";
import { toError } from "../../util/index.ts";
import type { ConversationWriter, RunningWork, WorkLoad, WorkOptions } from "../port.ts";
import { StorageError } from "../storage-error.ts";
import type { Channel } from "./channel.ts";
import { type Database, isLost } from "./database.ts";
import { loadBoss, queueName, type WakeUpData, workerOptions } from "./wake-ups.ts";
import type { WorkspaceRows } from "./workspace-rows.ts";

/** The polling interval. Wake-ups are faster. */
const LOOK_MS = 1000;
/** How long to skip a turn that was taken but is not this machine's to continue. */
const SKIP_MS = 60_000;
/** Jobs that reach no worker are deleted, so that the queue stays small. */
const QUEUE_OPTIONS = {
  policy: "standard", // Other policies can lose a wake-up, or block all for one.
  notify: true,
  heartbeatSeconds: 10,
  expireInSeconds: 24 * 3600 - 60,
  retryLimit: 3,
  deleteAfterSeconds: 60,
} as const;

/** The part of the store that a worker needs. */
export interface WorkPlace {
  /** The key of the workspace. */
  readonly workspace: string;
  /** Takes the turn if it is ready and free. */
  take(id: ConversationId): Promise<ConversationWriter | undefined>;
  readonly database: Database;
  readonly rows: Pick<WorkspaceRows, "findReady" | "measureWork">;
}

export class TurnWork implements RunningWork {
  readonly #place: WorkPlace;
  readonly #options: WorkOptions;
  readonly #running = new Map<ConversationId, Promise<void>>();
  readonly #waiting: (() => void)[] = [];
  readonly #skipped = new Map<ConversationId, number>();
  #boss: PgBoss | undefined;
  #wakeUps: Channel | undefined;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #isLooking = false;
  /** Some could not be taken, possibly because the tenant's limit of running turns is reached. */
  #hasLeft = false;
  #isStopping = false;

  private constructor(place: WorkPlace, options: WorkOptions) {
    this.#place = place;
    this.#options = options;
  }

  /** Throws `store_package_missing`, `store_not_migrated`, and the signal's reason. */
  static async start(place: WorkPlace, options: WorkOptions): Promise<TurnWork> {
    const work = new TurnWork(place, options);
    try {
      await work.#open();
      return work;
    } catch (error) {
      await work.stop();
      throw error;
    }
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
    for (const wake of this.#waiting.splice(0)) wake();
    await this.#looking;
    await Promise.all(this.#running.values());
    await this.#boss?.stop({ graceful: false }).catch(() => undefined);
  }

  async #open(): Promise<void> {
    const { PgBoss } = await loadBoss();
    this.#boss = await this.#place.database.untilConnected(() => this.#openBoss(PgBoss));
    this.#look();
  }

  /** The queue retries nothing, so its start is retried as a whole. */
  async #openBoss(Boss: typeof PgBoss): Promise<PgBoss> {
    const { signal, onProblem } = this.#options;
    signal?.throwIfAborted();
    const boss = new Boss(
      workerOptions(this.#place.database, (channel) => {
        this.#wakeUps = channel;
      }),
    );
    // The queue recovers by itself, and the rows are polled anyway.
    boss.on("error", (error) => onProblem?.(toError(error)));
    try {
      await boss.start().catch((cause: unknown) => {
        throw isLost(cause) ? cause : noQueueError(cause);
      });
      signal?.throwIfAborted();
      await this.#takeJobs(boss);
      signal?.throwIfAborted();
      return boss;
    } catch (error) {
      await boss.stop({ graceful: false }).catch(() => undefined);
      throw error;
    }
  }

  async #takeJobs(boss: PgBoss): Promise<void> {
    const { queue, concurrency, signal } = this.#options;
    const name = queueName({ workspace: this.#place.workspace, queue });
    await boss.createQueue(name, QUEUE_OPTIONS);
    signal?.throwIfAborted();
    const options = {
      // No more: other workers could run jobs that wait for a slot here.
      batchSize: Math.max(2, Math.ceil(concurrency / 2)),
      burstWhenBatchFull: true,
      pollingIntervalSeconds: 2,
    };
    await boss.work<WakeUpData>(name, options, (jobs) => this.#startAll(jobs));
  }

  /** A wake-up is done once its turn has started: from then on, the lease shows whether someone runs it. */
  async #startAll(jobs: readonly Job<WakeUpData>[]): Promise<void> {
    for (const { data } of jobs) {
      const id = findConversationId(data.id);
      // Releasing it has woken up other workers, and this one.
      if (id !== undefined && !this.#skipped.has(id)) await this.#start(id);
    }
  }

  #look(): void {
    if (this.#isStopping || this.#isLooking) return;
    clearTimeout(this.#timer);
    this.#wakeUps?.connect();
    this.#isLooking = true;
    this.#hasLeft = false;
    this.#looking = this.#findMissed()
      .catch((error: unknown) => this.#options.onProblem?.(toError(error)))
      .finally(() => {
        this.#isLooking = false;
        if (!this.#isStopping) this.#timer = setTimeout(() => this.#look(), LOOK_MS);
      });
  }

  async #findMissed(): Promise<void> {
    const { concurrency, queue } = this.#options;
    const free = concurrency - this.#running.size;
    if (free <= 0) return;
    const now = Date.now();
    for (const [id, until] of this.#skipped) if (until < now) this.#skipped.delete(id);
    const passed = [...this.#skipped.keys(), ...this.#running.keys()];
    const found = await this.#place.rows.findReady(queue, free, passed);
    for (const id of found) if (this.#running.size < concurrency) void this.#start(id);
  }

  /** Waits for a free slot, not for the turn. */
  async #start(id: ConversationId): Promise<void> {
    while (this.#running.size >= this.#options.concurrency && !this.#isStopping) {
      const free = Promise.withResolvers<void>();
      this.#waiting.push(free.resolve);
      await free.promise;
    }
    if (this.#isStopping || this.#running.has(id)) return;
    let isTaken = false;
    const take = async () => {
      isTaken = await this.#take(id);
    };
    const done = take().finally(() => {
      this.#running.delete(id);
      this.#waiting.shift()?.();
      if (this.#hasLeft && isTaken) this.#look();
    });
    this.#running.set(id, done);
  }

  /** Returns whether it was taken. Never throws. */
  async #take(id: ConversationId): Promise<boolean> {
    try {
      const conversation = await this.#place.take(id);
      if (conversation === undefined) {
        this.#hasLeft = true;
        return false;
      }
      if (conversation.isOwnTurn) {
        await this.#options.run(conversation);
      } else {
        this.#skipped.set(id, Date.now() + SKIP_MS);
        await conversation.release();
      }
    } catch (error) {
      this.#options.onProblem?.(toError(error));
    }
    return true;
  }
}

function noQueueError(cause: unknown): StorageError {
  return new StorageError("store_not_migrated", "The database has no queue for workers yet.", {
    cause,
    hint: "Call migrateStore where pg-boss is installed.",
    commandHint: "Run `jp store migrate` where pg-boss is installed.",
  });
}
