/** What someone who can write the rows can do: put a conversation back. */
import { onTestFinished } from "vitest";
import type { Database } from "../../src/stores/postgres/database.ts";

/** Remembers everything of a conversation in the database, and puts it back. */
export async function keepState(owner: Database, id: string) {
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
