/** How a database knows a workspace: by `.jp/.store-id`, or by `.jp/.id` if its row is from before. */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openStore, openTenant } from "../../src/stores/index.ts";
import type { DatabaseOptions, Workspace } from "../../src/stores/index.ts";
import { answerBy, WAITING } from "../../src/stores/open-question.fixture.ts";
import { Database } from "../../src/stores/postgres/database.ts";
import { ensureStoreId, findStoreId } from "../../src/stores/fs/store-id.ts";
import type { WorkspaceFiles } from "../../src/stores/postgres/store-options.ts";
import { WorkspaceName } from "../../src/stores/postgres/workspace-name.ts";
import { codeOf, numbered } from "../../src/stores/record-elements.fixture.ts";
import { temporaryWorkspace } from "../../src/stores/temporary-workspace.fixture.ts";
import { generateSigner } from "../../src/proof/machine-key.ts";
import { counters } from "../security/threats.ts";
import { migratedDatabase } from "../support/postgres.ts";

/** A tenant of a shared database, for one test. */
async function openDatabase() {
  const url = await migratedDatabase();
  const tenant = crypto.randomUUID();
  const database = new Database(url);
  onTestFinished(() => database.close());
  /** A clone with the same `.jp/.id` as all others of this test, and its conversations. */
  const clone = (options: Partial<DatabaseOptions> = {}) => {
    const here = temporaryWorkspace({ database: { url, tenant, ...options } });
    onTestFinished(() => here.conversations.close?.());
    const reopen = (changed: Partial<DatabaseOptions> = {}) => {
      const again = here.reopen({ database: { url, tenant, ...options, ...changed } });
      onTestFinished(() => again.conversations.close?.());
      return again;
    };
    return { ...here, reopen, file: path.join(here.root, ".jp", ".store-id") };
  };
  /** As processes of earlier versions do. */
  const insertOld = () =>
    database.query({
      text: "insert into jp.workspaces (tenant, name) values ($1, 'abc12')",
      values: [tenant],
    });
  const rows = () =>
    database.query({
      text: "select name, store_id from jp.workspaces where tenant = $1 order by key",
      values: [tenant],
    });
  return { url, tenant, database, clone, insertOld, rows };
}

type Clone = ReturnType<Awaited<ReturnType<typeof openDatabase>>["clone"]>;

async function write({ conversations }: Pick<Workspace, "conversations">) {
  await using writer = await conversations.create({});
  await writer.append(numbered(0));
  return writer.id;
}

function storeIdIn({ file }: Clone): string {
  return readFileSync(file, "utf8").trim().split("\n").at(-1) ?? "";
}

/** As a pull does. */
function pull(from: Clone, to: Clone): void {
  writeFileSync(to.file, readFileSync(from.file));
}

async function idsIn({ conversations }: Pick<Workspace, "conversations">) {
  return (await conversations.list()).map(({ id }) => id);
}

test("the first write makes the file, whose id names the workspace from then on, and reading makes nothing", async () => {
  const { clone, rows } = await openDatabase();
  const here = clone();
  expect([await idsIn(here), await here.claims?.findStored(), existsSync(here.file)]).toEqual([
    [],
    undefined,
    false,
  ]);
  const id = await write(here);
  const storeId = storeIdIn(here);
  expect(storeId).toMatch(/^[0-9a-f]{32}$/);
  const name = `project-${storeId.slice(0, 12)}`;
  expect(await rows()).toEqual([{ name, store_id: storeId }]);
  rmSync(path.join(here.root, ".jp", ".id"));
  const again = here.reopen();
  expect([await idsIn(again), await again.claims?.findStored()]).toMatchObject([
    [id],
    { name, isUnclaimed: false },
  ]);
});

test("two repositories with the same .id have nothing of each other's", async () => {
  counters("T-WORK-30");
  const { clone, rows } = await openDatabase();
  const [one, other] = [clone(), clone()];
  const ids = [await write(one), await write(other)];
  expect([await idsIn(one.reopen()), await idsIn(other.reopen())]).toEqual([[ids[0]], [ids[1]]]);
  expect(await rows()).toHaveLength(2);
});

test("two processes that write first at the same moment agree", async () => {
  const { clone, rows } = await openDatabase();
  const here = clone();
  const ids = await Promise.all(Array.from({ length: 6 }, () => write(here.reopen())));
  expect(new Set(await idsIn(here))).toEqual(new Set(ids));
  expect(await rows()).toHaveLength(1);
});

test("two clones that both make a file before either is committed have different workspaces, which their names still reach", async () => {
  const { clone } = await openDatabase();
  const [one, other] = [clone(), clone()];
  await write(one);
  const id = await write(other);
  const { name = "" } = (await other.claims?.findStored()) ?? {};
  rmSync(other.file);
  pull(one, other);
  expect(await idsIn(other.reopen())).toEqual(await idsIn(one));
  expect(await idsIn(other.reopen({ workspace: name }))).toEqual([id]);
});

test("a workspace from before goes on by the five digits of its .id, in all clones, and makes no file", async () => {
  const { clone, insertOld, rows } = await openDatabase();
  await insertOld();
  const [one, other] = [clone(), clone()];
  const id = await write(one);
  expect([await idsIn(other), existsSync(one.file)]).toEqual([[id], false]);
  expect(await one.claims?.findStored()).toMatchObject({ name: "abc12", isUnclaimed: true });
  expect(await rows()).toEqual([{ name: "abc12", store_id: null }]);
});

test("a clone goes on with the file after a claim, and without it or with another it is refused", async () => {
  counters("T-WORK-30");
  const { clone, insertOld, rows } = await openDatabase();
  await insertOld();
  const [one, other] = [clone(), clone()];
  const id = await write(one);
  expect(await one.claims?.claim(false)).toEqual({ type: "claimed", name: "abc12" });
  expect(await rows()).toEqual([{ name: "abc12", store_id: storeIdIn(one) }]);
  expect(await one.reopen().claims?.claim(false)).toEqual({ type: "known", name: "abc12" });

  const codes = () => {
    const { conversations, claims } = other.reopen();
    const attempts = [conversations.list(), conversations.create({}), claims?.claim(false)];
    return Promise.all(attempts.map((each) => codeOf(Promise.resolve(each))));
  };
  const refused = [await codes()];
  writeFileSync(other.file, "0123456789abcdef0123456789abcdef\n");
  refused.push(await codes());
  expect(refused).toEqual(
    ["workspace_claimed", "other_workspace"].map((code) => [code, code, code]),
  );
  expect(await idsIn(other.reopen({ workspace: "abc12" }))).toEqual([id]);
  pull(one, other);
  expect([await idsIn(other.reopen()), await idsIn(one.reopen())]).toEqual([[id], [id]]);
});

test("a process that has the workspace open goes on after a claim", async () => {
  const { clone, insertOld } = await openDatabase();
  await insertOld();
  const [one, other] = [clone(), clone()];
  await write(other);
  await one.claims?.claim(false);
  await write(other);
  expect(await idsIn(one)).toHaveLength(2);
});

test("of clones that claim at the same moment, one does, and the others keep no file", async () => {
  const { clone, insertOld, rows } = await openDatabase();
  await insertOld();
  const clones = Array.from({ length: 6 }, () => clone());
  const claims = await Promise.all(
    clones.map(async ({ claims: each }) => {
      const claiming = each?.claim(false) ?? Promise.reject(new Error("no database"));
      return claiming.then(
        ({ type }) => type,
        () => codeOf(claiming),
      );
    }),
  );
  expect(Map.groupBy(claims, (code) => code)).toEqual(
    new Map([
      ["claimed", ["claimed"]],
      ["workspace_claimed", Array.from({ length: 5 }, () => "workspace_claimed")],
    ]),
  );
  const winner = clones[claims.indexOf("claimed")];
  expect(clones.filter(({ file }) => existsSync(file))).toEqual([winner]);
  expect(await rows()).toEqual([{ name: "abc12", store_id: winner && storeIdIn(winner) }]);
});

/** A claim in this clone, during which others act: after its file was read, or just before it would be made. */
function claimWhile(
  { root, file }: Clone,
  { database, tenant }: Pick<Awaited<ReturnType<typeof openDatabase>>, "database" | "tenant">,
  others: { readonly onRead?: () => Promise<unknown>; readonly onMake?: () => Promise<unknown> },
) {
  let isFirst = true;
  const files: WorkspaceFiles = {
    root,
    findId: () => "abc12",
    ensureId: async () => "abc12",
    findStoreId: async () => {
      const found = findStoreId(root);
      if (isFirst) await others.onRead?.();
      isFirst = false;
      return found;
    },
    ensureStoreId: async () => {
      await others.onMake?.();
      return ensureStoreId(root);
    },
    removeStoreId: async () => rmSync(file),
    onCreate: () => undefined,
  };
  return new WorkspaceName(database, tenant, files).claim(false);
}

test("a claim that another clone wins while it makes its file takes nothing over, and keeps no file", async () => {
  const opened = await openDatabase();
  await opened.insertOld();
  const [one, other] = [opened.clone(), opened.clone()];
  const claiming = claimWhile(one, opened, { onMake: async () => other.claims?.claim(false) });
  expect(await codeOf(claiming)).toBe("workspace_claimed");
  expect(existsSync(one.file)).toBe(false);
  expect(await opened.rows()).toEqual([{ name: "abc12", store_id: storeIdIn(other) }]);
});

test("a process that looked for the file just before another one in its clone claimed is not refused", async () => {
  const opened = await openDatabase();
  await opened.insertOld();
  const here = opened.clone();
  const onRead = async () => here.claims?.claim(false);
  expect(await claimWhile(here, opened, { onRead })).toEqual({ type: "known", name: "abc12" });
});

test("processes in one clone that claim at the same moment all succeed", async () => {
  const { clone, insertOld } = await openDatabase();
  await insertOld();
  const here = clone();
  const claims = await Promise.all(
    Array.from({ length: 4 }, async () => (await here.reopen().claims?.claim(false))?.type),
  );
  expect(claims.filter((type) => type !== "known")).toEqual(["claimed"]);
});

test("a claim that ended after the file was written has changed nothing, and the next one completes it", async () => {
  const { clone, insertOld, rows } = await openDatabase();
  await insertOld();
  const [one, other] = [clone(), clone()];
  const storeId = "0123456789abcdef0123456789abcdef";
  writeFileSync(one.file, `${storeId}\n`);
  const id = await write(one);
  expect([await idsIn(other), await rows()]).toEqual([[id], [{ name: "abc12", store_id: null }]]);
  expect(await one.reopen().claims?.claim(false)).toEqual({ type: "claimed", name: "abc12" });
  expect([await rows(), await idsIn(one.reopen())]).toEqual([
    [{ name: "abc12", store_id: storeId }],
    [id],
  ]);
});

test("a first write that ended after the file was written is completed by the next", async () => {
  const { clone, rows } = await openDatabase();
  const here = clone();
  writeFileSync(here.file, "0123456789abcdef0123456789abcdef\n");
  expect(await idsIn(here)).toEqual([]);
  await write(here);
  expect(await rows()).toEqual([
    { name: "project-0123456789ab", store_id: "0123456789abcdef0123456789abcdef" },
  ]);
});

test("another repository with the same .id gets a workspace of its own, before and after the other has claimed", async () => {
  counters("T-WORK-30");
  const { clone, insertOld } = await openDatabase();
  await insertOld();
  const [first, early, late] = [clone(), clone(), clone()];
  const id = await write(first);
  expect(await early.claims?.claim(true)).toMatchObject({ type: "created" });
  await first.claims?.claim(false);
  expect(await late.claims?.claim(true)).toMatchObject({ type: "created" });
  expect(await Promise.all([first, early, late].map((each) => idsIn(each.reopen())))).toEqual([
    [id],
    [],
    [],
  ]);
});

test("tenants can have the same .store-id, and nothing of each other's", async () => {
  const { clone } = await openDatabase();
  const one = clone();
  const other = clone({ tenant: crypto.randomUUID() });
  await write(one);
  pull(one, other);
  expect(await idsIn(other)).toEqual([]);
  await write(other);
  expect(await idsIn(one)).toHaveLength(1);
});

test("a program that names its workspace needs no file, and reaches any of the tenant's", async () => {
  const { url, tenant, clone } = await openDatabase();
  const here = clone();
  const id = await write(here);
  const { name = "" } = (await here.claims?.findStored()) ?? {};
  const store = await openStore(url, { tenant, workspace: name });
  const all = await openTenant({ url, tenant, pid: 1 });
  onTestFinished(async () => {
    await store.close?.();
    await all.close();
  });
  expect((await store.list()).map((each) => each.id)).toEqual([id]);
  expect(await all.list()).toEqual([name]);
  expect((await all.open(name).list()).map((each) => each.id)).toEqual([id]);
  const { claims } = here.reopen({ workspace: name });
  expect(await codeOf(Promise.resolve(claims?.claim(false)))).toBe("workspace_unnamed");
});

test("a turn that was signed before a claim is the user's own after it, and so is what is added", async () => {
  const { clone, insertOld } = await openDatabase();
  await insertOld();
  const { privateKey } = generateSigner();
  const keys = async () => ({ privateKey });
  const here = clone({ keys });
  await using writer = await here.conversations.create({ isOwnTurn: true });
  await writer.append(...WAITING);
  await writer.release();
  await here.claims?.claim(false);
  const again = here.reopen();
  expect((await again.conversations.load(writer.id)).isOwnTurn).toBe(true);
  expect(await again.conversations.answer(writer.id, answerBy("Ana"))).toMatchObject({
    type: "recorded",
  });
  const byName = here.reopen({ workspace: "abc12" });
  for (const { conversations } of [here.reopen(), byName])
    expect((await conversations.load(writer.id)).isOwnTurn).toBe(true);
});

test("whoever can write to the database cannot have the turns of one workspace continue in another", async () => {
  counters("T-WORK-31");
  const { database, tenant, clone } = await openDatabase();
  const [one, other] = [clone(), clone()];
  await write(one);
  await write(other);
  const swap = {
    text: `update jp.workspaces set store_id = case store_id when $2 then $3 else $2 end
      where tenant = $1`,
    values: [tenant, storeIdIn(one), storeIdIn(other)],
  };
  await expect(database.query(swap)).rejects.toThrow("never changes");
  await database.transaction(async (queries) => {
    await queries.query({ text: "set local session_replication_role = replica" });
    await queries.query({
      text: "update jp.workspaces set store_id = null where tenant = $1",
      values: [tenant],
    });
  });
  const assign = async (name: unknown, storeId: string) =>
    database.query({
      text: "update jp.workspaces set store_id = $3 where tenant = $1 and name = $2",
      values: [tenant, name, storeId],
    });
  await assign(`project-${storeIdIn(other).slice(0, 12)}`, storeIdIn(one));
  expect(await codeOf(one.reopen().conversations.list())).toBe("other_workspace");
});

test("a workspace with another .id than the one under which it was claimed is refused, with the id to restore", async () => {
  const { clone, insertOld } = await openDatabase();
  await insertOld();
  const here = clone();
  await here.claims?.claim(false);
  const id = path.join(here.root, ".jp", ".id");
  writeFileSync(id, "xyz98");
  await expect(here.reopen().conversations.list()).rejects.toThrow(
    expect.objectContaining({
      code: "other_workspace",
      commandHint: expect.stringContaining(`echo abc12 > ${id}`) as unknown,
    }),
  );
});

test("a clone that brings the .store-id of another workspace gets its conversations, but nothing local, and no claim", async () => {
  counters("T-WORK-29");
  const { clone, insertOld, rows } = await openDatabase();
  await insertOld();
  const real = clone();
  const hostile = clone();
  writeFileSync(hostile.file, "0123456789abcdef0123456789abcdef\n");
  await write(hostile);
  await write(real);
  expect(await rows()).toEqual([{ name: "abc12", store_id: null }]);
  expect(existsSync(real.file)).toBe(false);
});
