/** The scripts of `jp store roles`, run as psql runs them. */
import { expect, onTestFinished, test } from "vitest";
import { migrateStore } from "../../src/index.ts";
import { Database } from "../../src/stores/postgres/database.ts";
import {
  groupRolesScript,
  type TenantRole,
  tenantRoleScript,
} from "../../src/stores/postgres/roles.ts";
import { counters } from "../security/threats.ts";
import { emptyDatabase } from "../support/postgres.ts";

/** A store with jp's own roles. `run` is one session, which ends with the first error. */
async function openServer() {
  const url = await emptyDatabase();
  const database = new Database(url);
  onTestFinished(() => database.close());
  await migrateStore(url);
  await database.query({ text: groupRolesScript() });
  const run = async (text: string): Promise<string> => {
    const client = await database.connect();
    try {
      await client.query(text);
      return "done";
    } catch (error) {
      return error instanceof Error ? error.message : "failed";
    } finally {
      await client.end();
    }
  };
  // Roles belong to the server, which other tests use too.
  const id = crypto.randomUUID().replaceAll("-", "");
  const add = (login: TenantRole & { readonly role: string }) =>
    run(tenantRoleScript({ ...login, role: `${login.role}_${id}` }));
  const served = async () => {
    const rows = await database.query<{ readonly role: string; readonly tenant: string }>({
      text: "select role, tenant from jp.tenant_roles order by 1, 2",
    });
    return rows.map(({ role, tenant }) => `${role.replace(`_${id}`, "")} ${tenant}`);
  };
  return { database, run, add, served, id };
}

test.each(["jp_reader", "jp_writer", "jp_desk", "jp_worker", "jp_all"])(
  "the script of a login fails for a name of jp's own roles, and changes nothing: %s",
  async (role) => {
    counters("T-TENANT-6");
    const { run, served, database } = await openServer();
    const login = { tenant: "acme", kind: "writer" } as const;
    expect(() => tenantRoleScript({ ...login, role })).toThrow(/jp_/);
    const text = tenantRoleScript({ ...login, role: "another" }).replaceAll("another", role);
    expect(await run(text)).toBe(`${role} is a role of jp itself, and not the login of a tenant`);
    expect(await served()).toEqual([]);
    expect(
      await database.query({
        text: "select from pg_auth_members where member = 'jp_reader'::regrole and roleid = 'jp_writer'::regrole",
      }),
    ).toEqual([]);
  },
);

test("a login that serves a tenant is never made to serve another, nor all, nor the other way round", async () => {
  counters("T-TENANT-6");
  const { add, served } = await openServer();
  const results = [
    await add({ role: "one", tenant: "acme", kind: "writer" }),
    await add({ role: "one", tenant: "acme", kind: "writer" }),
    await add({ role: "one", tenant: "evil", kind: "writer" }),
    await add({ role: "one", tenant: "*", kind: "writer" }),
    await add({ role: "all", tenant: "*", kind: "worker" }),
    await add({ role: "all", tenant: "evil", kind: "worker" }),
  ];
  expect(results).toEqual([
    "done",
    "done",
    expect.stringMatching(/^one_\w+ serves another tenant already: acme$/),
    expect.stringMatching(/serves another tenant already: acme$/),
    "done",
    expect.stringMatching(/serves another tenant already: \*$/),
  ]);
  expect(await served()).toEqual(["all *", "one acme"]);
});

test("a login that could become that of another tenant is refused", async () => {
  counters("T-TENANT-6");
  const { add, run, served, id } = await openServer();
  await add({ role: "acme", tenant: "acme", kind: "writer" });
  await run(`create role evil_${id} login; grant acme_${id} to evil_${id}`);
  await run(`create role boss_${id} login superuser; create role group_${id}`);
  expect([
    await add({ role: "evil", tenant: "evil", kind: "writer" }),
    await add({ role: "boss", tenant: "evil", kind: "writer" }),
    await add({ role: "group", tenant: "evil", kind: "writer" }),
  ]).toEqual([
    expect.stringMatching(/serves another tenant already: acme$/),
    expect.stringMatching(/not bound by their policies$/),
    expect.stringMatching(/is not a login$/),
  ]);
  expect(await served()).toEqual(["acme acme"]);
});

test("a login has one kind: the script neither adds rights to one that has another, nor leaves it more than it says", async () => {
  const { add } = await openServer();
  const kinds = ["reader", "writer", "desk", "worker"] as const;
  for (const kind of kinds) await add({ role: kind, tenant: "acme", kind });
  for (const role of kinds) {
    for (const kind of kinds) {
      expect(await add({ role, tenant: "acme", kind })).toMatch(
        role === kind ? /^done$/ : new RegExp(` has jp_${role} already`),
      );
    }
  }
});

test("a tenant's name cannot add statements to the script", async () => {
  const { add, served } = await openServer();
  const tenant = String.raw`a$$b'\'; drop table jp.offers; --`;
  expect(await add({ role: "odd", tenant, kind: "writer" })).toBe("done");
  expect(await served()).toEqual([`odd ${tenant}`]);
});

test("the script gives a login time-outs and a limit of connections", async () => {
  counters("T-TENANT-7");
  const { add, database, id } = await openServer();
  await add({ role: "one", tenant: "acme", kind: "worker" });
  const [row] = await database.query({
    text: `select rolconnlimit, setconfig from pg_roles join pg_db_role_setting on setrole = oid where rolname = $1`,
    values: [`one_${id}`],
  });
  expect(row).toEqual({
    rolconnlimit: 60,
    setconfig: [
      "statement_timeout=20s",
      "lock_timeout=16s",
      "idle_in_transaction_session_timeout=30s",
    ],
  });
});
