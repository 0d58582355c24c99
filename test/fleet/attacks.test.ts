/** Attacks of one tenant on another in the same database, with logins as the scripts make them, and SQL of their own. */
import { generateKeyPairSync, sign } from "node:crypto";
import { expect, test } from "vitest";
import { migrateStore, runWorker } from "../../src/index.ts";
import { chatRequest, turnStart } from "../../src/record/conversation/events.fixture.ts";
import { StreamEntry } from "../../src/record/conversation/index.ts";
import { WAITING } from "../../src/stores/open-question.fixture.ts";
import type { Database } from "../../src/stores/postgres/database.ts";
import { writeLimits } from "../../src/stores/postgres/limits.ts";
import { groupRolesScript } from "../../src/stores/postgres/roles.ts";
import { publicKeyText } from "../../src/stores/postgres/turn-keys.ts";
import { LastTurn } from "../../src/stores/postgres/turn-state.ts";
import { ScriptedModel } from "../../src/testing/index.ts";
import { counters } from "../security/threats.ts";
import { openReleased, RELEASED_ROLES } from "../support/released-store.ts";
import { CALL, payTool } from "./pay-tool.ts";
import { fill, type Login, openTenants, tryIn } from "./tenant-logins.ts";

const DENIED = "store_denied";
const DANGLING = "23503";

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** The tables whose rows the server numbers. */
async function numberedTables(owner: Database): Promise<readonly string[]> {
  const rows = await owner.query<{ readonly name: string }>({
    text: `select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid
      where c.relnamespace = 'jp'::regnamespace and a.attidentity <> '' order by 1`,
  });
  return rows.map(({ name }) => name);
}

/** The columns of each that a row needs, and their values for a tenant. */
const NEEDED: Readonly<Record<string, readonly [string, string]>> = {
  conversations: ["workspace, id, created_at, metadata", "$WORKSPACE, 'jp-c1', 'x', '{}'"],
  people: ["name, person", "'eve' || random(), '{}'"],
  people_log: ["person_id, what, entry", "'eve', 'person_added', '{}'"],
  workspaces: ["name", "'w' || random()"],
};

async function firstKey(owner: Database, table: string, tenant: string): Promise<string> {
  const [row] = await owner.query<{ readonly key: string }>({
    text: `select max(key) as key from jp.${table} where tenant = $1`,
    values: [tenant],
  });
  if (row === undefined) throw new Error(`${table} is empty`);
  return row.key;
}

/** Everything that acme writes must go through, and what it lists must be its own. */
async function useAll({ store, people }: Login): Promise<number> {
  const name = `p${crypto.randomUUID()}`;
  await people.add(name, ["see"]);
  await people.remove(name);
  const writer = await store.create({ title: "After" });
  await writer.append(...WAITING);
  await writer.release();
  await store.remove(await store.fork(writer.id));
  return (await store.list()).length;
}

test("no login sets the number of a row, whether taken or next, in any table", async () => {
  counters("T-TENANT-4");
  const { owner, login, nameOf } = await openTenants();
  const acme = await login("acme", { kind: "desk" });
  await fill(acme);
  await acme.people.add("ada", ["see"]);
  const tables = await numberedTables(owner);
  expect(tables).toEqual(Object.keys(NEEDED));
  for (const kind of ["desk", "worker"] as const) {
    const evil = await login(`evil_${kind}`, { tenant: "evil", kind });
    await (await evil.store.create({})).release();
    const workspace = await firstKey(owner, "workspaces", nameOf("evil"));
    const results: unknown[] = [];
    for (const table of tables) {
      const [columns = "", values = ""] = NEEDED[table] ?? [];
      const taken = Number(await firstKey(owner, table, nameOf("acme")));
      for (const key of [taken, taken + 1, taken + 1_000_000]) {
        const text = `insert into jp.${table} (key, tenant, ${columns}) overriding system value
          values (${key}, ${quoted(nameOf("evil"))}, ${values.replace("$WORKSPACE", workspace)})`;
        results.push(await tryIn(evil, text), await tryIn(evil, `${text} on conflict do nothing`));
      }
      results.push(
        await tryIn(evil, `update jp.${table} set key = default`),
        await tryIn(evil, `select setval('jp.${table}_key_seq', 1)`),
        await tryIn(evil, `select nextval('jp.${table}_key_seq')`),
        await tryIn(evil, `select last_value from jp.${table}_key_seq`),
        await tryIn(evil, `alter sequence jp.${table}_key_seq restart`),
      );
    }
    expect(new Set(results)).toEqual(new Set([DENIED]));
  }
  expect(await useAll(acme)).toBe(2);
});

test("rows of another tenant with all of a tenant's numbers, taken and next, stand in the way of none of its writes", async () => {
  counters("T-TENANT-4");
  const { owner, login, nameOf } = await openTenants();
  const acme = await login("acme", { kind: "desk" });
  const all = await login("all", { tenant: "acme", serves: "*", kind: "desk" });
  await fill(acme);
  await acme.people.add("ada", ["see"]);
  const evil = quoted(nameOf("evil"));
  // As if evil's login could still choose numbers.
  for (const table of ["workspaces", "conversations", "people", "people_log"]) {
    const [columns = "", values = ""] = NEEDED[table] ?? [];
    const workspace = await firstKey(owner, "workspaces", nameOf("acme"));
    const given = values.replace("$WORKSPACE", workspace).replace("jp-c1'", "jp-c' || key");
    await owner.query({
      text: `insert into jp.${table} (key, tenant, ${columns}) overriding system value
        select key, ${evil}, ${given} from generate_series(1, 1000) as key`,
    });
  }
  expect([await useAll(acme), await useAll(all)]).toEqual([2, 3]);
  const owned = await login("owned", { tenant: "acme", serves: "*", kind: "worker" });
  expect((await owned.store.list()).map(({ id }) => id.length > 8)).toEqual([true, true, true]);
  expect((await acme.people.list()).map(({ name }) => name)).toEqual(["ada"]);
});

test("a login puts no row into another tenant's workspace, conversation or tables, by insert, conflict or update", async () => {
  counters("T-TENANT-1");
  counters("T-TENANT-4");
  const { owner, login, nameOf } = await openTenants();
  const acme = await login("acme", { kind: "desk" });
  const evil = await login("evil", { kind: "desk" });
  for (const each of [acme, evil]) {
    await fill(each);
    await each.people.add("ada", ["see"]);
    await each.sessions.start(
      { key: "k", who: "w", startedAt: 1, usedAt: 1 },
      { keys: [], startedBefore: 0, usedBefore: 0, kept: 1 },
    );
  }
  const dump = () =>
    owner.query({
      text: `select array(select t::text from jp.conversations t where tenant = $1 order by 1) as c,
        array(select t::text from jp.workspaces t where tenant = $1 order by 1) as w,
        array(select t::text from jp.offers t where tenant = $1 order by 1) as o,
        array(select t::text from jp.people t where tenant = $1 order by 1) as p,
        array(select t::text from jp.desk_sessions t where tenant = $1 order by 1) as s,
        array(select t::text from jp.events t where tenant = $1 order by 1) as e`,
      values: [nameOf("acme")],
    });
  const before = await dump();
  const theirs = {
    conversation: await firstKey(owner, "conversations", nameOf("acme")),
    workspace: await firstKey(owner, "workspaces", nameOf("acme")),
  };
  const [offer] = await owner.query<{ readonly key: string }>({
    text: "select key from jp.offers where tenant = $1",
    values: [nameOf("acme")],
  });
  const statementsFor = (tenant: string) => [
    `insert into jp.conversations (workspace, tenant, id, created_at, metadata)
      values (${theirs.workspace}, ${tenant}, 'jp-c17760000001', 'x', '{}')`,
    `insert into jp.conversations (workspace, tenant, id, created_at, metadata)
      select ${theirs.workspace}, ${tenant}, id, created_at, metadata from jp.conversations
      on conflict (tenant, workspace, id) do update set metadata = 'evil'`,
    `insert into jp.workspaces (tenant, name) values (${tenant}, 'same')
      on conflict (tenant, name) do update set last_id = 0 where jp.workspaces.tenant <> ${quoted(nameOf("evil"))}`,
    `insert into jp.events (conversation, tenant, seq, entry) values (${theirs.conversation}, ${tenant}, 99, '{}')`,
    `insert into jp.events (conversation, tenant, seq, entry)
      values (${theirs.conversation}, ${tenant}, 0, '{}') on conflict do nothing`,
    `insert into jp.chain (conversation, tenant, seq, line) values (${theirs.conversation}, ${tenant}, 99, '{}')`,
    `insert into jp.files (conversation, tenant, name, content) values (${theirs.conversation}, ${tenant}, 'x', '')`,
    `insert into jp.offers (key, conversation, tenant, offered)
      values ('${offer?.key}', ${theirs.conversation}, ${tenant}, '{}')
      on conflict (tenant, key) do update set offered = 'evil'`,
    `update jp.offers set tenant = ${tenant}, conversation = ${theirs.conversation}`,
    `update jp.events set tenant = ${tenant}`,
    `update jp.conversations set tenant = ${tenant}`,
    `update jp.conversations set workspace = ${theirs.workspace}`,
    `update jp.workspaces set tenant = ${tenant}`,
    `update jp.workspaces set name = 'site'`,
    `update jp.people set tenant = ${tenant}`,
    `update jp.people set name = 'ada'`,
    `insert into jp.turn_starts (tenant) values (${tenant})`,
  ];
  const insertPeople = `insert into jp.people (tenant, name, person) values (${quoted(nameOf("acme"))}, 'ada', '{}')
    on conflict (tenant, name) do update set person = excluded.person`;
  const moveSessions = `update jp.desk_sessions set tenant = ${quoted(nameOf("acme"))}, key = 'mine'`;
  const asAcme: unknown[] = [];
  for (const text of [...statementsFor(quoted(nameOf("acme"))), insertPeople, moveSessions]) {
    asAcme.push(await tryIn(evil, text));
  }
  expect(new Set(asAcme)).toEqual(new Set([DENIED]));
  const asEvil: unknown[] = [];
  for (const text of statementsFor(quoted(nameOf("evil")))) asEvil.push(await tryIn(evil, text));
  expect(new Set(asEvil)).toEqual(new Set([DENIED, DANGLING, 0]));
  expect(await dump()).toEqual(before);
  expect(await useAll(acme)).toBe(2);
});

test("the functions of the schema say and change nothing with another tenant's name", async () => {
  counters("T-TENANT-1");
  counters("T-TENANT-3");
  const { owner, login, nameOf } = await openTenants();
  const [acme, evil] = [await login("acme"), await login("evil")];
  await fill(acme);
  await fill(evil);
  await writeLimits(owner, { tenant: nameOf("acme"), turns: 1, bytes: 1, requests: 1 });
  const definers = await owner.query({
    text: "select proname from pg_proc where pronamespace = 'jp'::regnamespace and prosecdef",
  });
  expect(definers).toEqual([]);
  const [tenant, key] = [
    quoted(nameOf("acme")),
    await firstKey(owner, "conversations", nameOf("acme")),
  ];
  const ask = async (text: string) => evil.database.query({ text });
  expect([
    await ask(`select jp.may_take(${tenant}, ${key}) as may`),
    await ask(`select jp.grow(${tenant}, 1000000, 100) as added`),
    await ask(`select jp.may_take(tenant, 1) as may from jp.limits`),
  ]).toEqual([[{ may: true }], [{ added: "1000000" }], []]);
  expect(
    await owner.query({
      text: "select * from jp.turn_starts where tenant = $1",
      values: [nameOf("acme")],
    }),
  ).toEqual([]);
  expect([
    await tryIn(
      evil,
      "create or replace function jp.grow(text, bigint, integer) returns bigint language sql as 'select 0'",
    ),
    await tryIn(evil, "select from jp.limits for update"),
  ]).toEqual([DENIED, 0]);
});

/** A turn that evil's machine has signed as if it were acme's, as versions without a counter do. */
function forge(keys: ReturnType<typeof generateKeyPairSync>, tenant: string, id: string) {
  const stored = [turnStart(), chatRequest("Pay.")].map((event) => {
    const entry = StreamEntry.fromEvent(event);
    return { entry, text: entry.toText() };
  });
  const { digest } = new LastTurn({ tenant, workspace: "same", conversation: id }).with(stored);
  if (digest === undefined) throw new Error("there is no turn");
  const key = publicKeyText(keys.publicKey);
  const signature = sign(null, Buffer.from(`jp turn ${digest}`), keys.privateKey).toString(
    "base64url",
  );
  return { texts: stored.map(({ text }) => text), key, signature };
}

/** Puts it into the rows of `tenant`, in the workspace with this number. */
async function plant(
  database: Database,
  place: { readonly workspace: string; readonly tenant: string; readonly id: string },
  { texts, key, signature }: ReturnType<typeof forge>,
): Promise<void> {
  await database.query({
    text: `with c as (
        insert into jp.conversations (workspace, tenant, id, created_at, metadata, length, open_turn, ready_at,
          is_own_turn, turn_key, turn_signature)
        values ($1, $2, $3, '2026-01-01 00:00:00.0', '{"last_activated_at":"2026-01-01 00:00:00.0"}',
          2, 0, 0, true, $4, $5) returning key
      ) select key from c`,
    values: [place.workspace, place.tenant, place.id, key, signature],
  });
  await database.query({
    text: `insert into jp.events (conversation, tenant, seq, entry)
      select c.key, c.tenant, place - 1, entry from jp.conversations c, unnest($3::text[]) with ordinality as e (entry, place)
      where c.tenant = $1 and c.id = $2`,
    values: [place.tenant, place.id, texts],
  });
}

/** Runs a worker until it has run the turn of a conversation that is acme's own, and returns the messages it ran. */
async function workUntilOwn(acme: Login, worker: Login): Promise<readonly string[]> {
  const own = await acme.store.create({ title: "Own" });
  await own.append(turnStart(), chatRequest("Own."));
  await own.release();
  const ran: string[] = [];
  const stopping = new AbortController();
  const problems: Error[] = [];
  await runWorker({
    store: worker.store,
    concurrency: 1,
    turn: ({ id }) => {
      ran.push(id === own.id ? "own" : id);
      return {
        model: new ScriptedModel({ replies: id === own.id ? ["Done."] : [[CALL], "Done."] }),
        tools: [payTool()],
        defer: true,
      };
    },
    signal: stopping.signal,
    onTurn: () => {
      if (ran.includes("own")) stopping.abort();
    },
    onProblem: (problem) => void problems.push(problem),
  });
  expect(problems).toEqual([]);
  return ran;
}

/**
 * Evil's conversation, in acme's workspace by its number, as a store and roles of version 2 let its login write it. The
 * shared worker accepts the key of evil's machine for these tenants.
 */
async function attackReleased(tenants: readonly string[]) {
  const { url, database } = await openReleased(2);
  await database.query({ text: RELEASED_ROLES });
  const { login, nameOf, owner } = await openTenants(url);
  const [mine, theirs] = [generateKeyPairSync("ed25519"), generateKeyPairSync("ed25519")];
  const acmeKeys = { privateKey: mine.privateKey };
  const acme = await login("acme", { keys: acmeKeys });
  const evil = await login("evil");
  const [made] = await owner.query<{ readonly key: string }>({
    text: "insert into jp.workspaces (tenant, name) values ($1, 'same') returning key",
    values: [nameOf("acme")],
  });
  const workspace = made?.key ?? "";
  const id = "jp-c17000000001";
  const forged = forge(theirs, nameOf("acme"), id);
  await evil.database.query({
    text: `insert into jp.workspaces (key, tenant, name) overriding system value values ($1, $2, 'mine')`,
    values: [workspace, nameOf("evil")],
  });
  await plant(evil.database, { workspace, tenant: nameOf("evil"), id }, forged);
  await migrateStore(url);
  await owner.query({ text: groupRolesScript() });
  const keys = {
    ...acmeKeys,
    accepted: [{ key: publicKeyText(theirs.publicKey), tenants: tenants.map(nameOf) }],
  };
  const worker = await login("shared", { tenant: "acme", serves: "*", kind: "worker", keys });
  return { acme, evil, worker, owner, id, workspace, nameOf, forged };
}

test("a shared worker never runs a conversation that another tenant has put into a workspace by its number", async () => {
  counters("T-TENANT-4");
  counters("T-TENANT-5");
  // Even if it accepts the other machine's key for both.
  const { acme, evil, worker, owner, id, nameOf } = await attackReleased(["acme", "evil"]);
  expect(
    await owner.query({
      text: "select tenant = $1 as is_evil from jp.conversations",
      values: [nameOf("evil")],
    }),
  ).toEqual([{ is_evil: true }]);
  expect(await workUntilOwn(acme, worker)).toEqual(["own"]);
  expect((await worker.store.list()).map((each) => each.id === id)).toEqual([false]);
  expect(await evil.store.list()).toEqual([]);
});

test("a shared worker runs no turn that another tenant's machine has signed as this one's, even in this one's rows", async () => {
  counters("T-TENANT-5");
  const { acme, worker, owner, workspace, nameOf, forged, id } = await attackReleased(["evil"]);
  // As if the policies had let it through: the signature alone has to stop it.
  await plant(owner, { workspace, tenant: nameOf("acme"), id }, forged);
  expect(await workUntilOwn(acme, worker)).toEqual(["own"]);
  expect((await worker.store.list()).map((each) => each.id)).toContain(id);
});

test("a shared worker runs a turn that an accepted machine of its tenant has signed", async () => {
  const { acme, worker, owner, workspace, nameOf, forged, id } = await attackReleased(["acme"]);
  await plant(owner, { workspace, tenant: nameOf("acme"), id }, forged);
  expect((await workUntilOwn(acme, worker)).toSorted()).toEqual([id, "own"]);
});
