/**
 * One round of chaos: commands and workers start at any moment, while workers, commands, connections and the database
 * server are killed, stopped and frozen. No command may fail, and nothing may be lost or done twice.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { changeFiles, type FilesReport } from "./chaos-files.ts";
import { ChaosSite, type CommandRun } from "./chaos-site.ts";
import { Trouble } from "./chaos-trouble.ts";
import { type Given, problemsOfChaos } from "./check-chaos.ts";
import { endOrphans } from "./leftovers.ts";
import { Random } from "./random.ts";
import type { RoundResult } from "./round.ts";

export interface ChaosRound {
  readonly name: string;
  readonly seed: number;
  readonly turns: number;
}

export interface ChaosResult extends RoundResult {
  /** What happened, and how often. */
  readonly counts: Readonly<Record<string, number>>;
}

const CLIENTS = 6;
/** Of turns: so many are in files, with changes that are undone. */
const IN_FILES = 0.1;
const KILLED = 0.06;
const FROZEN = 0.03;
/** If nothing is recorded for so long, the turns that are left are lost. */
const LATE_MS = 240_000;
/** A worker continues the turn, because its command could not renew its lease for ten seconds. */
const TAKEN_OVER = /is no longer open here: another process has taken it over/;
/** Someone else was faster. */
const ANSWERED = /already answered|is waiting\.|no longer waiting|has changed since you looked/;

export function roundsOfChaos(count: number, turns: number, seed: number): ChaosRound[] {
  return Array.from({ length: count }, (_, index) => {
    const own = seed + index;
    return { name: `chaos with seed ${own}`, seed: own, turns };
  });
}

export async function runChaosRound({ name, seed, turns }: ChaosRound): Promise<ChaosResult> {
  const random = (actor: number) => new Random(seed * 101 + actor);
  await using site = await ChaosSite.start(random(0));
  const trouble = new Trouble(site, random(1));
  const crowd = new Crowd(site, Math.ceil(turns * (1 - IN_FILES)), () => trouble.onCommand());
  const troubled = trouble.run();
  const clients = Array.from({ length: CLIENTS }, (_, index) => crowd.work(random(10 + index)));
  const inFiles = changeFiles(site, Math.floor(turns * IN_FILES), random(2));
  await Promise.all(clients);
  trouble.end();
  await troubled;
  await Promise.all(clients.map((_, index) => crowd.finish(random(20 + index))));
  const files = await inFiles;
  const problems = [
    ...crowd.problems,
    ...files.problems,
    ...(await problemsOfChaos(site, crowd.given)),
  ];
  await trouble.stopWorkers();
  await trouble[Symbol.asyncDispose]();
  const orphans = await endOrphans(site.place);
  return {
    name,
    isHit: trouble.counts.size > 0,
    recorded: crowd.given.answers.size,
    counts: {
      "the longest outage in ms": Math.round(trouble.longestMs),
      ...Object.fromEntries(trouble.counts),
      ...crowd.counts,
      ...countsOf(files),
    },
    problems: [
      ...new Set([
        ...problems,
        ...trouble.problems,
        ...orphans.map((process) => `left running: ${process}`),
      ]),
    ],
  };
}

function countsOf({ torn, halves, undone }: FilesReport) {
  return { "torn chains": torn, "half-done undos": halves, undone };
}

/** Clients that start turns and answer questions, at once. */
class Crowd {
  readonly #site: ChaosSite;
  #left: number;
  readonly #onCommand: () => void;
  readonly given: Given = { started: new Map(), answers: new Map(), reruns: new Map() };
  readonly problems: string[] = [];
  readonly counts: Record<string, number> = {};

  constructor(site: ChaosSite, turns: number, onCommand: () => void) {
    this.#site = site;
    this.#left = turns;
    this.#onCommand = onCommand;
  }

  /** Until all turns were started. */
  async work(random: Random): Promise<void> {
    while (this.#left > 0) {
      const choice = random.next();
      if (choice < 0.45) await this.#startTurn(random);
      else if (choice < 0.95) await this.#answerSome(random);
      else await this.#run(["conversation", "ls"], random, [0]);
    }
  }

  /** Answers until nothing waits. */
  async finish(random: Random): Promise<void> {
    let [last, changedAt] = ["", Date.now()];
    for (;;) {
      const { open, length } = await this.#measure();
      if (open === "0") return;
      if (length !== last) [last, changedAt] = [length, Date.now()];
      else if (Date.now() - changedAt > LATE_MS) return;
      await this.#answerSome(random);
    }
  }

  async #startTurn(random: Random): Promise<void> {
    const label = `Turn ${this.#left}.`;
    this.#left -= 1;
    const isLeft = random.next() < 0.5;
    for (let attempt = 1; ; attempt += 1) {
      const message = `${label}${attempt}`;
      const words = ["query", "--new", isLeft ? "--enqueue" : "--defer", message];
      const { status } = await this.#run(words, random, [isLeft ? 0 : 4]);
      this.given.started.set(message, status !== null);
      if (status !== null) return;
    }
  }

  async #answerSome(random: Random): Promise<void> {
    const list = ["inquiry", "ls", "--pending", "--format", "json"];
    const { stdout, status } = await this.#run(list, random, [0]);
    if (status !== 0) return;
    const items = stdout.split("\n").filter(Boolean).map(parseItem);
    if (items.length === 0) await sleep(100);
    for (let count = 0; count < 4 && items.length > 0; count += 1) {
      const [item] = items.splice(Math.floor(random.next() * items.length), 1);
      if (item !== undefined) await this.#answer(item, random);
    }
  }

  async #answer({ key, conversation, kind }: Item, random: Random): Promise<void> {
    const words = ["inquiry", "answer", key, kind === "in_doubt" ? "run" : "yes"];
    const run = await this.#run(words, random, [0, 1]);
    const { reruns, answers } = this.given;
    const given = answers.get(key) ?? { acknowledged: 0, unknown: 0 };
    answers.set(key, given);
    if (kind === "in_doubt" && run.status !== 1) {
      reruns.set(conversation, (reruns.get(conversation) ?? 0) + 1);
    }
    if (run.status === 0) given.acknowledged += 1;
    if (run.status === null) given.unknown += 1;
    if (run.status === 1 && !ANSWERED.test(run.stderr)) this.problems.push(refusal(run));
  }

  /** The status is null if it was killed on purpose. */
  async #run(
    words: readonly string[],
    random: Random,
    expected: readonly number[],
  ): Promise<CommandRun> {
    const [kills, freezes] = [random.next() < KILLED, random.next() < FROZEN];
    const afterMs = random.next() * 700;
    const run = await this.#site.run(words, {
      ...(kills && { killAfterMs: afterMs }),
      ...(freezes && { freeze: { afterMs, forMs: random.next() * 3000 } }),
    });
    this.#onCommand();
    this.#count(`jp ${words[0]} ${words[1]?.replace(/^--.*/, words[2] ?? "")}`);
    if (run.isHanging) this.problems.push(`it hangs: ${refusal(run)}`);
    if (kills && run.wasKilled) this.#count("a command killed");
    else if (run.status === 1 && TAKEN_OVER.test(run.stderr)) this.#count("a turn taken over");
    else if (!expected.includes(run.status ?? -1)) this.problems.push(refusal(run));
    return run;
  }

  #count(name: string): void {
    this.counts[name] = (this.counts[name] ?? 0) + 1;
  }

  async #measure(): Promise<Measured> {
    const [row] = await this.#site.database.query<Measured>({
      text: `select count(*) filter (where open_turn is not null) as open, sum(length) as length
        from jp.conversations`,
    });
    return row ?? { open: "0", length: "0" };
  }
}

/** The open turns and the events of all conversations, in the format of the table. */
interface Measured {
  readonly open: string;
  readonly length: string;
}

function refusal({ words, status, stderr }: CommandRun): string {
  return `jp ${words.join(" ")} has ended with ${status}: ${stderr}`;
}

interface Item {
  /** As the command takes it. */
  readonly key: string;
  readonly conversation: string;
  readonly kind: string;
}

function parseItem(line: string): Item {
  const { id, conversation, kind } = JSON.parse(line) as Record<string, string>;
  return { key: `${conversation}/${id}`, conversation: conversation ?? "", kind: kind ?? "" };
}
