/** Shared by the benches of many machines: a database server, workers in separate processes, and waiting turns. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { migrateStore } from "../../src/index.ts";
import { Database } from "../../src/stores/postgres/database.ts";
import { PostgresStore } from "../../src/stores/postgres/postgres-store.ts";
import { PostgresServer } from "../../test/support/postgres.ts";

/** The settings of a server that keeps what it has confirmed. */
const SETTINGS = { JP_TEST_FSYNC: "on", JP_TEST_SHARED_BUFFERS: "128MB" };

const TABLE = `create schema bench;
  create table bench.runs (conversation text not null)`;

export class Fleet implements AsyncDisposable {
  readonly server: PostgresServer;
  readonly url: string;
  readonly workspace = "bench";
  readonly database: Database;
  readonly store: PostgresStore;
  readonly #workers = new Set<FleetWorker>();

  private constructor(server: PostgresServer, url: string) {
    this.server = server;
    this.url = url;
    this.database = new Database(url);
    this.store = new PostgresStore({ url, workspace: this.workspace, pid: process.pid });
  }

  static async start(): Promise<Fleet> {
    const server = new PostgresServer(SETTINGS);
    const fleet = new Fleet(server, await server.url);
    await migrateStore(fleet.url);
    await fleet.database.query({ text: TABLE });
    return fleet;
  }

  /** Leaves turns from a separate process, which is as fast as a service would be. */
  async leaveTurns(count: number): Promise<void> {
    const child = this.#run("leave-program.mjs", [String(count)]);
    const [status] = (await once(child, "close")) as [number | null];
    if (status !== 0) throw new Error("The turns could not be left.");
  }

  async startWorker(concurrency: number): Promise<FleetWorker> {
    const child = this.#run("worker-program.mjs", [String(concurrency)]);
    const worker = new FleetWorker(child);
    this.#workers.add(worker);
    await Promise.race([
      once(child.stdout ?? child, "data"),
      once(child, "close").then(() => {
        throw new Error("A worker has ended.");
      }),
    ]);
    return worker;
  }

  /** Waits until at most this many turns are incomplete. */
  async untilOpen(most: number): Promise<void> {
    while ((await this.countOpen()) > most) await sleep(20);
  }

  /** Waits until no turn can continue. Counting the open ones of very many would take time from the workers. */
  async untilIdle(): Promise<void> {
    const text = "select from jp.conversations where ready_at is not null limit 1";
    while ((await this.database.query({ text })).length > 0) await sleep(20);
  }

  async countOpen(): Promise<number> {
    const [row] = await this.database.query<{ readonly count: string }>({
      text: `select count(*) from jp.conversations c join jp.workspaces w on w.key = c.workspace
        where w.name = $1 and c.open_turn is not null`,
      values: [this.workspace],
    });
    return Number(row?.count);
  }

  /** Tool runs by conversation. */
  async countRuns(): Promise<ReadonlyMap<string, number>> {
    const rows = await this.database.query<{ readonly id: string; readonly count: string }>({
      text: "select conversation as id, count(*) from bench.runs group by conversation",
    });
    return new Map(rows.map(({ id, count }) => [id, Number(count)]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const worker of this.#workers) await worker.kill();
    await this.store.close();
    await this.database.close();
    this.server[Symbol.dispose]();
  }

  #run(program: string, words: readonly string[]): ChildProcess {
    const file = path.join(import.meta.dirname, program);
    return spawn(process.execPath, [file, this.url, this.workspace, ...words], {
      stdio: ["ignore", "pipe", "inherit"],
    });
  }
}

export class FleetWorker {
  readonly #child: ChildProcess;

  constructor(child: ChildProcess) {
    this.#child = child;
  }

  /** In megabytes. */
  get peakMemory(): number {
    const status = readFileSync(`/proc/${this.#child.pid}/status`, "utf8");
    return (Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) * 1024) / 1e6;
  }

  /** `SIGSTOP` freezes it, and `SIGCONT` resumes it. */
  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    this.#child.kill(signal);
  }

  /** Kills it without warning. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, "close");
    this.#child.kill("SIGKILL");
    await ended;
  }
}
