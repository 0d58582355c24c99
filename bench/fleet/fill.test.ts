import { expect, onTestFinished, test } from "vitest";
import { createDesk } from "../../src/surfaces/desk/index.ts";
import { openStore } from "../../src/stores/index.ts";
import { migratedDatabase } from "../../test/support/postgres.ts";
import { fillPending } from "./fill.ts";

test("a store is filled with permissions that wait, each older than the next", async () => {
  const url = await migratedDatabase();
  const workspace = crypto.randomUUID();
  await fillPending(url, 7, { workspace });
  const store = await openStore(url, { workspace });
  onTestFinished(() => store.close?.());
  await using desk = await createDesk([{ root: "w", conversations: store }]);
  const { items } = await desk.listPending();
  const times = new Set(items.map((item) => item.asked_at));
  expect([items.length, times.size, items[0]?.kind]).toEqual([7, 7, "permission"]);
});
