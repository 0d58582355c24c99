/** A workspace whose conversations are in a database, and the commands that work on it, as processes. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { DeskClient } from "../../src/surfaces/desk/client.ts";
import { ensureMachineKey } from "../../src/proof/index.ts";
import { PostgresStore } from "../../src/stores/postgres/postgres-store.ts";
import { DeskProcess } from "../../test/desk/support.ts";
import { JP, run } from "../measure.ts";
import { benchVariables, writeUserConfig } from "../workspace.ts";
import type { Fleet } from "./fleet.ts";

/** The state its processes share. */
export interface Site {
  readonly root: string;
  readonly fleet: Fleet;
  readonly variables: Readonly<Record<string, string>>;
}

/** `config` is the lines of the user's own config. */
export function prepareSite(folder: string, fleet: Fleet, config: readonly string[]): Site {
  mkdirSync(path.join(folder, ".jp"));
  writeFileSync(path.join(folder, ".jp", ".id"), fleet.workspace);
  writeUserConfig(folder, config);
  const variables = {
    ...benchVariables(folder),
    JP_STORE: fleet.url,
    JP_CFG_STORAGE_WORKSPACE: fleet.workspace,
  };
  return { root: folder, fleet, variables };
}

/** Opens the store with this user's key, as the command would. */
export async function openSite({ root, fleet, variables }: Site): Promise<PostgresStore> {
  const environment = { variables, home: root, platform: process.platform };
  const { privateKey } = await ensureMachineKey(environment);
  const keys = async () => ({ privateKey });
  const { url, workspace } = fleet;
  return new PostgresStore({ url, workspace, pid: process.pid, keys });
}

/** The processes of the commands. */
export class Crew implements AsyncDisposable {
  readonly #site: Site;
  readonly #workers: (ChildProcess | undefined)[] = [];
  #desk: DeskProcess | undefined;
  #token: string | undefined;

  constructor(site: Site) {
    this.#site = site;
  }

  async startWorker(index: number): Promise<void> {
    const { root, variables } = this.#site;
    const words = [JP, "worker", "--concurrency", "8", "--format", "json"];
    const child = spawn(process.execPath, words, {
      cwd: root,
      env: variables,
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#workers[index] = child;
    await Promise.race([
      once(child.stdout, "data"),
      once(child, "close").then(() => {
        throw new Error("A worker has ended.");
      }),
    ]);
    child.stdout.resume();
  }

  signalWorker(index: number, signal: NodeJS.Signals): void {
    this.#workers[index]?.kill(signal);
  }

  async killWorker(index: number): Promise<void> {
    const child = this.#workers[index];
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "close");
    child.kill("SIGKILL");
    await ended;
  }

  async startDesk(): Promise<void> {
    const { root, variables } = this.#site;
    this.#token ??= await this.#addPerson();
    this.#desk = await DeskProcess.start({ root, variables });
  }

  /** Throws if it was not started. */
  get desk(): DeskProcess {
    if (this.#desk === undefined) throw new Error("The desk was not started.");
    return this.#desk;
  }

  async killDesk(): Promise<void> {
    await this.#desk?.kill();
  }

  get client(): DeskClient {
    return new DeskClient({ url: this.#desk?.url ?? "", token: this.#token ?? "" });
  }

  async #addPerson(): Promise<string> {
    const { root, variables } = this.#site;
    const words = [JP, "serve", "people", "add", "bench"];
    return (await run(process.execPath, words, { env: variables, cwd: root })).output.trim();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.killDesk();
    for (const index of this.#workers.keys()) await this.killWorker(index);
  }
}
