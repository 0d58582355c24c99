/** An earlier signed state of a turn, put back by someone who can write the rows of the database. */
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { answerInquiry, listPending, migrateStore, runTurn, runWorker } from "../../src/index.ts";
import type { ConversationId } from "../../src/record/conversation/index.ts";
import { temporaryFolder } from "../../src/stores/temporary-workspace.fixture.ts";
import { Database } from "../../src/stores/postgres/database.ts";
import { PostgresStore } from "../../src/stores/postgres/postgres-store.ts";
import { publicKeyText } from "../../src/stores/postgres/turn-keys.ts";
import { ScriptedModel } from "../../src/testing/index.ts";

import { migratedDatabase } from "../support/postgres.ts";
import { CALL, payTool } from "./pay-tool.ts";

interface Machine {
  readonly publicKey: string;
  readonly headsFile: string;
  readonly open: () => PostgresStore;
}

/** Machines that accept each other's keys, on a workspace of their own, and someone who owns its tables. */
async function openFleet() {
  const url = await migratedDatabase();
  await migrateStore(url);
  const workspace = crypto.randomUUID();
  const owner = new Database(url);
  onTestFinished(() => owner.close());
  const accepted: string[] = [];
  const addMachine = (): Machine => {
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    const headsFile = path.join(temporaryFolder(), "heads.jsonl");
    accepted.push(publicKeyText(publicKey));
    return {
      publicKey: publicKeyText(publicKey),
      headsFile,
      open: () => openStore({ url, workspace, headsFile, privateKey, accepted }),
    };
  };
  return { url, workspace, owner, addMachine };
}

function openStore(options: {
  readonly url: string;
  readonly workspace: string;
  readonly headsFile: string;
  readonly privateKey: KeyObject;
  readonly accepted: readonly string[];
}): PostgresStore {
  const { url, workspace, headsFile, privateKey, accepted } = options;
  const keys = async () => ({ privateKey, accepted: [...accepted] });
  const store = new PostgresStore({ url, workspace, pid: process.pid, headsFile, keys });
  onTestFinished(() => store.close());
  return store;
}

/** Remembers everything of a conversation in the database, and puts it back. */
async function keepState(owner: Database, id: ConversationId) {
  const [row] = await owner.query<{ readonly key: string }>({
    text: "select key from jp.conversations where id = $1 order by key desc limit 1",
    values: [id],
  });
  const key = row?.key ?? "";
  const kept = `kept_${crypto.randomUUID().replaceAll("-", "")}`;
  await owner.query({ text: `create schema ${kept}` });
  onTestFinished(async () => {
    await owner.query({ text: `drop schema ${kept} cascade` });
  });
  await owner.query({
    text: `create table ${kept}.conversations as select * from jp.conversations where key = ${key}`,
  });
  for (const table of ["events", "chain"]) {
    await owner.query({
      text: `create table ${kept}.${table} as select * from jp.${table} where conversation = ${key}`,
    });
  }
  return async () => {
    await owner.transaction(async (queries) => {
      await queries.query({ text: `delete from jp.conversations where key = ${key}` });
      await queries.query({
        text: `update ${kept}.conversations set lease_owner = null, lease_until = null, ready_at = 0
          where ready_at is not null`,
      });
      await queries.query({
        text: `insert into jp.conversations overriding system value select * from ${kept}.conversations`,
      });
      for (const table of ["events", "chain"]) {
        await queries.query({ text: `insert into jp.${table} select * from ${kept}.${table}` });
      }
    });
  };
}

/** Leaves a turn that waits for an approval. */
async function leaveWaiting(store: PostgresStore): Promise<ConversationId> {
  await using conversation = await store.create({});
  const asking = new ScriptedModel({ replies: [[CALL]] });
  await runTurn({ conversation, model: asking, tools: [payTool()], defer: true }, "Pay.");
  return conversation.id;
}

async function approve(store: PostgresStore): Promise<void> {
  const [item] = await listPending(store);
  expect(await answerInquiry(store, item ?? "", { answer: true })).toEqual({ type: "recorded" });
}

/** Runs a worker until a turn has ended, or was refused. `seen` gets the answers that its tool got. */
async function work(machine: Machine, seen: unknown[]) {
  const { promise, resolve } = Promise.withResolvers<string>();
  const stopping = new AbortController();
  const store = machine.open();
  const model = new ScriptedModel({ replies: ["It is paid."] });
  const working = runWorker({
    store,
    turn: { model, tools: [payTool(seen)] },
    signal: stopping.signal,
    onTurn: (turn) => resolve(turn.type === "resumed" ? turn.turn.text : turn.error.message),
    onProblem: (problem) => resolve("code" in problem ? String(problem.code) : problem.message),
  });
  try {
    return await promise;
  } finally {
    stopping.abort();
    await working;
  }
}

test("an approval that a tool has used runs no tool again when its turn is put back", async () => {
  //C
  const { owner, addMachine } = await openFleet();
  const machine = addMachine();
  const store = machine.open();
  const id = await leaveWaiting(store);
  await approve(store);
  const putBack = await keepState(owner, id);
  const seen: unknown[] = [];
  expect(await work(machine, seen)).toBe("It is paid.");
  await putBack();
  expect([await work(machine, seen), seen]).toEqual(["turn_stepped_back", [true]]);
});
