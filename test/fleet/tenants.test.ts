/** Tenants that share a database: roles that see nothing of each other, and may do no more than they need. */
import { expect, test } from "vitest";
import { answerInquiry, enqueueTurn, listPending, runTurn, runWorker } from "../../src/index.ts";
import { copyStore } from "../../src/stores/index.ts";
import { answerBy, REST, WAITING } from "../../src/stores/open-question.fixture.ts";
import { codeOf, numbered } from "../../src/stores/record-elements.fixture.ts";
import { temporaryWorkspace } from "../../src/stores/temporary-workspace.fixture.ts";
import { ScriptedModel } from "../../src/testing/index.ts";
import { counters } from "../security/threats.ts";
import { CALL, payTool } from "./pay-tool.ts";
import { fill, type Login, openTenants, tryIn } from "./tenant-logins.ts";

const TABLES = ["workspaces", "conversations", "events", "chain", "files", "offers"];

test("a tenant's role reads, changes and deletes no row of another tenant, whatever SQL it runs", async () => {
  counters("T-TENANT-1");
  const { owner, login } = await openTenants();
  const [acme, evil] = [await login("acme"), await login("evil")];
  await fill(acme);
  const seen: unknown[] = [];
  for (const table of TABLES) {
    seen.push([
      table,
      Number(await tryIn(acme, `select from jp.${table}`)) > 0,
      await tryIn(evil, `select from jp.${table}`),
    ]);
  }
  expect(seen).toEqual(TABLES.map((table) => [table, true, 0]));
  const before = await owner.query({ text: "select * from jp.conversations order by key" });
  expect([
    await tryIn(evil, "update jp.conversations set metadata = '{}' returning key"),
    await tryIn(evil, "delete from jp.conversations returning key"),
    await tryIn(evil, "delete from jp.events returning seq"),
    await tryIn(evil, "update jp.offers set state = 'claimed' returning key"),
    await tryIn(evil, "delete from jp.offers returning key"),
  ]).toEqual([0, 0, 0, 0, 0]);
  expect(await owner.query({ text: "select * from jp.conversations order by key" })).toEqual(
    before,
  );
});

test("a tenant's role writes no row that another tenant has, or that would be another's", async () => {
  counters("T-TENANT-1");
  const { owner, login, nameOf } = await openTenants();
  const [acme, evil] = [await login("acme"), await login("evil")];
  await fill(acme);
  await fill(evil);
  const [other] = await owner.query<{ readonly key: string; readonly workspace: string }>({
    text: "select key, workspace from jp.conversations where tenant = $1",
    values: [nameOf("acme")],
  });
  const tenants = [nameOf("acme"), nameOf("evil")].map((name) => `'${name.replace("'", "''")}'`);
  const results: unknown[] = [];
  for (const tenant of tenants) {
    results.push([
      await tryIn(evil, `insert into jp.workspaces (tenant, name) values (${tenant}, 'x')`),
      await tryIn(
        evil,
        `insert into jp.events (conversation, tenant, seq, entry) values (${other?.key}, ${tenant}, 100, '{}')`,
      ),
      await tryIn(
        evil,
        `insert into jp.conversations (workspace, tenant, id, created_at, metadata)
          values (${other?.workspace}, ${tenant}, 'x', 'x', '{}')`,
      ),
      await tryIn(
        evil,
        `insert into jp.offers (key, conversation, tenant, offered)
          values (gen_random_uuid(), ${other?.key}, ${tenant}, '{}')`,
      ),
      await tryIn(
        evil,
        `update jp.conversations set tenant = ${tenant}, id = 'y', workspace = ${other?.workspace}`,
      ),
    ]);
  }
  const [denied, dangling] = ["store_denied", "23503"];
  expect(results).toEqual([
    [denied, denied, denied, denied, denied],
    [0, dangling, dangling, dangling, denied],
  ]);
});

test("a role cannot make itself the role of another tenant", async () => {
  counters("T-TENANT-2");
  const { login, nameOf } = await openTenants();
  const [acme, evil] = [await login("acme"), await login("evil")];
  await fill(acme);
  const tenant = `'${nameOf("acme").replace("'", "''")}'`;
  expect([
    await tryIn(evil, `insert into jp.tenant_roles values (current_user, ${tenant})`),
    await tryIn(evil, "update jp.tenant_roles set tenant = '*'"),
    await tryIn(evil, `set role ${acme.role}`),
    await tryIn(evil, "set row_security = off; select from jp.conversations"),
    await tryIn(evil, "alter table jp.conversations disable row level security"),
    await tryIn(evil, "drop policy tenant on jp.conversations"),
    await tryIn(evil, "select from jp.tenant_roles"),
    await tryIn(evil, `set jp.tenant = ${tenant}; select from jp.conversations`),
  ]).toEqual([...Array.from({ length: 6 }, () => "store_denied"), 1, 0]);
});

test("a role that serves no tenant sees nothing, and one that is opened for another tenant is refused", async () => {
  const { owner, login } = await openTenants();
  const acme = await login("acme");
  await fill(acme);
  const wrong = await login("wrong", { tenant: "acme", serves: "wrong" });
  expect([await wrong.store.list(), await codeOf(wrong.store.create({}))]).toEqual([
    [],
    "store_denied",
  ]);
  await owner.query({ text: "delete from jp.tenant_roles where role = $1", values: [acme.role] });
  expect(await acme.store.list()).toEqual([]);
});

test("a writer can do all that commands do, and nothing to the tables", async () => {
  counters("T-TENANT-2");
  const { login } = await openTenants();
  const acme = await login("acme");
  const { store } = acme;
  const writer = await store.create({ title: "One" });
  await writer.append(...WAITING);
  await writer.updateMetadata((metadata) => ({ ...metadata, title: "Two" }));
  const offered = store.answer(writer.id, answerBy("Ana"), { keepsOpen: true });
  const taken = Promise.withResolvers<void>();
  writer.onAnswer(async ({ event }) => {
    await writer.append(event);
    taken.resolve();
    return { type: "recorded" };
  });
  await taken.promise;
  await writer.append(...REST.slice(1));
  await writer.release();
  expect(await offered).toEqual({ type: "recorded" });
  const copy = await store.fork(writer.id);
  const waiting = await store.create({});
  await waiting.append(...WAITING);
  await waiting.release();
  expect(await store.answer(waiting.id, answerBy("Ana"))).toEqual({ type: "recorded" });
  await store.archive(waiting.id);
  await store.unarchive(waiting.id);
  const text = (await store.readText(copy, "events")) ?? "";
  await store.replaceText(copy, "events", { before: text, after: "[]" });
  const files = temporaryWorkspace();
  expect(await copyStore(store, await files.openPortable())).toMatchObject({ copied: 3 });
  await store.remove(copy);
  expect(await copyStore(await files.openPortable(), store)).toMatchObject({ copied: 1, same: 2 });
  const denied: unknown[] = [];
  for (const statement of [
    "create table jp.mine (x int)",
    "create schema mine",
    "alter table jp.events add column x int",
    "truncate jp.events",
    "drop table jp.offers",
    "update jp.events set entry = '{}'",
    "update jp.chain set line = '{}'",
    "delete from jp.chain",
    "update jp.schema_version set version = 2",
    "update jp.limits set turns = null",
    "delete from jp.limits",
  ]) {
    denied.push(await tryIn(acme, statement));
  }
  expect(denied).toEqual(denied.map(() => "store_denied"));
});

test("a reader reads, and writes nothing", async () => {
  const { login } = await openTenants();
  const acme = await login("acme");
  const writer = await acme.store.create({});
  await writer.append(numbered(1));
  await writer.release();
  const { store } = await login("auditor", { tenant: "acme", kind: "reader" });
  expect((await store.load(writer.id)).stream.entries).toHaveLength(1);
  expect([await codeOf(store.open(writer.id)), await codeOf(store.create({}))]).toEqual([
    "store_denied",
    "store_denied",
  ]);
});

test("people are changed by the login of a desk, known to all logins of the tenant, and unknown to other tenants", async () => {
  counters("T-PEOPLE-6");
  counters("T-TENANT-1");
  const { login } = await openTenants();
  const desk = await login("desk", { tenant: "acme", kind: "desk" });
  const evil = await login("evil", { kind: "desk" });
  const others = [
    await login("acme"),
    await login("worker", { tenant: "acme", kind: "worker" }),
    await login("auditor", { tenant: "acme", kind: "reader" }),
  ];
  await desk.people.add("ada", ["see"]);
  await desk.people.change("ada", { roles: ["finance"] });
  const session = { key: "k", who: "w", startedAt: 1, usedAt: 1 };
  const ended = { keys: [], startedBefore: 0, usedBefore: 0, kept: 1 };
  await desk.sessions.start(session, ended);
  await desk.sessions.use("k", { now: 2, before: 1 });
  expect(await desk.sessions.find("k")).toEqual({ ...session, usedAt: 2 });
  for (const { people, sessions } of others) {
    expect(await people.list()).toMatchObject([
      { name: "ada", rights: ["see"], roles: ["finance"] },
    ]);
    expect([
      await codeOf(people.add("eve", ["administer"])),
      await codeOf(people.change("ada", { roles: [] })),
      await codeOf(people.remove("ada")),
      await codeOf(sessions.find("k")),
      await codeOf(sessions.start({ ...session, key: "l" }, ended)),
    ]).toEqual(Array.from({ length: 5 }, () => "store_denied"));
  }
  expect([await evil.people.list(), await evil.sessions.find("k")]).toEqual([[], undefined]);
  expect([
    await tryIn(evil, "update jp.people set person = '{}' returning key"),
    await tryIn(evil, "delete from jp.people returning key"),
    await tryIn(evil, "delete from jp.desk_sessions returning key"),
  ]).toEqual([0, 0, 0]);
  // What was changed, and which ids were given, no desk can change.
  expect([
    await desk.people.readLog(),
    await evil.people.readLog(),
    await tryIn(desk, "delete from jp.people_log returning key"),
    await tryIn(desk, "update jp.people_log set what = '' returning key"),
  ]).toMatchObject([
    [{ what: "person_added" }, { what: "person_changed" }],
    [],
    "store_denied",
    "store_denied",
  ]);
});

test("a worker of a fleet continues the turns of each tenant", async () => {
  const { login } = await openTenants();
  const tenants = [await login("acme"), await login("umbrella")];
  const done: string[] = [];
  const problems: Error[] = [];
  for (const [index, name] of ["acme", "umbrella"].entries()) {
    const { store } = tenants[index] as Login; // There is one.
    const conversation = await store.create({});
    const asking = new ScriptedModel({ replies: [[CALL]] });
    await runTurn({ conversation, model: asking, tools: [payTool()], defer: true }, "Pay.");
    await conversation.release();
    const worker = await login(`worker_${name}`, { tenant: name, serves: "*", kind: "worker" });
    const stopping = new AbortController();
    const ended = runWorker({
      store: worker.store,
      turn: { model: new ScriptedModel({ replies: ["It is paid.", "Hi."] }), tools: [payTool()] },
      signal: stopping.signal,
      onTurn: (turn) => {
        if (turn.type === "resumed") done.push(`${name}: ${turn.turn.text}`);
        else problems.push(turn.error);
        if (done.length % 2 === 0) stopping.abort();
      },
      onProblem: (problem) => void problems.push(problem),
    });
    const [item] = await listPending(store);
    await answerInquiry(store, item ?? "", { answer: true });
    const next = await store.create({});
    await enqueueTurn(next, "Hello?");
    await next.release();
    await ended;
  }
  expect([done.toSorted(), problems]).toEqual([
    ["acme: Hi.", "acme: It is paid.", "umbrella: Hi.", "umbrella: It is paid."],
    [],
  ]);
});
