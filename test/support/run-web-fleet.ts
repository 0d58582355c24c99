/** Uses `examples/web-fleet` as its users would: a web process and two workers, one of which is killed while it pays. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";
import { migrateStore } from "../../src/index.ts";
import { temporaryFolder } from "../../src/stores/temporary-workspace.fixture.ts";
import { Database } from "../../src/stores/postgres/database.ts";
import type { JsonObject } from "../../src/util/index.ts";
import { emptyDatabase } from "./postgres.ts";

const FOLDER = path.join(import.meta.dirname, "..", "..", "examples", "web-fleet");

/** A process of the example, which prints lines. It is killed when the test ends. */
class Program {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  readonly #lines: string[] = [];
  #more = Promise.withResolvers<void>();

  constructor(file: string, cwd: string, variables: Readonly<Record<string, string>>) {
    this.#child = spawn(process.execPath, [path.join(FOLDER, file)], {
      cwd,
      env: { ...process.env, ...variables },
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#ended = once(this.#child, "close").finally(() => this.#wake());
    onTestFinished(async () => void (await this.end("SIGKILL")));
    const { stdout } = this.#child;
    if (stdout === null) throw new Error("the program has no output");
    createInterface({ input: stdout }).on("line", (line) => {
      this.#lines.push(line);
      this.#wake();
    });
  }

  /** The first line like this one that it prints, or has printed. */
  async line(pattern: RegExp): Promise<string> {
    for (;;) {
      const found = this.#lines.find((line) => pattern.test(line));
      if (found !== undefined) return found;
      const { exitCode, signalCode } = this.#child;
      if (exitCode !== null || signalCode !== null) throw new Error("the program has ended");
      await this.#more.promise;
    }
  }

  /** Returns its exit status, or the signal that has ended it. */
  async end(signal: "SIGTERM" | "SIGKILL"): Promise<number | string | null> {
    this.#child.kill(signal);
    await this.#ended;
    return this.#child.exitCode ?? this.#child.signalCode;
  }

  #wake(): void {
    this.#more.resolve();
    this.#more = Promise.withResolvers();
  }
}

interface Followed {
  readonly isDone: boolean;
  readonly text: string;
  readonly questions: readonly {
    readonly id: string;
    readonly digest?: string;
    readonly question: { readonly text: string };
  }[];
}

/** What clients of the web process do. */
class Client {
  readonly #url: string;

  constructor(port: number) {
    this.#url = `http://127.0.0.1:${port}/`;
  }

  async get<Result>(name = ""): Promise<Result> {
    const response = await fetch(`${this.#url}${name}`);
    return (await response.json()) as Result; // What the example sends.
  }

  async post<Result>(name: string, body: JsonObject): Promise<Result> {
    const request = { method: "POST", body: JSON.stringify(body) };
    const response = await fetch(`${this.#url}${name}`, request);
    return (await response.json()) as Result; // What the example sends.
  }

  /** Once the turn has ended or waits. */
  async follow(name: string): Promise<Followed> {
    return this.get(name);
  }

  /** Returns what was asked, and what became of the answer. */
  async answer(name: string, answer: string) {
    const [asked] = (await this.follow(name)).questions;
    const body = { id: asked?.id ?? "", digest: asked?.digest ?? "", answer, by: "Zoe" };
    const { type } = await this.post<{ readonly type?: string }>(name, body);
    return { asked: asked?.question.text, type };
  }
}

export async function tryWebFleet() {
  const cwd = temporaryFolder();
  const url = await emptyDatabase();
  await migrateStore(url);
  // Such a payment ends only with its worker.
  const variables = { DATABASE_URL: url, PORT: "0", PAYMENT_MS: "1000000" };
  const web = new Program("web.ts", cwd, variables);
  const first = new Program("worker.ts", cwd, variables);
  const address = JSON.parse(await web.line(/^\{/)) as { readonly port: number }; // What it prints.
  const client = new Client(address.port);
  const { conversation: id } = await client.post<{ readonly conversation: string }>("", {
    text: "Refund my order.",
  });
  const refused = await client.answer(id, "mattress");
  const waiting = (await client.get<Pick<Followed, "questions">>()).questions.length;
  const taken = await client.answer(id, "savings");
  while (payments(cwd) === 0) await new Promise(setImmediate);

  const second = new Program("worker.ts", cwd, variables);
  await second.line(/^ready$/);
  await first.end("SIGKILL");
  await expireLeases(url);
  const doubted = await client.answer(id, "skip");
  const { isDone, text } = await client.follow(id);
  await second.line(new RegExp(`^${id} done$`));
  const ends = [await second.end("SIGTERM"), await web.end("SIGTERM")];
  return { refused, waiting, taken, doubted, isDone, text, paid: payments(cwd), ends };
}

function payments(folder: string): number {
  const file = path.join(folder, "payments.txt");
  return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n").length : 0;
}

/** As if ten seconds had passed since a process was gone. */
async function expireLeases(url: string): Promise<void> {
  const database = new Database(url);
  await database.query({
    text: "update jp.conversations set lease_until = now() - interval '1 second'",
  });
  await database.close();
}

export const WEB_FLEET: Awaited<ReturnType<typeof tryWebFleet>> = {
  refused: { asked: "Which account?", type: "refused" },
  waiting: 1,
  taken: { asked: "Which account?", type: "recorded" },
  doubted: {
    asked: "refund was cut off while it was running, and may or may not have finished. What now?",
    type: "recorded",
  },
  isDone: true,
  text: "Done.",
  paid: 1,
  ends: [0, 0],
};
