/**
 * A backup that is restored on another server. The packages with PostgreSQL have no `pg_dump`, so this does what it does: `COPY` of
 * each table, and the state of its sequences.
 */
import { expect, onTestFinished, test } from "vitest";
import {
  answerInquiry,
  enqueueTurn,
  listPending,
  migrateStore,
  openStore,
  runTurn,
  runWorker,
} from "../../src/index.ts";
import { Database } from "../../src/stores/postgres/database.ts";
import { writeLimits } from "../../src/stores/postgres/limits.ts";
import { SCHEMA_VERSION } from "../../src/stores/postgres/schema.ts";
import { ScriptedModel } from "../../src/testing/index.ts";
import { PostgresServer } from "../support/postgres.ts";
import { CALL, payTool } from "./pay-tool.ts";

const TABLES =
  "workspaces conversations events chain files offers tenant_roles limits turn_starts".split(" ");

async function startServer() {
  const server = new PostgresServer();
  onTestFinished(() => server[Symbol.dispose]());
  const url = await server.url;
  await migrateStore(url);
  const database = new Database(url);
  onTestFinished(() => database.close());
  const store = await openStore(url);
  onTestFinished(() => store.close?.());
  return { url, database, store, folder: new URL(url).searchParams.get("host") ?? "" };
}

test("what waits in a backup is there on another server, and goes on at a worker once it is answered", async () => {
  const [old, next] = await Promise.all([startServer(), startServer()]);
  // The server that the backup is from has counted further.
  await old.database.query({
    text: "do $$ begin for each in 1..5000 loop perform pg_current_xact_id(); commit; end loop; end $$",
  });
  await writeLimits(old.database, { tenant: "default", requests: 3 });
  const tools = [payTool()];
  const waiting = await old.store.create({ title: "Pay" });
  const asking = new ScriptedModel({ replies: [[CALL]] });
  await runTurn({ conversation: waiting, model: asking, tools, defer: true }, "Pay.");
  await waiting.release();
  const open = await old.store.create({ title: "Open" });
  await enqueueTurn(open, "Hello?");

  for (const table of TABLES) {
    const file = `'${old.folder}/${table}'`;
    await old.database.query({ text: `copy jp.${table} to ${file}` });
    await next.database.query({ text: `copy jp.${table} from ${file}` });
  }
  for (const table of ["workspaces", "conversations"]) {
    await next.database.query({
      text: `select setval(pg_get_serial_sequence('jp.${table}', 'key'), (select max(key) from jp.${table}))`,
    });
  }
  const countFuture = async () => {
    const text = "select from jp.conversations where changed > pg_current_xact_id()";
    return (await next.database.query({ text })).length;
  };
  const future = [await countFuture()];
  expect(await migrateStore(next.url)).toMatchObject({
    from: SCHEMA_VERSION,
    to: SCHEMA_VERSION,
    hasQueue: false,
  });
  future.push(await countFuture());
  expect(future).toEqual([2, 0]);

  // As time would.
  await next.database.query({ text: "update jp.conversations set lease_until = now()" });
  const pending = await listPending(next.store);
  expect(pending.map(({ conversation }) => conversation)).toEqual([waiting.id]);
  const replies: (string | undefined)[] = [];
  const stopping = new AbortController();
  const ended = runWorker({
    store: next.store,
    turn: { model: new ScriptedModel({ replies: ["Done.", "Done."] }), tools },
    signal: stopping.signal,
    onTurn: (turn) => {
      replies.push(turn.type === "resumed" ? turn.turn.text : turn.error.message);
      if (replies.length === 2) stopping.abort();
    },
  });
  const [item] = pending;
  expect(await answerInquiry(next.store, item ?? "", { answer: true })).toEqual({
    type: "recorded",
  });
  await ended;
  expect(replies).toEqual(["Done.", "Done."]);
  const made = await next.store.create({});
  await made.release();
  expect((await next.store.list()).length).toBe(3);
});
