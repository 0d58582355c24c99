/** A question that another process has left open: from the start of a command until its tool has the answer. */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { writeRecord } from "./data.ts";
import {
  type Bench,
  compared,
  JP,
  NODE_START,
  type Result,
  run,
  startNode,
  takeTurns,
  type Times,
} from "./measure.ts";
import { ModelServer } from "./model-server.ts";
import { sized } from "./small.ts";
import { median } from "./statistics.ts";
import { benchEnvironment, recordFolder, writeUserConfig } from "./workspace.ts";

const ROUNDS = 20;
const MAX_MS = 75;
const ID = "jp-c10000000031";
/** Every eight events include a request, a call, its result and a reply. */
const EVENTS = sized(2_000, 16);

const RESUME = {
  answer: "jp inquiry answer --continue at 1,000 messages, until the tool has the answer",
  continue: "jp query --continue-turn at 1,000 messages, until the tool has the answer",
};

export const resume: Bench = {
  rows: Object.values(RESUME),
  run: async (folder) => {
    await using server = await ModelServer.start();
    writeRecord(recordFolder(folder, ID.slice(4)), EVENTS, "resumed");
    const question = new OpenQuestion(server, folder);
    const took = await takeTurns(
      { node: startNode, answer: () => question.answer(), continue: () => question.continue() },
      ROUNDS,
    );
    return [
      { name: RESUME.answer, ...overNode(took.answer, took.node) },
      { name: RESUME.continue, ...overNode(took.continue, took.node) },
    ];
  },
};

/** The goal is in milliseconds above Node's own time in the same run. */
function overNode(ours: readonly Times[], node: readonly Times[]): Omit<Result, "name"> {
  const most = 1 + MAX_MS / median(node.map(({ time }) => time));
  return {
    unit: NODE_START,
    goal: { most, text: `${MAX_MS} ms over it` },
    ...compared(ours, node),
  };
}

class OpenQuestion {
  readonly #server: ModelServer;
  readonly #folder: string;
  /** The file where the tool writes when it got the answer, in seconds. */
  readonly #time: string;
  #calls = 0;

  constructor(server: ModelServer, folder: string) {
    this.#server = server;
    this.#folder = folder;
    this.#time = path.join(folder, "answered-at");
    const script = path.join(folder, "tool.sh");
    writeFileSync(script, TOOL);
    writeUserConfig(folder, [
      ...server.config,
      "[conversation.tools.asking]",
      'source = "local"',
      `command = "bash ${script} ${this.#time}"`,
      'run = "unattended"',
    ]);
  }

  /** Answers the question, and continues its turn. */
  async answer(): Promise<Times> {
    const id = await this.#ask();
    return this.#resume(["inquiry", "answer", id, "yes", "--continue"]);
  }

  /** Continues its turn after it was answered. */
  async continue(): Promise<Times> {
    const id = await this.#ask();
    await this.#jp(["inquiry", "answer", id, "yes"]);
    return this.#resume(["query", "--continue-turn", "--id", ID, "--non-interactive"]);
  }

  /** Runs a turn up to its question, and returns the question's ID. */
  async #ask(): Promise<string> {
    // Removed before asking: the file is an argument of the command, so a decision covers it too.
    rmSync(this.#time, { force: true });
    this.#calls += 1;
    const id = `call_${String(this.#calls).padStart(4, "0")}`;
    this.#server.calls.push({ id, name: "asking", input: "{}" });
    const words = ["query", "--id", ID, "--defer", "Do something."];
    await this.#jp(words).catch((error: unknown) => {
      if (!String(error).includes(" ended with 4:")) throw error; // It exits with 4 because it waits.
    });
    return `${ID}/${id}.ok.1`;
  }

  async #resume(words: readonly string[]): Promise<Times> {
    const { startedAt, cpu } = await this.#jp(words);
    const seconds = Number(readFileSync(this.#time, "utf8").replace(",", ".")); // The separator depends on the locale.
    return { time: seconds * 1e3 - performance.timeOrigin - startedAt, cpu };
  }

  async #jp(words: readonly string[]) {
    const env = benchEnvironment(this.#folder);
    return run(process.execPath, [JP, "-w", this.#folder, ...words], { env });
  }
}

/** Asks if it has no answer. With one, it writes the time before anything else. */
const TOOL = `read -r call
case $call in
  *'"ok":true'*) printf %s "$EPOCHREALTIME" >"$1"; echo Done. ;;
  *) echo '{"type":"needs_input","question":{"id":"ok","text":"Go on?","answer_type":{"type":"boolean"}}}' ;;
esac
`;
