/**
 * A connection to PostgreSQL. The package `pg` is loaded, and the connection made, with the first statement.
 *
 * A lost or refused connection is retried for a while: a server that restarts must not end a turn, or the start of a
 * command. So every statement must be safe to repeat, because a connection can be lost after the server has executed it.
 */
import { setTimeout } from "node:timers/promises";
import type * as Pg from "pg";
import type { Client, Pool, PoolClient, QueryResult, QueryResultRow } from "pg";
import { isJpError, messageOf, monotonicMs, systemErrorCode, toError } from "../../util/index.ts";
import { StorageError } from "../storage-error.ts";
import { addressOf, type Connecting } from "./store-options.ts";
import { toRefusal } from "./refusals.ts";

/** How long to retry a lost connection. Longer than a server takes to restart. */
const RETRY_MS = 20_000;
/** How long to wait before the user is told. */
const TELL_MS = 1000;
const FIRST_PAUSE_MS = 20;
const MAX_PAUSE_MS = 500;
const CONNECT_MS = 10_000;
/** A lost network may not report an error. */
const QUERY_MS = 15_000;
const MAX_CONNECTIONS = 10;

/** The time of the server, in milliseconds since the epoch. */
export const SERVER_MS = "floor(extract(epoch from clock_timestamp()) * 1000)::bigint";

export interface Statement {
  /** If it has one, the server caches its plan. */
  readonly name?: string;
  readonly text: string;
  readonly values?: readonly unknown[];
  /** For work that the server may take long for. Otherwise a lost network is assumed after 15 seconds. */
  readonly timeoutMs?: number;
}

/** Runs statements: on any connection, or on the one of a transaction. */
export interface Queries {
  query<Row extends QueryResultRow>(statement: Statement): Promise<readonly Row[]>;
}

export class Database implements Queries {
  /** Without the password. */
  readonly address: string;
  readonly #url: string;
  readonly #connecting: Connecting;
  #hasTold = false;
  #pool: Promise<Pool> | undefined;
  #wasConnected = false;
  #isClosed = false;

  /** Throws `invalid_store`. */
  constructor(url: string, connecting: Connecting = {}) {
    this.#url = url;
    this.#connecting = connecting;
    this.address = addressOf(url);
  }

  /** Throws `store_unreachable`, and the server's errors. */
  query<Row extends QueryResultRow>(statement: Statement): Promise<readonly Row[]> {
    return this.untilConnected(async () => {
      const pool = await this.#open();
      return run<Row>(pool, statement);
    });
  }

  /** Runs the action in a transaction, and repeats it if the connection is lost before the commit is confirmed. */
  transaction<Value>(
    action: (queries: Queries, isRepeated: boolean) => Promise<Value>,
  ): Promise<Value> {
    let count = 0;
    return this.untilConnected(async () => {
      count += 1;
      const client = await (await this.#open()).connect();
      let error: Error | undefined;
      try {
        await client.query("begin");
        const queries: Queries = { query: (statement) => run(client, statement) };
        const value = await action(queries, count > 1);
        await client.query("commit");
        return value;
      } catch (cause) {
        error = toError(cause);
        if (!isLost(error)) await client.query("rollback").catch(() => undefined);
        throw error;
      } finally {
        client.release(error !== undefined && isLost(error) ? error : undefined);
      }
    });
  }

  /** Not retried. The result is that of the driver. Throws the server's errors. */
  async queryOnce(text: string, values: unknown[]): Promise<QueryResult> {
    return (await this.#open()).query(text, values);
  }

  /** A separate connection, which does not keep the process running. Not retried here. */
  async connect(): Promise<ReferencedClient> {
    const { default: pg } = await loadPg();
    const client = new pg.Client(this.#options());
    client.on("error", () => undefined); // Its `end` event says so too.
    await client.connect();
    const referenced = client as ReferencedClient;
    referenced.unref();
    return referenced;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const pool = this.#pool;
    this.#pool = undefined;
    await (await pool?.catch(() => undefined))?.end();
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  #options() {
    return {
      connectionString: this.#url,
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: QUERY_MS,
      application_name: "jp",
      keepAlive: true,
    };
  }

  #open(): Promise<Pool> {
    if (this.#isClosed) throw new StorageError("store_unreachable", "The store is closed.");
    this.#pool ??= this.#createPool();
    return this.#pool;
  }

  async #createPool(): Promise<Pool> {
    const { default: pg } = await loadPg();
    const pool = new pg.Pool({ ...this.#options(), max: MAX_CONNECTIONS, allowExitOnIdle: true });
    // Without listeners, a broken connection would end the process.
    pool.on("error", () => undefined);
    pool.on("connect", (client: PoolClient) => {
      this.#wasConnected = true;
      client.on("error", () => undefined);
    });
    return pool;
  }

  /** Repeats the action while the server restarts. Throws `store_unreachable`, and what the action throws. */
  async untilConnected<Value>(action: () => Promise<Value>): Promise<Value> {
    const { startMs = RETRY_MS, onWait } = this.#connecting;
    const start = monotonicMs();
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, MAX_PAUSE_MS)) {
      try {
        return await action();
      } catch (error) {
        if (!isLost(error)) throw error;
        const mayStart = isRefused(error) ? startMs : 0;
        const limit = this.#wasConnected ? RETRY_MS : mayStart;
        const waited = monotonicMs() - start;
        if (this.#isClosed || limit === 0 || waited > limit) throw this.#unreachableError(error);
        if (!this.#hasTold && waited > TELL_MS) {
          this.#hasTold = true;
          onWait?.(this.address);
        }
        await setTimeout(pause);
      }
    }
  }

  #unreachableError(cause: unknown): StorageError {
    return new StorageError(
      "store_unreachable",
      `Cannot reach the store at ${this.address}: ${reasonOf(cause)}.`,
      {
        cause,
        hint: "Check that the server runs, and the address. What was recorded is safe there.",
      },
    );
  }
}

/** Part of `pg`, but not of its types. */
export type ReferencedClient = Client & { ref(): void; unref(): void };

async function run<Row extends QueryResultRow>(
  on: Pool | PoolClient,
  { name, text, values = [], timeoutMs }: Statement,
): Promise<readonly Row[]> {
  const result: QueryResult<Row> | readonly QueryResult[] = await on
    .query<Row>({
      text,
      values: [...values],
      ...(name !== undefined && { name }),
      ...(timeoutMs !== undefined && { query_timeout: timeoutMs }),
    })
    .catch((error: unknown) => {
      throw toRefusal(error);
    });
  return "rows" in result ? result.rows : []; // Several statements have one result each.
}

/** Throws `store_package_missing`. */
async function loadPg(): Promise<typeof Pg> {
  try {
    return await import("pg");
  } catch (cause) {
    throw new StorageError("store_package_missing", "A store in PostgreSQL needs the package pg.", {
      cause,
      hint: "Install it beside jp: npm install pg (with -g if jp is installed with it).",
    });
  }
}

const LOST_CODES = new Set(
  // Codes of the system, and of a server that shuts down, starts, has crashed, or has too many connections.
  `ECONNREFUSED ECONNRESET EPIPE ETIMEDOUT ENOENT ENOTFOUND EAI_AGAIN
   57P01 57P02 57P03 53300 08000 08001 08003 08006`.split(/\s+/),
);

/** Whether the connection failed, rather than the statement. */
export function isLost(error: unknown): boolean {
  if (isJpError(error)) return false;
  if (LOST_CODES.has(systemErrorCode(error) ?? "")) return true;
  if (error instanceof AggregateError) return error.errors.some(isLost);
  return /Connection terminated|Query read timeout|timeout exceeded when trying to connect|Client has encountered a connection error|Client was closed/.test(
    messageOf(error),
  );
}

/** A server that is down, restarts or starts, unlike one that does not exist or rejects the login. */
const REFUSED_CODES = new Set("ECONNREFUSED ECONNRESET EPIPE ENOENT 57P01 57P02 57P03".split(" "));

function isRefused(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isRefused);
  return (
    REFUSED_CODES.has(systemErrorCode(error) ?? "") ||
    /Connection terminated/.test(messageOf(error))
  );
}

function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return reasonOf(error.errors[0]);
  return messageOf(error).replace(/\.$/, "");
}
