/** Counts the rows and bytes that a worker reads from a database for a turn that it takes, until its tool runs. */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import {
  answerInquiry,
  booleanQuestion,
  defineTool,
  migrateStore,
  runTurn,
  runWorker,
} from "../../src/index.ts";
import { timestampFromDate } from "../../src/record/conversation/index.ts";
import { PostgresStore } from "../../src/stores/postgres/postgres-store.ts";
import { ScriptedModel } from "../../src/testing/index.ts";
import { migratedDatabase } from "../../test/support/postgres.ts";
import { Traffic } from "../../test/support/postgres-traffic.ts";

const FILE = path.join(import.meta.dirname, "take.json");
const EVENTS = [300, 30_000] as const;
/** The share of a limit that has to be used. */
const LEAST_USED = 0.5;

/** What is read at most, whatever the length of the record. */
interface Reads {
  readonly rows: number;
  readonly bytes: number;
}

/** The problems as sentences. Empty if a worker reads as much as `take.json` says. */
export async function checkTake(): Promise<readonly string[]> {
  const most = JSON.parse(readFileSync(FILE, "utf8")) as Reads; // Written by `writeTake`.
  const problems: string[] = [];
  for (const events of EVENTS) {
    const reads = await measureTake(events);
    for (const kind of ["rows", "bytes"] as const) {
      const what = `A worker that takes a turn after ${events} events reads ${reads[kind]} ${kind}`;
      if (reads[kind] > most[kind]) problems.push(`${what}. Its budget is ${most[kind]}.`);
      if (reads[kind] < most[kind] * LEAST_USED) problems.push(`${what}, not ${most[kind]}.`);
    }
  }
  return problems;
}

/** With some room: jobs of the queue, and the looks of the worker, come at any time. */
export async function writeTake(): Promise<void> {
  const all: Reads[] = [];
  for (const events of EVENTS) all.push(await measureTake(events));
  const most = (kind: keyof Reads) => Math.ceil(Math.max(...all.map((reads) => reads[kind])) * 1.2);
  writeFileSync(FILE, `${JSON.stringify({ rows: most("rows"), bytes: most("bytes") }, null, 2)}\n`);
}

const CALL = { type: "tool_call", id: "call_1", name: "deploy", arguments: {} } as const;

async function measureTake(events: number): Promise<Reads> {
  const url = await migratedDatabase();
  await migrateStore(url);
  await using traffic = await Traffic.start(url);
  const workspace = crypto.randomUUID();
  const store = new PostgresStore({ url: traffic.url, workspace, pid: process.pid });
  const stop = new AbortController();
  let reads: Reads | undefined;
  const tool = defineTool({
    name: "deploy",
    description: "Deploys the site.",
    parameters: { type: "object" },
    run: async (_args, { ask }) => {
      await ask(booleanQuestion("sure", "Deploy it?"));
      reads = traffic.take();
      stop.abort();
      return "Deployed.";
    },
  });
  const parts = { model: new ScriptedModel({ replies: [[CALL], "Done."] }), tools: [tool] };
  const conversation = await store.create({});
  await conversation.append(...turns(events));
  await runTurn({ conversation, ...parts, defer: true }, "Deploy it.");
  await conversation.release();
  const started = Promise.withResolvers<void>();
  const work = runWorker({
    store,
    turn: parts,
    signal: stop.signal,
    onStart: () => started.resolve(),
  });
  await started.promise;
  traffic.take();
  await answerInquiry(store, `${conversation.id}/call_1.sure.1`, { answer: true });
  await work;
  await store.close();
  if (reads === undefined) throw new Error("The tool has not run.");
  return reads;
}

function turns(events: number) {
  const timestamp = timestampFromDate(new Date(0));
  const content = { type: "message", text: "y".repeat(600) } as const;
  return Array.from({ length: events / 3 }, () => [
    { type: "turn_start", timestamp } as const,
    { type: "chat_request", timestamp, content: "x".repeat(300) } as const,
    { type: "chat_response", timestamp, content } as const,
  ]).flat();
}
