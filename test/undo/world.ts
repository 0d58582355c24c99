/** A workspace in a Git repository, and random turns that change it with jp's file tools and with commands. */
import { execFileSync } from "node:child_process";
import { lstatSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { askedTool } from "../../src/reach/executor/builtin/fs/asked-tool.fixture.ts";
import { createFileTools } from "../../src/reach/executor/index.ts";
import {
  applyUndo,
  type ChangeKeeper,
  keepChanges,
  type KeptTurn,
  planUndo,
  type UndoPlan,
  UndoStore,
} from "../../src/reach/undo/index.ts";
import { temporaryFolder } from "../../src/stores/temporary-workspace.fixture.ts";
import type { JsonObject } from "../../src/util/index.ts";
import type { Random } from "../torture/random.ts";

/** Some are folders to others. */
const NAMES = [
  "a.txt",
  "b.txt",
  "d",
  "d/a.txt",
  "d/e/b.txt",
  "d/e/f/c.bin",
  "x",
  "x/y",
  "a name with ünïcode\nand a line break",
  "-dash",
  "run.sh",
];

const variables = { PATH: process.env["PATH"], HOME: "/nonexistent" };

export class World {
  readonly root = temporaryFolder();
  readonly folder = temporaryFolder();
  readonly conversation = "jp-c17000000000";
  turn = 0;

  constructor() {
    execFileSync("git", ["init", "-q", this.root]);
    writeFileSync(path.join(this.root, ".gitignore"), "ignored/\n*.log\n");
    writeFileSync(path.join(this.root, "tracked.txt"), "one\ntwo\n");
    execFileSync("git", ["-C", this.root, "add", "."]);
  }

  get store(): UndoStore {
    return new UndoStore(this);
  }

  /** As a process that has just started. */
  keeper(): ChangeKeeper {
    const { folder, root, conversation } = this;
    return keepChanges({ folder, root, conversation, variables, turn: () => `turn ${this.turn}` });
  }

  get kept(): readonly KeptTurn[] {
    return this.store.listTurns(this.conversation);
  }

  /** Of the last turn that is not undone. */
  async plan(): Promise<UndoPlan> {
    const turn = this.kept.findLast(({ isUndone }) => !isUndone);
    if (turn === undefined) throw new Error("nothing is kept");
    return planUndo(this.store, turn, { variables });
  }

  async undo(isForced = false): Promise<void> {
    await applyUndo(this.store, await this.plan(), { isForced });
  }

  /** Runs a line in a shell, as the tool for commands does. */
  async command(line: string, changes = this.keeper()): Promise<readonly string[]> {
    const kept = await changes.keepFolder(new AbortController().signal);
    execFileSync("sh", ["-c", line], { cwd: this.root, stdio: "ignore" });
    return kept.done();
  }

  /** Calls a file tool, and agrees to what it asks. */
  async tool(name: string, args: JsonObject, changes = this.keeper()): Promise<string> {
    const { root } = this;
    const found = createFileTools({ root, changes }).find(({ tool }) => tool.name === name);
    if (found === undefined) throw new Error(name);
    const outcome = await askedTool(() => found.tool).answer(args, true);
    return outcome.type === "success" ? outcome.content : outcome.type;
  }

  /** Everything that Git tracks or would add, and the folders that it is in: kinds, modes, bytes and targets. */
  state(): Readonly<Record<string, string>> {
    const found: Record<string, string> = {};
    const walk = (folder: string): boolean => {
      let isUsed = false;
      for (const name of readdirSync(path.join(this.root, folder))) {
        const file = path.posix.join(folder, name);
        if (file === ".git" || /^(?:ignored$|secret|\.jp-[^u])|\.log$/.test(name)) continue;
        const absolute = path.join(this.root, file);
        const stats = lstatSync(absolute);
        const mode = (stats.mode & 0o7777).toString(8);
        if (stats.isDirectory()) {
          if (!walk(file)) continue;
          found[file] = `folder ${mode}`;
        } else {
          found[file] = stats.isSymbolicLink()
            ? `link ${readlinkSync(absolute)}`
            : `file ${mode} ${readFileSync(absolute, "base64")}`;
        }
        isUsed = true;
      }
      return isUsed;
    };
    walk("");
    return found;
  }

  /** One to four changes. */
  async randomTurn(random: Random): Promise<void> {
    this.turn += 1;
    const changes = this.keeper();
    const count = 1 + pickIndex(random, 4);
    for (let step = 0; step < count; step += 1) {
      const [name, other] = [pick(random, NAMES), pick(random, NAMES)];
      const text = `${"line\n".repeat(pickIndex(random, 5))}${random.next()}`;
      if (random.next() < 0.5) await this.#randomTool(random, { name, text }, changes);
      else await this.command(randomLine(random, { name, other, text }), changes);
    }
  }

  async #randomTool(
    random: Random,
    { name, text }: { readonly name: string; readonly text: string },
    changes: ChangeKeeper,
  ): Promise<void> {
    const kind = pickIndex(random, 3);
    if (kind === 0) await this.tool("fs_create_file", { path: name, content: text }, changes);
    if (kind === 1) await this.tool("fs_delete_file", { path: name }, changes);
    if (kind === 2) {
      const patterns = [{ old: "line\n", new: `${text}\n`, replace_all: true }];
      await this.tool("fs_modify_file", { path: name, patterns }, changes);
    }
  }

  write(name: string, text: string): void {
    rmSync(path.join(this.root, name), { recursive: true, force: true });
    writeFileSync(path.join(this.root, name), text);
  }
}

interface RandomWords {
  readonly name: string;
  readonly other: string;
  readonly text: string;
}

function randomLine(random: Random, { name, other, text }: RandomWords): string {
  const [from, to] = [quote(`./${name}`), quote(`./${other}`)];
  const folder = quote(`./${path.posix.dirname(other)}`);
  const lines = [
    `mkdir -p ${folder}; printf '%s' ${quote(text)} > ${to}`,
    `printf '\\001\\377%s' ${quote(text)} >> ${from}`,
    `rm -rf ${from}`,
    `mkdir -p ${folder}; mv ${from} ${to}`,
    `mkdir -p ${folder}; ln -sfn ${quote(text.slice(0, 20))} ${to}`,
    `ln -sfn ../outside ${to}`,
    `chmod ${pick(random, ["755", "600", "444", "700"])} ${from}`,
    `mkdir -p ${folder}; ln -f ${from} ${to}`,
    `rm -rf tracked.txt; mkdir -p ignored; echo x > ignored/x; echo y > y.log`,
    `printf 'secret*\\n' >> .gitignore; echo x > secret-${pickIndex(random, 3)}`,
    "git add -A; git -c user.name=a -c user.email=b commit -qm x",
  ];
  return `${pick(random, lines)} || true; true`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

export function pick<Value>(random: Random, values: readonly Value[]): Value {
  return values[pickIndex(random, values.length)] as Value; // In range.
}

function pickIndex(random: Random, count: number): number {
  return Math.floor(random.next() * count);
}
