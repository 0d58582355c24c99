/** The tables of released versions of jp, brought up to this one. */
import { expect, onTestFinished, test } from "vitest";
import { migrateStore } from "../../src/index.ts";
import { answerBy, WAITING } from "../../src/stores/open-question.fixture.ts";
import { Database } from "../../src/stores/postgres/database.ts";
import { PostgresStore } from "../../src/stores/postgres/postgres-store.ts";
import { groupRolesScript, tenantRoleScript } from "../../src/stores/postgres/roles.ts";
import { migrate, SCHEMA_VERSION } from "../../src/stores/postgres/schema.ts";
import { StreamEntry } from "../../src/record/conversation/index.ts";
import { counters } from "../security/threats.ts";
import { emptyDatabase } from "../support/postgres.ts";
import { fill, openReleased, OTHER_KEYS, RELEASED_ROLES } from "../support/released-store.ts";

/** The tables, keys, policies and functions of a store. */
async function describeStore(database: Database) {
  const [row] = await database.query({
    text: `select
      array(select format('%s.%s %s %s', c.relname, a.attname, a.atttypid::regtype, a.attidentity)
        from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        where c.relnamespace = 'jp'::regnamespace and c.relkind = 'r' order by 1) as columns,
      array(select format('%s %s', conrelid::regclass, pg_get_constraintdef(oid)) from pg_constraint
        where connamespace = 'jp'::regnamespace order by 1) as constraints,
      array(select indexdef from pg_indexes where schemaname = 'jp' order by 1) as indexes,
      array(select format('%s %s %s', tablename, policyname, qual) from pg_policies where schemaname = 'jp' order by 1) as policies,
      array(select format('%s %s', oid::regprocedure, prosrc) from pg_proc where pronamespace = 'jp'::regnamespace order by 1) as functions`,
  });
  return row;
}

test.each([1, 2] as const)(
  "a store that an earlier release has made becomes the same as a new one: version %d",
  async (version) => {
    const { url, database } = await openReleased(version);
    const fresh = new Database(await emptyDatabase());
    onTestFinished(() => fresh.close());
    await fill(database, 1, 3);
    await migrate(fresh);
    expect(await migrateStore(url)).toMatchObject({ from: version, to: SCHEMA_VERSION });
    expect(await describeStore(database)).toEqual(await describeStore(fresh));
    expect(await database.query({ text: OTHER_KEYS })).toEqual([]);
  },
);

test("a turn that waited in a store of version 1 is answered after the migration", async () => {
  const { url, database } = await openReleased(1);
  const entries = WAITING.map((event) => StreamEntry.fromEvent(event).toText());
  await database.query({
    text: "insert into jp.workspaces (tenant, name) values ('acme', 'site')",
  });
  await database.query({
    text: `with c as (
        insert into jp.conversations (workspace, tenant, id, created_at, metadata, length, open_turn, is_own_turn)
        select key, tenant, 'jp-c17760000001', '2026-01-01 00:00:00.0', '{}', cardinality($1::text[]), 0, true
        from jp.workspaces returning key, tenant
      ) insert into jp.events (conversation, tenant, seq, entry)
      select c.key, c.tenant, place - 1, entry from c, unnest($1::text[]) with ordinality as e (entry, place)`,
    values: [entries],
  });
  await migrateStore(url);
  const store = new PostgresStore({ url, tenant: "acme", workspace: "site", pid: process.pid });
  onTestFinished(() => store.close());
  const [waiting] = await store.listPending();
  if (waiting === undefined) throw new Error("nothing waits");
  expect(await store.answer(waiting.id, answerBy("Ana"))).toEqual({ type: "recorded" });
  expect((await store.load(waiting.id)).stream.entries).toHaveLength(WAITING.length + 1);
});

test("the script of roles takes away the rights on whole tables that the released one gave", async () => {
  counters("T-TENANT-4");
  const { url, database } = await openReleased(2);
  const role = `dead_${crypto.randomUUID().replaceAll("-", "")}`;
  await database.query({ text: RELEASED_ROLES });
  await database.query({ text: tenantRoleScript({ role, tenant: "acme", kind: "writer" }) });
  await migrateStore(url);
  const rights = async () => {
    const [row] = await database.query<{ readonly found: readonly string[] }>({
      text: `select array(select format('%s %s', t, p)
        from unnest(array['workspaces', 'conversations', 'people', 'people_log']) t, unnest(array['insert', 'update']) p,
          unnest(array[$1, 'jp_desk']) r
        where has_table_privilege(r, 'jp.' || t, p) or has_column_privilege(r, 'jp.' || t, 'key', p)
        order by 1) as found`,
      values: [role],
    });
    return row?.found;
  };
  const before = await rights();
  await database.query({ text: groupRolesScript() });
  expect([before?.includes("conversations insert"), await rights()]).toEqual([true, []]);
});
