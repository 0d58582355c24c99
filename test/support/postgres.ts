/** A PostgreSQL server for tests: the one that `JP_TEST_POSTGRES` names, or one of its own until the tests have ended. */
import { type ChildProcess, spawn } from "node:child_process";
import path from "node:path";
import { createInterface } from "node:readline";
import { Database } from "../../src/stores/postgres/database.ts";
import { migrate } from "../../src/stores/postgres/schema.ts";

const PROGRAM = path.join(import.meta.dirname, "postgres-program.ts");

export class PostgresServer implements Disposable {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly url: Promise<string>;
  #errors = "";

  constructor(variables: NodeJS.ProcessEnv = {}) {
    const env = { ...process.env, ...variables };
    this.#child = spawn(process.execPath, [PROGRAM], { stdio: "pipe", env });
    const { stdout, stderr } = this.#child;
    if (stdout === null) throw new Error("the server has no output");
    stderr?.on("data", (text: Buffer) => {
      this.#errors += text.toString();
    });
    this.#lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
    this.url = this.#nextLine();
  }

  /** Ends it without warning, with an immediate or with a fast shutdown, or starts it again. */
  async tell(command: "kill" | "crash" | "stop" | "start"): Promise<void> {
    await this.url;
    this.#child.stdin?.write(`${command}\n`);
    await this.#nextLine();
  }

  /** The tests may end while it runs. */
  unref(): void {
    this.#child.unref();
    for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) {
      (stream as { unref?: () => void } | null)?.unref?.(); // A socket, which has it.
    }
  }

  [Symbol.dispose](): void {
    this.#child.stdin?.end();
  }

  async #nextLine(): Promise<string> {
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error(`PostgreSQL does not run: ${this.#errors}`);
    return value;
  }
}

let shared: Promise<string> | undefined;

let migrated: Promise<string> | undefined;

/** The address of a database with the tables of a store, for all tests of this process: each uses a workspace of its own. */
export function migratedDatabase(): Promise<string> {
  migrated ??= (async () => {
    const url = await postgresUrl();
    const database = new Database(url);
    await migrate(database);
    await database.close();
    return url;
  })();
  return migrated;
}

/** The address of a database without tables. */
export async function emptyDatabase(): Promise<string> {
  const url = await postgresUrl();
  const name = `jp_${crypto.randomUUID().replaceAll("-", "")}`;
  const database = new Database(url);
  await database.query({ text: `create database ${name}` });
  await database.close();
  const address = new URL(url);
  address.pathname = `/${name}`;
  return address.href;
}

/** The address of a server that the tests of this process share. It starts with the first of them. */
function postgresUrl(): Promise<string> {
  shared ??= startShared();
  return shared;
}

async function startShared(): Promise<string> {
  const given = process.env["JP_TEST_POSTGRES"];
  if (given !== undefined) return given;
  const server = new PostgresServer();
  const url = await server.url;
  server.unref();
  return url;
}
