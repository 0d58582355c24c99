/** Programs that embed the built library: its import, and questions that are answered later. In CPU time. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import type { ConversationEvent, Timestamp } from "../src/record/conversation/index.ts";
import { writeEvents } from "./data.ts";
import {
  type Bench,
  formatMs,
  goalInMs,
  NODE_START,
  type Result,
  run,
  startNode,
  takeTurns,
} from "./measure.ts";
import { sized } from "./small.ts";
import { figureOf, median } from "./statistics.ts";

const SIZES = {
  importRounds: 20,
  deferRounds: 3,
  resumeRounds: 10,
  waitRounds: 3,
  nodeStarts: 5,
  waiting: sized(1_000),
  /** Number of messages in a long conversation. */
  messages: sized(10_000),
  fewer: sized(1_000),
};

const IMPORT = "import of the library, CPU over node";
const DEFER = {
  none: "a question that is deferred, answered and resumed, at 0 messages",
  many: "a question that is deferred, answered and resumed, at 10,000 messages",
};
const HERE = {
  none: "a question that waits in its process, from asked to answered, at 0 messages",
  many: "a question that waits in its process, from asked to answered, at 10,000 messages",
};
const RESUME = {
  none: "cold resume in the library, until the tool has run, at 0 messages",
  some: "cold resume in the library, until the tool has run, at 1,000 messages",
  many: "cold resume in the library, until the tool has run, at 10,000 messages",
};
const WAIT = {
  cpu: "each of 1,000 turns that wait in one process",
  files: "open files of each of 1,000 turns that wait in one process",
};

export const libraryImport: Bench = {
  rows: [IMPORT],
  run: async (folder) => {
    const written = (name: string, text: string) => {
      const file = path.join(folder, name);
      writeFileSync(file, text);
      return () => run(process.execPath, [file]);
    };
    const index = path.join(path.dirname(import.meta.dirname), "dist", "lib", "index.js");
    const took = await takeTurns(
      {
        empty: written("empty.mjs", ""),
        importing: written("import.mjs", `import ${JSON.stringify(index)};\n`),
        node: startNodes,
      },
      SIZES.importRounds,
    );
    const more = took.importing.map(({ cpu }, round) => cpu - (took.empty[round]?.cpu ?? 0));
    return [beside(took.node, IMPORT, more, 35)];
  },
};

export const deferred: Bench = {
  rows: [...Object.values(DEFER), ...Object.values(HERE)],
  run: async (folder) => {
    const rounds = (scenario: string, messages: number) => {
      const id = writeStore(folder, messages);
      return async () => (await program<{ cpu: number[] }>(scenario, folder, id)).cpu;
    };
    const took = await takeTurns(
      {
        none: rounds("defer", 0),
        many: rounds("defer", SIZES.messages),
        noneHere: rounds("here", 0),
        manyHere: rounds("here", SIZES.messages),
        node: startNodes,
      },
      SIZES.deferRounds,
    );
    return [
      beside(took.node, DEFER.none, took.none.flat(), 8),
      beside(took.node, DEFER.many, took.many.flat(), 8),
      beside(took.node, HERE.none, took.noneHere.flat(), 1.5),
      beside(took.node, HERE.many, took.manyHere.flat(), 1.5),
    ];
  },
};

export const coldResume: Bench = {
  rows: Object.values(RESUME),
  run: async (folder) => {
    const resume = (messages: number) => {
      const id = writeStore(folder, messages);
      return async () => {
        const question = await program<string>("ask", folder, id);
        return (await program<{ cpu: number }>("resume", folder, question)).cpu;
      };
    };
    const took = await takeTurns(
      {
        none: resume(0),
        some: resume(SIZES.fewer),
        many: resume(SIZES.messages),
        node: startNodes,
      },
      SIZES.resumeRounds,
    );
    return [
      beside(took.node, RESUME.none, took.none, 115),
      beside(took.node, RESUME.some, took.some, 115),
      beside(took.node, RESUME.many, took.many, 115),
    ];
  },
};

export const waitingTurns: Bench = {
  rows: Object.values(WAIT),
  run: async (folder) => {
    let rounds = 0;
    const wait = () => {
      rounds += 1;
      const store = path.join(folder, `waiting-${rounds}`);
      return program<{ cpu: number; files: number }>("wait", store, String(SIZES.waiting));
    };
    const { turns, node } = await takeTurns({ turns: wait, node: startNodes }, SIZES.waitRounds);
    const files = turns.map((each) => each.files);
    const each = turns.map(({ cpu }) => cpu);
    return [
      beside(node, WAIT.cpu, each, 3),
      {
        name: WAIT.files,
        unit: "open files",
        figures: { size: figureOf(files) },
        goal: { most: 1.1, text: "1" },
        detail: `${median(files).toFixed(2)} each, with those that all of them share`,
      },
    ];
  },
};

/** Bare Node beside the programs: machines differ, and the same machine from hour to hour. */
async function startNodes(): Promise<number> {
  const starts: number[] = [];
  for (let count = 0; count < SIZES.nodeStarts; count += 1) starts.push((await startNode()).cpu);
  return median(starts);
}

function beside(
  node: readonly number[],
  name: string,
  values: readonly number[],
  most: number,
): Result {
  const { value, noise } = figureOf(values);
  return {
    name,
    unit: NODE_START,
    figures: { cpu: { value: value / median(node), noise: noise + figureOf(node).noise } },
    goal: goalInMs(most),
    detail: `${formatMs(value)} of CPU against ${formatMs(median(node))}`,
  };
}

const PROGRAM = path.join(import.meta.dirname, "minimal", "library.mjs");

async function program<Report>(...words: readonly [string, string, string]): Promise<Report> {
  const { output } = await run(process.execPath, [PROGRAM, ...words]);
  return JSON.parse(output) as Report; // From our own program.
}

let stored = 0;

/** Adds a conversation of whole turns to a store, and returns its ID. */
function writeStore(folder: string, messages: number): string {
  stored += 1;
  const number = String(17_000_000_000 + stored * 100);
  const record = path.join(folder, "conversations", number);
  if (!existsSync(record)) mkdirSync(record, { recursive: true });
  writeEvents(record, "", eventsOf(messages / 2));
  return `jp-c${number}`;
}

const WORDS = "The quick brown fox jumps over the lazy dog. ".repeat(5);

function* eventsOf(count: number): Generator<ConversationEvent> {
  const timestamp = "2026-01-02 03:04:05.0" as Timestamp;
  for (let index = 0; index < count; index += 1) {
    const text = `${index} ${WORDS}`;
    yield { type: "turn_start", timestamp };
    yield { type: "chat_request", timestamp, content: text };
    yield { type: "chat_response", timestamp, content: { type: "message", text } };
  }
}
