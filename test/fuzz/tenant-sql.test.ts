/**
 * Random SQL by the logins of a tenant, in a database that it shares with another one. `JP_FUZZ_TIMES=10` runs 10,000
 * statements, and `JP_FUZZ_SEED` repeats a run.
 */
import { expect, test } from "vitest";
import { counters } from "../security/threats.ts";
import { SqlAttack } from "./tenant-sql.ts";

const TIMES = Number(process.env["JP_FUZZ_TIMES"] ?? 1);
const SEED = Number(process.env["JP_FUZZ_SEED"] ?? Date.now() % 1_000_000);
const STATEMENTS = 1000;
const TIMEOUT_MS = 300_000;

test(
  "a tenant's logins read and change nothing of another tenant, and stop none of its writes, whatever SQL they run",
  { timeout: TIMEOUT_MS * TIMES },
  async () => {
    counters("T-TENANT-1");
    counters("T-TENANT-2");
    counters("T-TENANT-4");
    const attack = await SqlAttack.start(SEED);
    const found = await attack.run(STATEMENTS * TIMES);
    expect(found, `seed ${SEED}`).toEqual([]);
    // Or it would show nothing.
    expect(attack.succeeded / (STATEMENTS * TIMES)).toBeGreaterThan(0.15);
  },
);

test.each([
  ["a table without its policy", "alter table jp.events disable row level security"],
  ["a policy that compares nothing", "alter policy tenant on jp.people using (true)"],
  [
    "a function with the owner's rights",
    "alter function jp.grow(text, bigint, integer) security definer",
  ],
  [
    "numbers that a login sets, in a key without the tenant",
    ["workspaces", "conversations", "people", "people_log"]
      .map(
        (table) =>
          `grant insert on jp.${table} to jp_desk; alter table jp.${table} add unique (key);`,
      )
      .join(" "),
  ],
])("random SQL finds %s", { timeout: TIMEOUT_MS }, async (_what, opening) => {
  const attack = await SqlAttack.start(1, opening);
  expect(await attack.run(STATEMENTS * 4)).not.toEqual([]);
});
