/** A migration of many rows, and one that others stand in the way of. */
import { expect, onTestFinished, test } from "vitest";
import { migrateStore } from "../../src/index.ts";
import { SCHEMA_VERSION } from "../../src/stores/postgres/schema.ts";
import { codeOf } from "../../src/stores/record-elements.fixture.ts";
import { counters } from "../security/threats.ts";
import { digestsOf, fill, openReleased, OTHER_KEYS, tablesOf } from "../support/released-store.ts";

test(
  "a store of version 1 with a million events keeps every row and every number, with the tenant first in every key",
  { timeout: 300_000 },
  async () => {
    counters("T-TENANT-4");
    const { url, database } = await openReleased(1);
    await fill(database, 250, 1000);
    const tables = await tablesOf(database);
    const before = await digestsOf(database, tables);
    expect(before).toContainEqual(expect.objectContaining({ table: "events", count: "1000000" }));
    const { from, to, lockedMs } = await migrateStore(url);
    expect([from, to, lockedMs > 0]).toEqual([1, SCHEMA_VERSION, true]);
    expect(await digestsOf(database, tables)).toEqual(before);
    expect(await database.query({ text: OTHER_KEYS })).toEqual([]);
  },
);

test("a migration does not wait for a transaction that someone has left open, and changes nothing then", async () => {
  const { url, database } = await openReleased(1);
  await fill(database, 1, 3);
  const other = await database.connect();
  onTestFinished(() => other.end());
  await other.query("begin; select from jp.conversations");
  expect(await codeOf(migrateStore(url))).toBe("store_busy");
  await other.query("rollback");
  expect(await migrateStore(url)).toMatchObject({ from: 1, to: SCHEMA_VERSION });
});
