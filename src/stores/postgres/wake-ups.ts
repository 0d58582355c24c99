/**
 * Wake-ups for workers, in a pg-boss queue. They are hints: the rows of conversations determine what is ready, and
 * workers poll those too. So if the queue fails or does not exist, the only cost is a delay of a second.
 */
import { createHash } from "node:crypto";
import type { Clock, ConstructorOptions, PgBoss } from "pg-boss";
import type * as Package from "pg-boss";
import type { ConversationId } from "../../record/conversation/index.ts";
import { monotonicMs } from "../../util/index.ts";
import { StorageError } from "../storage-error.ts";
import { Channel } from "./channel.ts";
import type { Database, Queries } from "./database.ts";
import { MIGRATION_LOCK } from "./schema.ts";

/** The schema of pg-boss, beside ours. */
const SCHEMA = "jp_queue";
/** The pause after a failure of the queue. */
const RETRY_MS = 30_000;
/** How long the list of queues is cached: a worker may have created another one. */
const KNOWN_MS = 10_000;

/** A conversation whose turn can continue. */
export interface WakeUp {
  readonly workspace: string;
  readonly queue: string;
  readonly id: ConversationId;
  /** In milliseconds since the epoch; absent or 0 for now. */
  readonly at?: number;
}

/** The data of a job. */
export interface WakeUpData {
  readonly id: string;
}

/** Workers of a workspace have their own queues, since jobs cannot be filtered by content. */
export function queueName({ workspace, queue }: Pick<WakeUp, "workspace" | "queue">): string {
  // pg-boss allows few characters in names.
  const name = queue.replaceAll(/[^\w.-]/gu, (char) => `/${char.codePointAt(0)?.toString(16)}/`);
  return `jp.${workspace}.${name}`;
}

/** Throws `store_package_missing`. */
export async function loadBoss(): Promise<typeof Package> {
  try {
    return await import("pg-boss");
  } catch (cause) {
    throw new StorageError("store_package_missing", "Workers need the package pg-boss.", {
      cause,
      hint: "Install it beside jp: npm install pg-boss@12.35.0 (with -g if jp is installed with it).",
    });
  }
}

/** Its timers do not keep a process running. */
const unreferencedClock: Clock = {
  now: () => Date.now(),
  setTimeout: (action, ms) => setTimeout(action, ms).unref(),
  clearTimeout: (handle) => clearTimeout(handle as NodeJS.Timeout),
  setInterval: (action, ms) => setInterval(action, ms).unref(),
  clearInterval: (handle) => clearInterval(handle as NodeJS.Timeout),
};

/** For a sender, on our connections. */
function senderOptions(database: Database): ConstructorOptions {
  return {
    db: executorOf(database),
    schema: SCHEMA,
    clock: unreferencedClock,
    migrate: false,
    createSchema: false,
    supervise: false,
    schedule: false,
  };
}

/**
 * For a worker, on our connections: those of pg-boss end the process if the server goes away while they close. `onListen`
 * gets the channel of the wake-ups, whose caller connects it again.
 */
export function workerOptions(
  database: Database,
  onListen: (channel: Channel | undefined) => void,
): ConstructorOptions {
  return {
    db: {
      executeSql: (text, values = []) => database.queryOnce(text, values),
      listen: async (name, onNotice, onConnected) => {
        const channel = new Channel(database, name);
        const listener = { onNotice, onConnected };
        channel.add(listener);
        onListen(channel);
        return {
          close: async () => {
            onListen(undefined);
            await channel.remove(listener);
          },
        };
      },
    },
    schema: SCHEMA,
    clock: unreferencedClock,
    migrate: false,
    createSchema: false,
    schedule: false,
    useListenNotify: true,
    superviseIntervalSeconds: 2,
    monitorIntervalSeconds: 2,
  };
}

/** Parameterized statements are long and repeated, so the server caches their plans. */
function executorOf(queries: Queries) {
  return {
    executeSql: async (text: string, values: unknown[] = []) => {
      const name = values.length > 0 && { name: nameOf(text) };
      return { rows: [...(await queries.query({ ...name, text, values }))] };
    },
  };
}

function nameOf(text: string): string {
  return `jp_queue_${createHash("sha256").update(text).digest("hex").slice(0, 32)}`;
}

/** Creates or updates the tables of the queue. False without the package. */
export async function migrateQueue(database: Database): Promise<boolean> {
  const found = await loadBoss().catch(() => undefined);
  if (found === undefined) return false;
  const boss = new found.PgBoss({
    ...senderOptions(database),
    migrate: true,
    createSchema: true,
  });
  boss.on("error", () => undefined); // Failures throw.
  await database.transaction(async (queries) => {
    // Its own lock does not cover the schema.
    await queries.query({ text: `select pg_advisory_xact_lock(${MIGRATION_LOCK})` });
    await boss.start();
  });
  await boss.stop({ graceful: false });
  return true;
}

/** The queue rejected it. */
export class WakeUpError extends Error {}

/** A connection to pg-boss, and the known queues. */
interface Sender {
  readonly boss: PgBoss;
  readonly names: ReadonlySet<string>;
  readonly until: number;
}

export class WakeUps {
  readonly #database: Database;
  #boss: Promise<PgBoss> | undefined;
  #sender: Sender | undefined;
  #notBefore = 0;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Loads the list of queues before a transaction, which must not wait for another connection. Never throws. */
  async prepare(): Promise<void> {
    const now = monotonicMs();
    if (now < this.#notBefore || now < (this.#sender?.until ?? 0)) return;
    try {
      this.#boss ??= this.#start();
      const boss = await this.#boss;
      const queues = await boss.getQueues();
      const names = new Set(queues.map(({ name }) => name));
      this.#sender = { boss, names, until: now + KNOWN_MS };
    } catch {
      this.#fail();
    }
  }

  /** Takes effect when the transaction commits. Does nothing if the queue has no workers. Throws `WakeUpError`. */
  async add(queries: Queries, { id, at = 0, ...place }: WakeUp): Promise<void> {
    const name = queueName(place);
    if (this.#sender?.names.has(name) !== true) return;
    const data: WakeUpData = { id };
    const startAfter = at > 0 && { startAfter: new Date(at) };
    try {
      await this.#sender.boss.send(name, data, { db: executorOf(queries), ...startAfter });
    } catch (cause) {
      this.#fail();
      throw new WakeUpError("the queue has refused a wake-up", { cause });
    }
  }

  /** Never throws. */
  async send(wakeUp: WakeUp): Promise<void> {
    await this.prepare();
    await this.add(this.#database, wakeUp).catch(() => undefined);
  }

  async close(): Promise<void> {
    const boss = await this.#boss?.catch(() => undefined);
    await boss?.stop({ graceful: false, close: false });
  }

  #fail(): void {
    this.#boss = undefined;
    this.#sender = undefined;
    this.#notBefore = monotonicMs() + RETRY_MS;
  }

  async #start(): Promise<PgBoss> {
    const { PgBoss } = await loadBoss();
    const boss = new PgBoss(senderOptions(this.#database));
    boss.on("error", () => undefined); // Polling makes up for a lost hint.
    await boss.start();
    return boss;
  }
}
