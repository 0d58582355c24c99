/** Opening a conversation, and continuing its turn, reads as much of a long record as of a short one. */
import { utimesSync } from "node:fs";
import { describe, expect, onTestFinished, test } from "vitest";
import { answerInquiry, resumeTurn, runTurn, runWorker } from "../../src/assemble/index.ts";
import { chatRequest, message, turnStart } from "../../src/record/conversation/events.fixture.ts";
import type { ConversationEvent, ConversationId } from "../../src/record/conversation/index.ts";
import { booleanQuestion, defineTool } from "../../src/record/tool/index.ts";
import { watchFiles } from "../../src/stores/file-access.fixture.ts";
import {
  type ConversationStore,
  MemoryConversationStore,
  migrateStore,
} from "../../src/stores/index.ts";
import { PostgresStore } from "../../src/stores/postgres/postgres-store.ts";
import { temporaryWorkspace } from "../../src/stores/temporary-workspace.fixture.ts";
import { ScriptedModel } from "../../src/testing/index.ts";
import { migratedDatabase } from "../support/postgres.ts";
import { Traffic } from "../support/postgres-traffic.ts";

interface Read {
  readonly rows: number;
  readonly bytes: number;
}

/** A store, and what was read of it since the last call. */
interface Watched {
  readonly store: ConversationStore;
  readonly take: () => Read;
  /** As if another process had written it, so that nothing of it is in memory. */
  readonly forget: (id: ConversationId) => void;
}

const STORES: readonly {
  readonly name: string;
  readonly open: () => Promise<Watched>;
  /** The most that one step may read. */
  readonly limit: Read;
}[] = [
  { name: "files", open: openFiles, limit: { rows: 0, bytes: 3 * (1 << 16) } },
  { name: "PostgreSQL", open: openDatabase, limit: { rows: 40, bytes: 20_000 } },
  { name: "memory", open: openMemory, limit: { rows: 0, bytes: 0 } },
];

async function openFiles(): Promise<Watched> {
  const { conversations, files } = temporaryWorkspace();
  const { bytes } = watchFiles();
  const take = () => {
    const read = bytes.get("events.json") ?? 0;
    bytes.clear();
    return { rows: 0, bytes: read };
  };
  return { store: conversations, take, forget: (id) => utimesSync(files.paths(id).events, 0, 0) };
}

async function openDatabase(): Promise<Watched> {
  const traffic = await Traffic.start(await migratedDatabase());
  const workspace = crypto.randomUUID();
  const store = new PostgresStore({ url: traffic.url, workspace, pid: process.pid });
  onTestFinished(async () => {
    await store.close();
    await traffic[Symbol.asyncDispose]();
  });
  return { store, take: () => traffic.take(), forget: () => undefined };
}

async function openMemory(): Promise<Watched> {
  const read = { rows: 0, bytes: 0 };
  return { store: new MemoryConversationStore(), take: () => read, forget: () => undefined };
}

function turns(events: number): readonly ConversationEvent[] {
  const turn = [turnStart(), chatRequest("x".repeat(300)), message("y".repeat(600))];
  return Array.from({ length: events / 3 }, () => turn).flat();
}

const CALL = { type: "tool_call", id: "call_1", name: "deploy", arguments: {} } as const;

/** Leaves a question in a conversation with this many events. `onRun` is called when the tool runs again. */
async function leave({ store, forget }: Watched, events: number, onRun: () => void) {
  const tool = defineTool({
    name: "deploy",
    description: "Deploys the site.",
    parameters: { type: "object" },
    run: async (_args, { ask, idempotencyKey }) => {
      const answer = await ask(booleanQuestion("sure", "Deploy it?"));
      onRun();
      return `${answer} ${idempotencyKey}`;
    },
  });
  const model = new ScriptedModel({ replies: [[CALL], "Done.", "Done."] });
  const parts = { model, tools: [tool], defer: true };
  const conversation = await store.create({});
  await conversation.append(...turns(events));
  await runTurn({ conversation, ...parts }, "Deploy it.");
  await conversation.release();
  forget(conversation.id);
  return { id: conversation.id, parts };
}

const ANSWER = "call_1.sure.1";

/** The most that was read by one of the steps. */
async function measure(watched: Watched, events: number): Promise<Record<string, Read>> {
  const { store, take, forget } = watched;
  const steps: Record<string, Read> = {};
  const step = (name: string) => {
    steps[name] = take();
  };
  const { id, parts } = await leave(watched, events, () => step("tool"));
  const closed = await leave(watched, events, () => undefined);
  take();
  await store.load(id, { only: "end" });
  step("load");
  const opened = await store.open(id, { only: "end" });
  step("open");
  await opened.release();
  await answerInquiry(store, `${id}/${ANSWER}`, { answer: true });
  step("answer");
  const resumed = await store.open(id, { only: "end" });
  await resumeTurn(resumed, parts);
  await resumed.release();
  await answerInquiry(store, `${closed.id}/${ANSWER}`, { answer: true });
  const again = await store.open(closed.id);
  await resumeTurn(again, closed.parts);
  await again.release();
  forget(closed.id);
  take();
  const complete = await store.open(closed.id, { only: "end" });
  step("open when complete");
  await complete.release();
  take();
  expect((await store.findLastTurns(closed.id, 1))?.firstTurn ?? events / 3).toBe(events / 3);
  step("last turn");
  return steps;
}

describe.each(STORES)("in $name,", ({ open, limit }) => {
  test.each([300, 30_000])(
    "a turn is opened, answered and continued without reading the record before it (events: %i)",
    async (events) => {
      for (const [name, read] of Object.entries(await measure(await open(), events))) {
        // A file is searched for the number of its turns, in pieces, before a tool gets its key.
        if (limit.rows === 0 && /tool|last turn/.test(name)) continue;
        expect.soft(read.rows, name).toBeLessThanOrEqual(limit.rows);
        expect.soft(read.bytes, name).toBeLessThanOrEqual(limit.bytes);
      }
    },
    60_000,
  );
});

test("a worker runs the tool of a turn that it takes with as few bytes of a long record as of a short one", async () => {
  const read: Read[] = [];
  await migrateStore(await migratedDatabase());
  for (const events of [300, 30_000]) {
    const watched = await openDatabase();
    const stop = new AbortController();
    const { id, parts } = await leave(watched, events, () => {
      read.push(watched.take());
      stop.abort();
    });
    await answerInquiry(watched.store, `${id}/${ANSWER}`, { answer: true });
    watched.take();
    await runWorker({ store: watched.store, turn: parts, concurrency: 1, signal: stop.signal });
  }
  const [short, long] = read;
  expect(long?.bytes).toBeLessThan((short?.bytes ?? 0) + 20_000);
}, 60_000);
