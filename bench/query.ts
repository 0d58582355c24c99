/** `jp query` with a model on loopback: the time to the request, the time to print, and the CPU time. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { median, ratioOf, type Result, runProgram } from "./measure.ts";
import { ModelServer } from "./model-server.ts";
import { benchEnvironment, openBenchWorkspace } from "./workspace.ts";

const jp = path.join(path.dirname(import.meta.dirname), "bin", "jp");
const START_ROUNDS = 15;
const STREAM_ROUNDS = 3;
const STREAMED_BYTES = 1e5;
const MAX_MS_TO_PRINT = 5;
/** A minimal request. */
const ASK = 'fetch(process.argv[1], { method: "POST", body: "{}" }).then((reply) => reply.text())';

export async function benchQueryStart(folder: string): Promise<Result[]> {
  await using server = await startServer(folder);
  const node = process.execPath;
  const times: Record<string, number[]> = {};
  const note = (name: string, time: number) => (times[name] ??= []).push(time);
  for (let round = 0; round < START_ROUNDS; round += 1) {
    for (const isAnnounced of [true, false]) {
      server.isAnnounced = isAnnounced;
      const start = performance.now();
      const { firstByteAt } = await run(jp, queryWords(folder), benchEnvironment(folder));
      note("query", server.askedAt - start);
      note(isAnnounced ? "announced" : "unannounced", firstByteAt - server.spokeAt);
    }
    const least = performance.now();
    await run(node, ["-e", ASK, server.url]);
    note("least", server.askedAt - least);
    const nothing = performance.now();
    runProgram(node, ["-e", "0"]);
    note("nothing", performance.now() - nothing);
  }
  const took = (name: string) => median(times[name] ?? []);
  return [
    {
      name: "jp query until it asks / node -e 0",
      aim: 2.5,
      ...ratioOf(took("query"), took("nothing")),
    },
    { name: "jp query until it asks / node's fetch", ...ratioOf(took("query"), took("least")) },
    {
      name: `first token to print / ${MAX_MS_TO_PRINT} ms`,
      aim: 1,
      ...toPrint(took("announced")),
    },
    // Then the code that reads a reply is only loaded after the token has arrived.
    { name: "the same, if nothing comes before it", aim: 1, ...toPrint(took("unannounced")) },
  ];
}

function toPrint(time: number) {
  return { ratio: time / MAX_MS_TO_PRINT, detail: `${time.toFixed(2)} ms` };
}

/** The cost of the whole command, minus its cost for a reply of one line. */
export async function benchStreaming(folder: string): Promise<Result> {
  await using server = await startServer(folder);
  const line = server.reply;
  const hook = path.join(import.meta.dirname, "minimal", "cpu-time.mjs");
  const cost = async (reply: string, variables: NodeJS.ProcessEnv) => {
    server.reply = reply;
    const env = { ...benchEnvironment(folder), ...variables, NODE_OPTIONS: `--import=${hook}` };
    const { output } = await run(jp, queryWords(folder), env);
    return Number(output.trimEnd().split("\n").at(-1));
  };
  const document = MARKDOWN.repeat(Math.ceil(STREAMED_BYTES / MARKDOWN.length));
  const costs: Record<"0" | "1", number[]> = { 0: [], 1: [] };
  for (let round = 0; round < STREAM_ROUNDS; round += 1) {
    for (const FAKE_TERMINAL of ["0", "1"] as const) {
      const variables = { FAKE_TERMINAL, NO_COLOR: "" };
      const more = (await cost(document, variables)) - (await cost(line, variables));
      costs[FAKE_TERMINAL].push((more * 1e6) / document.length);
    }
  }
  return { name: "CPU per MB, Markdown / piped", ...ratioOf(median(costs[1]), median(costs[0])) };
}

async function startServer(folder: string): Promise<ModelServer> {
  const server = await ModelServer.start();
  const config = [
    'assistant.model.id = "llamacpp/bench"',
    `providers.llm.llamacpp.base_url = "${server.url}"`,
    "",
  ];
  openBenchWorkspace(folder);
  writeFileSync(path.join(folder, ".jp", "config.toml"), config.join("\n"));
  return server;
}

function queryWords(folder: string): readonly string[] {
  return ["-w", folder, "query", "--new", "--non-interactive", "Say something."];
}

/** The output of a program, and the time of its first byte. Asynchronous, because the server runs here too. */
async function run(file: string, words: readonly string[], env = process.env) {
  const child = spawn(file, words, { env, stdio: ["ignore", "pipe", "inherit"] });
  let firstByteAt = 0;
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    firstByteAt ||= performance.now();
    output += text;
  });
  const [status] = (await once(child, "close")) as [number | null]; // By Node's documentation.
  if (status !== 0) throw new Error(`${file} ${words.join(" ")} ended with ${status}.`);
  return { output, firstByteAt };
}

const MARKDOWN = `## What has changed

The *parser* takes **all** of it now, and \`parse\` tells [what is wrong](https://example.com/wrong)
where something is. It is slower for short texts, which nobody will notice, and much faster for long
ones, which somebody has asked for.

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
