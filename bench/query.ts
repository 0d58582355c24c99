/** `jp query` with a model on loopback: the time to the request, the time to print, and the CPU time. */
import { readFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { spawn } from "@lydell/node-pty";
import { recordCompaction } from "../src/core/agent/index.ts";
import {
  parseConversationId,
  timestampFromDate,
  turnsOf,
} from "../src/record/conversation/index.ts";
import { systemClock } from "../src/util/index.ts";
import { writeRecord } from "./data.ts";
import {
  against,
  type Bench,
  compared,
  formatMb,
  goalInMb,
  goalInMs,
  JP,
  NODE_START,
  peakMemory,
  run,
  startNode,
  takeTurns,
} from "./measure.ts";
import { ModelServer } from "./model-server.ts";
import { sized } from "./small.ts";
import { median, ratioOf } from "./statistics.ts";
import {
  benchEnvironment,
  makeWorkspace,
  openBenchWorkspace,
  recordFolder,
  writeRecords,
  writeUserConfig,
} from "./workspace.ts";

const START_ROUNDS = 20;
const START = {
  llamacpp: "jp query until the request is sent, llamacpp",
  anthropic: "jp query until the request is sent, anthropic",
  id: "jp query --id X, among 1,000 conversations",
  token: "first token printed after it arrives",
};

export const queryStart: Bench = {
  rows: Object.values(START),
  run: async (folder) => {
    await using server = await ModelServer.start();
    const few = path.join(folder, "few");
    const many = path.join(folder, "many");
    const [id = ""] = writeRecords(many, sized(1_000), 16);
    const took = await takeTurns(
      {
        node: startNode,
        llamacpp: query(server, few, ["--new"]),
        anthropic: query(server, few, ["--new", "--model", "anthropic/bench"]),
        id: query(server, many, ["--id", id]),
      },
      START_ROUNDS,
    );
    const toToken = took.llamacpp.map(({ token }) => token);
    const nodeStarts = took.node.map(({ time }) => time);
    const token = ratioOf(toToken, nodeStarts);
    return [
      {
        name: START.llamacpp,
        unit: NODE_START,
        goal: { most: 3 },
        ...compared(took.llamacpp, took.node),
      },
      {
        name: START.anthropic,
        unit: NODE_START,
        goal: { most: 3.2 },
        ...compared(took.anthropic, took.node),
      },
      {
        name: START.id,
        unit: "× without --id",
        goal: { most: 1.1 },
        ...compared(took.id, took.llamacpp),
      },
      {
        name: START.token,
        unit: NODE_START,
        goal: goalInMs(3),
        figures: { time: token },
        detail: against(toToken, nodeStarts),
      },
    ];
  },
};

const LONG_ROUNDS = 7;
const MEMORY_ROUNDS = 3;
const LONG_ID = "10000000003";
const LONG = {
  time: "jp query --id X on 100,000 events (71 MB)",
  memory: "peak memory of jp query --id X on 100,000 events",
  compacted: "jp query --id X on 100,000 events, of which a summary replaces most",
};

export const queryLong: Bench = {
  rows: Object.values(LONG),
  run: async (folder) => {
    await using server = await ModelServer.start();
    const words = configure(server, folder, ["--id", LONG_ID]);
    writeRecord(recordFolder(folder, LONG_ID), sized(100_000, 104), "long");
    const compacted = path.join(folder, "compacted");
    const queryCompacted = query(server, compacted, ["--id", LONG_ID]);
    writeRecord(recordFolder(compacted, LONG_ID), sized(100_000, 104), "long");
    await summarize(compacted);
    const took = await takeTurns(
      {
        node: startNode,
        long: query(server, folder, ["--id", LONG_ID]),
        compacted: queryCompacted,
      },
      LONG_ROUNDS,
    );
    const env = benchEnvironment(folder);
    const peaks = await takeTurns(
      {
        node: async () => ({ megabytes: await peakMemory(["-e", "0"]) }),
        long: async () => ({ megabytes: await peakMemory([JP, ...words], env) }),
      },
      MEMORY_ROUNDS,
    );
    const ours = peaks.long.map(({ megabytes }) => megabytes);
    const theirs = peaks.node.map(({ megabytes }) => megabytes);
    return [
      { name: LONG.time, unit: NODE_START, goal: { most: 25 }, ...compared(took.long, took.node) },
      {
        name: LONG.memory,
        unit: NODE_START,
        goal: goalInMb(450),
        figures: { size: ratioOf(ours, theirs) },
        detail: `${formatMb(median(ours))} against ${formatMb(median(theirs))}`,
      },
      {
        name: LONG.compacted,
        unit: NODE_START,
        goal: { most: 5 },
        ...compared(took.compacted, took.node),
      },
    ];
  },
};

/** All turns but the first and the last three. */
async function summarize(folder: string): Promise<void> {
  const { conversations } = openBenchWorkspace(folder);
  await using conversation = await conversations.open(parseConversationId(`jp-c${LONG_ID}`));
  const toTurn = turnsOf(conversation.stream.entries).length - 4;
  const timestamp = timestampFromDate(systemClock.now());
  const summary = "The fox jumped over the lazy dog.";
  await recordCompaction({ conversation }, { timestamp, fromTurn: 1, toTurn, summary });
}

const STREAM_ROUNDS = 7;
const STREAMED_BYTES = sized(3e4);
const STREAM = { markdown: "CPU time to stream 30 kB of Markdown to a terminal" };

export const streaming: Bench = {
  rows: Object.values(STREAM),
  run: async (folder) => {
    await using server = await ModelServer.start();
    server.reply = MARKDOWN.repeat(Math.ceil(STREAMED_BYTES / MARKDOWN.length));
    const words = configure(server, folder, ["--new"]);
    const took = await takeTurns(
      { node: startNode, stream: () => runOnTerminal(folder, [JP, ...words]) },
      STREAM_ROUNDS,
    );
    const ours = took.stream.map(({ cpu }) => cpu);
    const theirs = took.node.map(({ cpu }) => cpu);
    return [
      {
        name: STREAM.markdown,
        unit: NODE_START,
        goal: goalInMs(300),
        figures: { cpu: ratioOf(ours, theirs) },
        detail: against(ours, theirs),
      },
    ];
  },
};

/** Like `run`, with the report in a file: a terminal has no other pipe. */
const TIMED = 'exec 4>&2 2>"$0"; TIMEFORMAT="%3U %3S"; time "$@" 2>&4 4>&-';

/** A Node program's CPU time on a terminal, in milliseconds. Throws if it fails. */
async function runOnTerminal(folder: string, words: readonly string[]): Promise<{ cpu: number }> {
  const report = path.join(folder, "cpu-time");
  const { NO_COLOR: _, NODE_DISABLE_COLORS: _disabled, ...env } = benchEnvironment(folder);
  const terminal = spawn("bash", ["-c", TIMED, report, process.execPath, ...words], {
    cols: 80,
    rows: 24,
    cwd: folder,
    // Otherwise Node uses no colors if `CI` is set.
    env: { ...env, TERM: "xterm-256color", FORCE_COLOR: "2" },
  });
  let output = "";
  terminal.onData((data) => (output += data));
  const status = await new Promise((resolve) => {
    terminal.onExit(({ exitCode }) => resolve(exitCode));
  });
  // Otherwise it was not rendered.
  if (status !== 0 || !output.includes("\u001b[1mWhat")) {
    throw new Error(`${words.join(" ")} ended with ${String(status)}:\n${output}`);
  }
  const [user = 0, system = 0] = readFileSync(report, "utf8")
    .trim()
    .split(" ")
    .map((seconds) => Number(seconds.replace(",", ".")) * 1e3); // The separator depends on the locale.
  return { cpu: user + system };
}

/** Runs a query. The time is until its request arrives; the CPU time is that of the whole command. */
function query(server: ModelServer, folder: string, flags: readonly string[]) {
  const words = configure(server, folder, flags);
  const env = benchEnvironment(folder);
  return async () => {
    const { startedAt, firstByteAt, cpu } = await run(process.execPath, [JP, ...words], { env });
    return { time: server.askedAt - startedAt, cpu, token: firstByteAt - server.spokeAt };
  };
}

/** Creates a workspace that uses the server, and returns the arguments of a query in it. */
export function configure(
  server: ModelServer,
  folder: string,
  flags: readonly string[],
): readonly string[] {
  makeWorkspace(folder);
  writeUserConfig(folder, [
    ...server.config,
    `providers.llm.anthropic.base_url = "${server.url}"`,
    'providers.llm.anthropic.api_key_env = "HOME"', // Any variable that is set.
  ]);
  return ["-w", folder, "query", ...flags, "--non-interactive", "Say something."];
}

const MARKDOWN = `## What has changed

The *parser* takes **all** of it now, and \`parse\` tells [what is wrong](https://example.com/wrong)
where something is. It is slower for short texts, which you will not notice, and much faster for long
ones.

- The first thing is that positions are counted in bytes.
- The second is that \`readElements\` gives batches:
  1. whole ones,
  2. and what is left at the end.

\`\`\`ts
export function parse(text: string): Result {
  const found = text.indexOf("\\n"); // The first line is enough.
  return { line: found === -1 ? text : text.slice(0, found), count: 42 };
}
\`\`\`

| File | Before | After |
|------|-------:|------:|
| a.ts | 120 ms | 80 ms |
| b.ts | 4 ms   | 5 ms  |

> Nothing else is touched.

`;
