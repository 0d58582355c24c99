/**
 * Turns in files, whose chain is torn in the middle of a write and whose changes are undone by a process that dies in
 * between. Then the same commands are run again, as a user would.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { CHANGED, type ChaosSite, type CommandOptions, type CommandRun } from "./chaos-site.ts";
import { unexplained, unverified } from "./check-chain.ts";
import { leftOpen, parseRecord } from "./check-record.ts";
import type { Random } from "./random.ts";
import { conversationFolders, conversationOf } from "./round.ts";

export interface FilesReport {
  /** Processes that died in a write of a chain. */
  readonly torn: number;
  /** Undos that died when some of their files were restored. */
  readonly halves: number;
  readonly undone: number;
  readonly problems: readonly string[];
}

const CHAIN = "decisions.jsonl";
/** More than a turn takes, however often a command dies. */
const MAX_COMMANDS = 20;

export async function changeFiles(
  site: ChaosSite,
  count: number,
  random: Random,
): Promise<FilesReport> {
  const changes = new FileChanges(site, random);
  for (let number = 1; number <= count; number += 1) await changes.change(number);
  const { root } = site.place;
  const chains = conversationFolders(site.place).map((folder) => path.join(folder, CHAIN));
  const problems = [
    ...changes.problems,
    ...chains.flatMap((file) => unexplained(readFileSync(file, "utf8"), true)),
    ...(count > 0 ? await unverified(site.place) : []),
    ...conversationFolders(site.place).flatMap((folder) =>
      leftOpen(parseRecord(readFileSync(path.join(folder, "events.json"), "utf8")) ?? []),
    ),
  ].map((problem) => `in files of ${root}: ${problem}`);
  return { ...changes.report, problems };
}

class FileChanges {
  readonly #site: ChaosSite;
  readonly #random: Random;
  readonly problems: string[] = [];
  readonly report = { torn: 0, halves: 0, undone: 0 };

  constructor(site: ChaosSite, random: Random) {
    this.#site = site;
    this.#random = random;
  }

  /** A turn that changes three files, and its undo. */
  async change(number: number): Promise<void> {
    const known = new Set(conversationFolders(this.#site.place));
    const before = { a: "before\n", b: undefined, c: "before\n" };
    for (const [name, text] of Object.entries(before)) {
      if (text !== undefined) writeFileSync(this.#fileOf(number, name), text);
    }
    await this.#run(["query", "--new", "--defer", `Change ${number}`], [4]);
    const folder = conversationFolders(this.#site.place).find((each) => !known.has(each));
    if (folder === undefined) return void this.problems.push(`change ${number} has no record`);
    const id = conversationOf(folder);
    await this.#finish(id);
    this.#expect(number, { a: "after\n", b: "after\n", c: "after\n" });
    await this.#undo(number, id);
    this.#expect(number, before);
  }

  /** The first answer dies in a write of the chain. */
  async #finish(id: string): Promise<void> {
    let mayTear = true;
    let allowed = 1;
    for (let count = 0; count < MAX_COMMANDS; count += 1) {
      const { stdout } = await this.#run(["inquiry", "ls", "--pending", "--format", "json"], [0]);
      const lines = stdout.split("\n").filter((line) => line.includes(id));
      const [item] = lines.map((line) => JSON.parse(line) as { id: string; kind: string });
      if (item === undefined) {
        const { status } = await this.#run(
          ["query", "--continue-turn", "--defer", "--id", id],
          [0, 4],
        );
        if (status === 0) return this.#expectRuns(id, allowed);
        continue;
      }
      const words = ["inquiry", "answer", `${id}/${item.id}`];
      const answer = item.kind === "in_doubt" ? "run" : "yes";
      if (answer === "run") allowed += 1;
      const fault = { type: "torn_file", file: CHAIN, share: this.#random.next() } as const;
      const { wasKilled } = await this.#run([...words, answer], [0], mayTear ? { fault } : {});
      mayTear = this.#random.next() < 0.5;
      if (wasKilled) this.report.torn += 1;
    }
    this.problems.push(`the turn of ${id} does not end`);
  }

  /** Dies when it restores one of the files, and is then repeated. */
  async #undo(number: number, id: string): Promise<void> {
    const [index, share] = [this.#random.next() * CHANGED.length, this.#random.next()];
    const file = `${number}-${CHANGED[Math.floor(index)]}.txt`;
    const words = ["undo", "--yes", id];
    const fault = { type: "torn_file", file, share } as const;
    const { wasKilled } = await this.#run(words, [0], { fault });
    if (wasKilled && new Set(CHANGED.map((name) => this.#isRestored(number, name))).size > 1) {
      this.report.halves += 1;
    }
    await this.#run(["doctor"], [0, 1]);
    if (wasKilled) await this.#run(words, [0]);
    this.report.undone += 1;
  }

  #isRestored(number: number, name: string): boolean {
    const file = this.#fileOf(number, name);
    return !existsSync(file) || readFileSync(file, "utf8") !== "after\n";
  }

  #expect(number: number, wanted: Readonly<Record<string, string | undefined>>): void {
    for (const [name, text] of Object.entries(wanted)) {
      const file = this.#fileOf(number, name);
      const found = existsSync(file) ? readFileSync(file, "utf8") : undefined;
      if (found !== text) this.problems.push(`${path.basename(file)} is ${found}, not ${text}`);
    }
  }

  #expectRuns(id: string, allowed: number): void {
    const runs = this.#site.ledger("file_ledger").filter((line) => line === id).length;
    if (runs === 0 || runs > allowed) this.problems.push(`the tool of ${id} has run ${runs} times`);
  }

  #fileOf(number: number, name: string): string {
    return path.join(this.#site.place.root, `${number}-${name}.txt`);
  }

  async #run(
    words: readonly string[],
    expected: readonly number[],
    options: CommandOptions = {},
  ): Promise<CommandRun> {
    const all = ["--store", "files", ...words];
    const run = await this.#site.run(all, { ...options, session: "files" });
    const isDead = options.fault !== undefined && run.wasKilled;
    if (!isDead && !expected.includes(run.status ?? -1)) {
      this.problems.push(`jp ${words.join(" ")} has ended with ${run.status}: ${run.stderr}`);
    }
    if (run.stderr.includes("Unexpected error")) this.problems.push(run.stderr);
    return run;
  }
}
