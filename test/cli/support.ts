/** A temporary workspace, and the command in it: inside the test's process, or built and in a child process. */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { text } from "node:stream/consumers";
import type { JsonObject } from "../../src/util/index.ts";
import { type Finished, runCommand } from "../support/command-host.ts";
import { laidOut } from "../../src/stores/record-elements.fixture.ts";
import {
  placeConversation,
  diskFolder,
  temporaryFolder,
} from "../../src/stores/temporary-workspace.fixture.ts";
import { digits, time } from "./records.ts";

const ROOT = path.join(import.meta.dirname, "..", "..");
export const JP = path.join(ROOT, "dist", "bin", "jp.cjs");
/** Makes the command start faster after the first time. */
export const NODE_COMPILE_CACHE = path.join(ROOT, "node_modules", ".cache", "node-compile");
/** Code to preload: `loaded` has the files of the command that were loaded so far. */
export const LIST_LOADED = `const loaded = [];
const vm = require("node:vm");
const { Script } = vm;
vm.Script = class extends Script {
  constructor(code, options) {
    super(code, options);
    loaded.push(options.filename);
  }
};
`;
const SESSION = "the-test";

/** A conversation to create. Its id follows from its time; its files contain only what is given. */
export interface Placed {
  readonly second: number;
  readonly title?: string;
  /** More metadata, or `null` to leave the file out. */
  readonly metadata?: JsonObject | string | null;
  readonly events?: readonly JsonObject[] | string | null;
  /** Absent in the packed format. */
  readonly config?: JsonObject | string;
  readonly where?: "live" | "archive" | "local";
  /** The part of the folder name after the digits. */
  readonly slug?: string;
}

export interface PlacedConversation {
  readonly id: string;
  readonly folder: string;
  readonly events: string;
  readonly metadata: string;
}

type Variables = Readonly<Record<string, string>>;

export type { Finished };

export class Project {
  readonly root: string;
  readonly data: string;
  readonly home: string;
  /** Where drafts and demonstrations go. */
  readonly temporary: string;

  /** An empty workspace, or with `isBare` just a folder. */
  constructor({ isBare = false, id = "abc12" }: { isBare?: boolean; id?: string | null } = {}) {
    const folder = temporaryFolder();
    this.root = path.join(folder, "project");
    this.data = path.join(folder, "data");
    this.home = path.join(diskFolder(), "home"); // Files below it can be attached.
    this.temporary = path.join(folder, "tmp");
    for (const each of [this.root, this.home, this.temporary]) mkdirSync(each);
    if (isBare) return;
    mkdirSync(path.join(this.root, ".jp"));
    if (id !== null) writeFileSync(path.join(this.root, ".jp", ".id"), `# Do not edit.\n${id}`);
  }

  get variables(): Variables {
    return {
      PATH: process.env["PATH"] ?? "",
      HOME: this.home,
      TMPDIR: this.temporary,
      JP_USER_DATA_DIR: this.data,
      JP_SESSION: SESSION,
      JP_TRUSTED_WORKSPACES: this.root,
      NODE_COMPILE_CACHE,
    };
  }

  get userFolder(): string {
    return path.join(this.data, "workspace", "project-abc12");
  }

  jp(...words: readonly string[]): Promise<Finished> {
    return this.jpWith({}, ...words);
  }

  /** The same with more environment variables. */
  jpWith(variables: Variables, ...words: readonly string[]): Promise<Finished> {
    return runCommand(words, {
      cwd: this.root,
      variables: { ...this.variables, ...variables },
    });
  }

  /** The built command, in a separate process. */
  jpProcess(...words: readonly string[]): Promise<Finished> {
    return this.jpProcessWith({}, ...words);
  }

  /** A variable that is undefined is not passed on. */
  async jpProcessWith(
    variables: Readonly<Record<string, string | undefined>>,
    ...words: readonly string[]
  ): Promise<Finished> {
    const child = spawn(process.execPath, [JP, ...words], {
      cwd: this.root,
      env: { ...this.variables, ...variables },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const [stdout, stderr, [status]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, "close") as Promise<[number | null]>,
    ]);
    return { status, stdout, stderr };
  }

  place(placed: Placed): PlacedConversation {
    const { second, title, metadata = {}, events = [], config, where = "live", slug } = placed;
    const number = digits(second);
    const parent = {
      live: path.join(this.root, ".jp", "conversations"),
      archive: path.join(this.root, ".jp", "conversations", ".archive"),
      local: path.join(this.userFolder, "conversations"),
    }[where];
    if (where === "local") mkdirSync(parent, { recursive: true, mode: 0o700 });
    const ownMetadata = { ...(title !== undefined && { title }), last_activated_at: time(second) };
    const folder = placeConversation(
      path.join(parent, slug === undefined ? `${number}` : `${number}-${slug}`),
      {
        ...(metadata !== null && {
          metadata:
            typeof metadata === "string" ? metadata : pretty({ ...ownMetadata, ...metadata }),
        }),
        ...(events !== null && {
          events: typeof events === "string" ? events : laidOut(events),
        }),
        ...(config !== undefined && {
          baseConfig: typeof config === "string" ? config : pretty(config),
        }),
      },
    );
    return {
      id: `jp-c${number}`,
      folder,
      events: path.join(folder, "events.json"),
      metadata: path.join(folder, "metadata.json"),
    };
  }

  /** Writes the session's file with these conversations, most recent first. */
  activate(...conversations: readonly PlacedConversation[]): void {
    const digest = createHash("sha256").update(SESSION).digest("hex").slice(0, 16);
    const folder = path.join(this.userFolder, "sessions");
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const history = conversations.map(({ id }) => ({
      id: Number(id.slice("jp-c".length)),
      activated_at: "2026-01-02T03:04:05Z",
    }));
    const source = { type: "env", key: "JP_SESSION" };
    writeFileSync(
      path.join(folder, `env-JP_SESSION-${digest}.json`),
      pretty({ history, id: SESSION, source }),
    );
  }

  /** An editor that runs this script. The file name is `$1`. */
  editor(script: string): Variables {
    const file = path.join(this.home, "editor");
    writeFileSync(file, `#!/bin/sh\n${script}\n`);
    chmodSync(file, 0o755);
    return { EDITOR: file };
  }
}

export function pretty(value: JsonObject): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** Each line of the output, parsed. */
export function jsonLines({ stdout }: Finished): unknown[] {
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as unknown);
}

/** The expected output of a command: each line ends with a newline. */
export function lines(...all: readonly string[]): string {
  return all.map((line) => `${line}\n`).join("");
}

/** A command that succeeded with this output and nothing on stderr. */
export function printed(stdout: string): Finished {
  return { status: 0, stdout, stderr: "" };
}
