/** Workers of a site, and what happens to them, to the server and to connections, by chance. */
import { once } from "node:events";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import type { ChaosSite, SpawnedCommand } from "./chaos-site.ts";
import type { Random } from "./random.ts";

const WORKERS = 3;
/** So many commands end between two troubles, however busy the machine is. */
const MAX_COMMANDS = 7;
/** A server that is down for longer refuses nothing either, as long as it is less than 20 seconds. */
const MAX_DOWN_MS = 2500;
/** Leases expire after ten seconds. */
const MAX_FREEZE_MS = 13_000;
/** Longer than a worker's own grace period. */
const STOP_MS = 40_000;
/** In its log. It may report that a poll has failed, because the next one follows, but must not give up a turn for that. */
const REFUSED =
  /"turn_end".*Cannot reach the store|no queue for workers|Unexpected error|\[object Object\]/;

interface WorkerRun {
  readonly child: SpawnedCommand;
  readonly ended: Promise<void>;
  /** Set before a signal that ends it. */
  expected: "nothing" | "kill" | "stop";
}

export class Trouble implements AsyncDisposable {
  readonly #site: ChaosSite;
  readonly #random: Random;
  readonly #workers: (WorkerRun | undefined)[] = [];
  readonly #passing = new Set<Promise<void>>();
  #isOver = false;
  #ended = 0;
  #tell = Promise.withResolvers<void>();
  /** How long the server was down at most. A busy machine takes long to start it. */
  longestMs = 0;
  /** How often each has happened. */
  readonly counts = new Map<string, number>();
  readonly problems: string[] = [];

  constructor(site: ChaosSite, random: Random) {
    this.#site = site;
    this.#random = random;
  }

  /** Until it is over. Then everything runs again. */
  async run(): Promise<void> {
    for (let index = 0; index < WORKERS; index += 1) this.#start(index);
    while (!this.#isOver) {
      await this.#untilEnded(this.#random.next() * MAX_COMMANDS);
      const [name, happen] = this.#next();
      this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
      await happen();
    }
    await Promise.all(this.#passing);
  }

  end(): void {
    this.#isOver = true;
    this.#tell.resolve();
  }

  /** Told of each command that has ended. */
  onCommand(): void {
    this.#ended += 1;
    this.#tell.resolve();
    this.#tell = Promise.withResolvers();
  }

  async #untilEnded(count: number): Promise<void> {
    const wanted = this.#ended + count;
    while (this.#ended < wanted && !this.#isOver) await this.#tell.promise;
  }

  /** Ends all workers in good order. */
  async stopWorkers(): Promise<void> {
    await Promise.all(this.#workers.map((_worker, index) => this.#stop(index)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const index of this.#workers.keys()) await this.#kill(index);
  }

  #next(): readonly [string, () => Promise<void>] {
    const { relay, database } = this.#site;
    const index = Math.floor(this.#random.next() * WORKERS);
    const happenings = {
      "a worker killed": async () => {
        await this.#kill(index);
        this.#start(index);
      },
      "a worker stopped": async () => {
        this.#pass(async () => {
          await this.#stop(index);
          if (this.#workers[index] === undefined) this.#start(index);
        });
      },
      "a worker frozen": async () => this.#pass(() => this.#freeze(index)),
      "a worker killed while it starts": async () => {
        await this.#kill(index);
        this.#start(index);
        await sleep(this.#random.next() * 600);
        await this.#kill(index);
        this.#start(index);
      },
      "connections terminated": async () => {
        await database.query({
          text: `select pg_terminate_backend(pid) from pg_stat_activity
            where pid <> pg_backend_pid() and backend_type = 'client backend' and random() < $1`,
          values: [this.#random.next()],
        });
      },
      "connections cut": async () => relay.cut(),
      "a flood of false wake-ups": async () => {
        await database.query({
          text: `select pg_notify('jp', 'w' || n || ':' || md5(n::text)) from generate_series(1, 1000) as n`,
        });
      },
      "a fast shutdown": () => this.#restart("stop"),
      "an immediate shutdown": () => this.#restart("crash"),
      "a killed server": () => this.#restart("kill"),
    };
    const all = Object.entries(happenings);
    const chosen = all[Math.floor(this.#random.next() * all.length)];
    if (chosen === undefined) throw new Error("nothing can happen");
    return chosen;
  }

  async #restart(how: "stop" | "crash" | "kill"): Promise<void> {
    const begin = performance.now();
    await this.#site.server.tell(how);
    await sleep(this.#random.next() * MAX_DOWN_MS);
    await this.#site.server.tell("start");
    this.longestMs = Math.max(this.longestMs, performance.now() - begin);
  }

  /** Does not hold up the others. */
  #pass(action: () => Promise<void>): void {
    const passing = action().finally(() => this.#passing.delete(passing));
    this.#passing.add(passing);
  }

  #start(index: number): void {
    const child = this.#site.spawn(["worker", "--concurrency", "4", "--format", "json"]);
    const ended = Promise.withResolvers<void>();
    const run: WorkerRun = { child, ended: ended.promise, expected: "nothing" };
    this.#workers[index] = run;
    void this.#watch(run).finally(ended.resolve);
  }

  async #watch(run: WorkerRun): Promise<void> {
    const { child } = run;
    let isReady = false;
    createInterface({ input: child.stdout }).on("line", (line) => {
      isReady = true;
      if (REFUSED.test(line)) this.problems.push(`a worker says: ${line}`);
    });
    const [stderr, [status]] = await Promise.all([
      text(child.stderr),
      once(child, "close") as Promise<[number | null]>,
    ]);
    // Before it listens to signals, they end it.
    const isStopped = run.expected === "stop" && (status === 0 || (status === null && !isReady));
    if (run.expected === "kill" || isStopped) return;
    this.problems.push(`a worker (${run.expected}) has ended with ${status}: ${stderr}`);
  }

  async #kill(index: number): Promise<void> {
    const run = this.#workers[index];
    if (run === undefined) return;
    run.expected = "kill";
    run.child.kill("SIGKILL");
    await run.ended;
  }

  async #stop(index: number): Promise<void> {
    const run = this.#workers[index];
    if (run === undefined || run.expected !== "nothing") return;
    run.expected = "stop";
    run.child.kill("SIGTERM");
    const isLate = await Promise.race([
      run.ended.then(() => false),
      sleep(STOP_MS, true, { ref: false }),
    ]);
    // Someone else may have killed it meanwhile.
    if (isLate) {
      this.problems.push("a worker does not stop on SIGTERM");
      await this.#kill(index);
    }
    if (this.#workers[index] === run) this.#workers[index] = undefined;
  }

  async #freeze(index: number): Promise<void> {
    const { child } = this.#workers[index] ?? {};
    child?.kill("SIGSTOP");
    await sleep(this.#random.next() ** 2 * MAX_FREEZE_MS);
    child?.kill("SIGCONT");
  }
}
