/** A fleet whose workspace is claimed while its turns wait. */
import { randomBytes } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { migrateStore } from "../../src/index.ts";
import { Database } from "../../src/stores/postgres/database.ts";
import { groupRolesScript, tenantRoleScript } from "../../src/stores/postgres/roles.ts";
import { codeOf, numbered } from "../../src/stores/record-elements.fixture.ts";
import { temporaryWorkspace } from "../../src/stores/temporary-workspace.fixture.ts";
import { ModelServer } from "../cli/model-server.ts";
import { queryProject } from "../cli/query-project.ts";
import { jsonLines } from "../cli/support.ts";
import { counters } from "../security/threats.ts";
import { runCommand } from "../support/command-host.ts";
import { emptyDatabase } from "../support/postgres.ts";

/** As processes of earlier versions do. */
async function insertOld(database: Database, tenant = "default"): Promise<void> {
  await database.query({
    text: "insert into jp.workspaces (tenant, name) values ($1, 'abc12')",
    values: [tenant],
  });
}

async function openMigrated() {
  const url = await emptyDatabase();
  await migrateStore(url);
  const database = new Database(url);
  onTestFinished(() => database.close());
  return { url, database };
}

test("a turn that was approved before a claim continues at a worker after it", async () => {
  const calls = [{ name: "deploy", arguments: {} }];
  await using server = await ModelServer.start([{ text: "", calls }, "It is deployed."]);
  const { url, database } = await openMigrated();
  await insertOld(database);
  const settings = 'run = "ask"\ndetached = "defer"\nenable = true';
  const tools = [{ name: "deploy", program: '"Deployed."', settings }];
  const project = queryProject({ server, tools });
  const jp = (...words: readonly string[]) => project.jpWith({ JP_STORE: url }, ...words);
  expect((await jp("query", "Deploy it.")).status).toBe(4);
  const [item] = jsonLines(await jp("inquiry", "ls", "--pending", "--format", "json"));
  const { id } = item as { readonly id: string };
  expect((await jp("inquiry", "answer", id, "yes")).status).toBe(0);
  expect((await jp("store", "claim")).stderr).toContain("Claimed abc12.");
  const stop = new AbortController();
  const ended = runCommand(["worker", "--format", "json"], {
    cwd: project.root,
    variables: { ...project.variables, JP_STORE: url },
    interrupt: stop.signal,
    onOutput: (text) => {
      if (text.includes('"turn_end"')) stop.abort();
    },
  });
  expect((await ended).stdout).toContain('"outcome":"done"');
  expect((await jp("conversation", "print")).stdout).toContain("It is deployed.");
});

test("a tenant's writer creates and claims workspaces, and changes the id of none", async () => {
  counters("T-WORK-31");
  const { url, database } = await openMigrated();
  const tenant = "acme";
  const [writer, reader] = ["writer", "reader"].map(
    (kind) => `${kind}_${randomBytes(8).toString("hex")}`,
  );
  await database.query({ text: groupRolesScript() });
  for (const [role = "", kind] of [
    [writer, "writer"],
    [reader, "reader"],
  ] as const)
    await database.query({ text: tenantRoleScript({ role, tenant, kind }) });
  await insertOld(database, tenant);
  const clone = (role = "") => {
    const address = new URL(url);
    address.username = role;
    const here = temporaryWorkspace({ database: { url: address.href, tenant } });
    onTestFinished(() => here.conversations.close?.());
    return { ...here, url: address.href };
  };
  expect(await codeOf(clone(reader).claims?.claim(false) ?? Promise.resolve())).toBe(
    "store_denied",
  );
  const old = clone(writer);
  expect(await old.claims?.claim(false)).toMatchObject({ type: "claimed" });
  const other = clone(writer);
  expect(await other.claims?.claim(true)).toMatchObject({ type: "created" });
  await using conversation = await other.conversations.create({});
  await conversation.append(numbered(0));
  const login = new Database(old.url);
  onTestFinished(() => login.close());
  for (const id of ["null", "gen_random_uuid()::text"])
    await expect(
      login.query({ text: `update jp.workspaces set store_id = ${id}` }),
    ).rejects.toThrow("never changes");
  await expect(login.query({ text: "update jp.workspaces set name = 'x'" })).rejects.toThrow(
    "permission denied",
  );
});
