/** A workspace whose conversations are in a database that fails, and its commands, each in a process. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { Database } from "../../src/stores/postgres/database.ts";
import { migrate } from "../../src/stores/postgres/schema.ts";
import { type ChatBody, ModelServer, type Reply } from "../cli/model-server.ts";
import { Relay } from "../support/postgres-relay.ts";
import { PostgresServer } from "../support/postgres.ts";
import { makePlace, type Workplace } from "./place.ts";
import type { Fault } from "./plan.ts";
import type { Random } from "./random.ts";

const JP = path.join(import.meta.dirname, "../../dist/bin/jp.cjs");
const FAULTS = path.join(import.meta.dirname, "fault-program.ts");
/** A command that takes longer hangs. */
const HANGING_MS = 120_000;
/** The files that a turn in files changes: the first and last exist before. */
export const CHANGED = ["a", "b", "c"];

const LEDGERS = ["ledger", "file_ledger"] as const;
type Ledger = (typeof LEDGERS)[number];

/** Asks once, then adds a line outside of the workspace. */
const TOOL = `
read -r document || exit 1
case $document in
  *'"answers":{}'*)
    echo '{"type":"needs_input","question":{"id":"sure","text":"Add it?","answer_type":"Boolean"}}'
    exit ;;
esac
echo "$1" >>"$2"
sleep 0.05
echo added
`;

export interface CommandOptions {
  readonly killAfterMs?: number;
  /** Stops the process for some time. */
  readonly freeze?: { readonly afterMs: number; readonly forMs: number };
  readonly fault?: Fault;
  /** The name of its terminal. */
  readonly session?: string;
}

export type SpawnedCommand = ChildProcessByStdio<null, Readable, Readable>;

export interface CommandRun {
  readonly words: readonly string[];
  readonly status: number | null;
  readonly wasKilled: boolean;
  readonly isHanging: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

export class ChaosSite implements AsyncDisposable {
  readonly place: Workplace;
  readonly server: PostgresServer;
  readonly url: string;
  readonly relay: Relay;
  /** Not through the relay. */
  readonly database: Database;
  readonly #model: ModelServer;
  readonly #random: Random;

  private constructor(
    parts: Pick<ChaosSite, "place" | "server" | "url" | "relay" | "database"> & {
      readonly model: ModelServer;
      readonly random: Random;
    },
  ) {
    this.place = parts.place;
    this.server = parts.server;
    this.url = parts.url;
    this.relay = parts.relay;
    this.database = parts.database;
    this.#model = parts.model;
    this.#random = parts.random;
  }

  static async start(random: Random): Promise<ChaosSite> {
    const server = new PostgresServer();
    const url = await server.url;
    const database = new Database(url);
    await migrate(database);
    const relay = await Relay.start(url, () => true);
    const model = await ModelServer.start(replyTo);
    const place = makePlace();
    prepare(place, model);
    return new ChaosSite({ place, server, url, relay, database, model, random });
  }

  /** A line for each run of a tool. Conversations in files may have the ids of those in the database. */
  ledger(kind: Ledger): readonly string[] {
    const file = ledgerOf(this.place, kind);
    return existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : [];
  }

  /** Directly to the server or through the relay, by chance. */
  spawn(words: readonly string[], { fault, session = "" }: CommandOptions = {}): SpawnedCommand {
    const { root, round } = this.place;
    const isRelayed = this.#random.next() < 0.5;
    const faults = fault === undefined ? [] : ["--import", FAULTS];
    return spawn(process.execPath, [...faults, JP, ...words], {
      cwd: root,
      env: {
        ...variablesOf(this.place),
        JP_STORE: isRelayed ? this.relay.url : this.url,
        JP_CFG_STORAGE_WORKSPACE: "abc12",
        JP_SESSION: session,
        TORTURE_ROUND: round,
        ...(fault !== undefined && { TORTURE_FAULT: JSON.stringify(fault) }),
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
  }

  async run(words: readonly string[], options: CommandOptions = {}): Promise<CommandRun> {
    const child = this.spawn(words, options);
    const { killAfterMs, freeze } = options;
    let isHanging = false;
    const timers = [
      setTimeout(() => {
        isHanging = true;
        child.kill("SIGKILL");
      }, HANGING_MS),
    ];
    if (killAfterMs !== undefined)
      timers.push(setTimeout(() => child.kill("SIGKILL"), killAfterMs));
    if (freeze !== undefined) {
      const { afterMs, forMs } = freeze;
      timers.push(setTimeout(() => child.kill("SIGSTOP"), afterMs));
      timers.push(setTimeout(() => child.kill("SIGCONT"), afterMs + forMs));
    }
    const [stdout, stderr, [status, signal]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, "close") as Promise<[number | null, NodeJS.Signals | null]>,
    ]);
    for (const timer of timers) clearTimeout(timer);
    return { words, status, wasKilled: signal === "SIGKILL", isHanging, stdout, stderr };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.database.close();
    await this.relay[Symbol.asyncDispose]();
    await this.#model[Symbol.asyncDispose]();
    this.server[Symbol.dispose]();
    this.place.remove();
  }
}

function variablesOf({ data, folder }: Workplace): Readonly<Record<string, string>> {
  return {
    PATH: process.env["PATH"] ?? "",
    HOME: data,
    JP_USER_DATA_DIR: data,
    JP_GLOBAL_CONFIG_DIR: path.join(folder, "config"),
    XDG_CACHE_HOME: path.join(folder, "cache"),
    NO_COLOR: "1",
  };
}

function ledgerOf({ notes }: Workplace, kind: Ledger): string {
  return path.join(notes, kind);
}

function prepare(place: Workplace, model: ModelServer): void {
  const config = path.join(place.folder, "config");
  const tool = path.join(place.notes, "tool.sh");
  mkdirSync(config);
  mkdirSync(path.join(place.folder, "cache"));
  writeFileSync(tool, TOOL);
  const lines = [
    model.config,
    ...LEDGERS.flatMap((kind) => ledgerTool(tool, kind, ledgerOf(place, kind))),
    "[conversation.tools.fs_create_file]",
    'run = "unattended"',
    "enable = true",
    "[conversation.tools.fs_create_file.questions]",
    "create_file = { answer = true }",
    "overwrite_file = { answer = true }",
  ];
  writeFileSync(path.join(config, "config.toml"), `${lines.join("\n")}\n`);
}

function ledgerTool(tool: string, kind: Ledger, file: string): readonly string[] {
  const words = [tool, "{{context.conversation_id}}", file].map((word) => JSON.stringify(word));
  return [
    `[conversation.tools.${kind}]`,
    'source = "local"',
    'description = "Adds a line."',
    `command = { program = "sh", args = [${words.join(", ")}], shell = false }`,
    'run = "ask"',
    "enable = true",
    `subject_ignore = [${JSON.stringify(file)}]`,
  ];
}

/** The message `Change n` also changes files. */
function replyTo({ messages }: ChatBody): Reply {
  if (messages.at(-1)?.role === "tool") return "It is added.";
  const asked = messages.findLast(({ role }) => role === "user");
  const [, number] = /Change (\d+)/.exec(JSON.stringify(asked?.content)) ?? [];
  const changes = CHANGED.map((name) => ({
    name: "fs_create_file",
    arguments: { path: `${number}-${name}.txt`, content: "after\n" },
  }));
  const ledger: Ledger = number === undefined ? "ledger" : "file_ledger";
  const call = { name: ledger, arguments: {} };
  return { text: "I add it.", calls: number === undefined ? [call] : [call, ...changes] };
}
