/** Conversations in a database, as the command works with them. */
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { emptyDatabase } from "../support/postgres.ts";
import { ModelServer } from "./model-server.ts";
import { query, queryProject, type QueryProjectOptions, recordsOf } from "./query-project.ts";
import { jsonLines, lines, Project } from "./support.ts";

const ADDRESS = "postgres://ana@db.invalid/jp";

/** In the form of a machine's public key. */
function key(letter: string): string {
  return `${letter.repeat(43)}=`;
}

/** In the user's own config. */
function configureStore(project: Project, url: string): void {
  const folder = path.join(project.home, ".config", "jp");
  mkdirSync(folder, { recursive: true });
  appendFileSync(path.join(folder, "config.toml"), `\n[storage]\nurl = "${url}"\n`);
}

/** A workspace whose conversations are in a new database. */
async function databaseProject(server: ModelServer, options: QueryProjectOptions = {}) {
  const url = await emptyDatabase();
  const project = queryProject({ ...options, server });
  configureStore(project, url);
  expect(await project.jp("store", "migrate")).toMatchObject({
    status: 0,
    stderr: lines("Created the tables (version 3)."),
  });
  return { project, url };
}

test("a conversation in a database is asked, listed, printed and continued like one in files", async () => {
  await using server = await ModelServer.start(["One.", "Two."]);
  const { project } = await databaseProject(server);
  const replies = [await query(project, ["first"]), await query(project, ["second"])];
  expect(replies.map(({ status, stdout }) => [status, stdout])).toEqual([
    [0, "One.\n"],
    [0, "Two.\n"],
  ]);
  expect(recordsOf(project)).toEqual([]);
  const listed = await project.jp("conversation", "ls", "--format", "json");
  expect(listed.stdout.trim().split("\n")).toHaveLength(1);
  expect((await project.jp("conversation", "print")).stdout).toContain("Two.");
  expect(await project.jp("conversation", "path")).toEqual({
    status: 1,
    stdout: "",
    stderr: lines(
      "jp: The conversation is in a database, not in files.",
      "To get files: jp store copy ADDRESS files",
    ),
  });
  expect((await project.jp("conversation", "show")).stdout).toContain("in a database");
  expect((await project.jp("doctor", "--format", "json")).stdout).toContain(
    '{"check":"store","state":"ok"',
  );
});

test("conversations are copied to files and back, and nothing is overwritten", async () => {
  await using server = await ModelServer.start(["One.", "Two."]);
  const { project, url } = await databaseProject(server);
  await query(project, ["first"]);
  const copy = (...words: readonly string[]) => project.jp("store", "copy", ...words);
  expect((await copy(url, "files")).stderr).toBe("Copied 1 conversation.\n");
  expect((await copy("files", url)).stderr).toBe("Copied 0 conversations. 1 was there already.\n");
  await query(project, ["second"]);
  const changed = await copy("files", url);
  expect([changed.status, changed.stderr.split("\n").at(-2)]).toEqual([
    1,
    "jp: 1 conversation was not copied.",
  ]);
  expect(recordsOf(project)).toHaveLength(1);
});

test("limits of tenants are set and listed, and a query beyond them fails", async () => {
  await using server = await ModelServer.start(["One."]);
  const { project } = await databaseProject(server);
  const limit = (...words: readonly string[]) => project.jp("store", "limit", ...words);
  expect((await limit()).stderr).toBe("There are no limits.\n");
  await limit("acme", "--turns", "4", "--bytes", "1000000");
  expect((await limit("acme", "--requests", "60", "--bytes", "none")).stderr).toBe(
    "acme: 4 turns at once in workers, 60 new turns a minute\n",
  );
  await limit("default", "--requests", "1");
  expect(jsonLines(await limit("--format", "json"))).toEqual([
    { tenant: "acme", turns: 4, requests: 60 },
    { tenant: "default", requests: 1 },
  ]);
  expect((await query(project, ["first"])).status).toBe(0);
  expect(await query(project, ["second"])).toEqual({
    status: 1,
    stdout: "",
    stderr: lines(
      "jp: Too many turns: this tenant may start 1 a minute.",
      "Nothing was written. Try again in a minute.",
    ),
  });
});

test("the SQL of roles is printed without a database", async () => {
  const project = new Project();
  const roles = (...words: readonly string[]) => project.jp("store", "roles", ...words);
  expect((await roles()).stdout).toContain("create role %I nologin");
  const own = await roles("--tenant", "o'neil", "--role", "oneil", "--kind", "reader");
  expect(own.stdout).toContain(`set local jp.tenant = 'o''neil';`);
  expect(own.stdout).toContain("alter role oneil connection limit 12;");
  expect(await roles("--tenant", "o'neil")).toEqual({
    status: 1,
    stdout: "",
    stderr: lines(
      "jp: The name of a role has small letters, digits and _.",
      "Name one: jp store roles --tenant … --role acme",
    ),
  });
});

test("no login is named like one of jp's own roles", async () => {
  const project = new Project();
  const refused = [
    await project.jp("store", "roles", "--tenant", "reader"),
    await project.jp("store", "roles", "--tenant", "worker", "--kind", "reader"),
    await project.jp("store", "roles", "--tenant", "*", "--role", "jp_desk"),
    await project.jp("store", "roles", "--tenant", "all"),
    await project.jp("store", "roles", "--tenant", "acme", "--role", "jp_all"),
  ];
  expect(refused.map(({ status, stdout }) => [status, stdout])).toEqual(refused.map(() => [1, ""]));
  expect(refused[0]?.stderr).toBe(
    lines(
      "jp: jp_reader is one of jp's own roles: every login with it would serve the tenant.",
      "Name one: jp store roles --tenant … --role acme",
    ),
  );
  expect((await project.jp("store", "roles", "--tenant", "*")).stdout).toContain(
    "grant jp_writer to jp_all;",
  );
});

test("rules are proposed from decisions about a local tool in a database, and are saved for this machine", async () => {
  const calls = Array.from({ length: 6 }, () => ({ name: "deploy", arguments: { to: "test" } }));
  await using server = await ModelServer.start([{ text: "", calls }, "Done."]);
  const settings = 'run = "ask"\ndetached = "defer"\nparameters.to.type = "string"';
  const { project } = await databaseProject(server, { tools: [{ name: "deploy", settings }] });
  expect((await query(project, ["deploy it"])).status).toBe(4);
  const pending = await project.jp("inquiry", "ls", "--pending", "--format", "json");
  for (const item of jsonLines(pending)) {
    const { id } = item as { readonly id: string };
    await project.jp("inquiry", "answer", id, "yes");
  }
  const proposed = await project.jp("permissions", "propose", "--save", "--format", "json");
  expect(jsonLines(proposed)).toMatchObject([{ tool: "deploy", prompts: 6 }]);
  const check = ["permissions", "check", "deploy", "-a", "to=test", "--format", "json"];
  expect([
    jsonLines(await project.jp(...check)),
    jsonLines(await project.jp("--store", "files", ...check)),
  ]).toMatchObject([[{ mode: "unattended" }], [{ mode: "unattended" }]]);
});

test("jp doctor counts the keys that count for the tenant, and a key for all tenants is refused", async () => {
  const project = new Project();
  configureStore(project, ADDRESS);
  const file = path.join(project.home, ".config", "jp", "config.toml");
  const accepts = `accepts = ["${key("A")}", { key = "${key("B")}", tenants = ["acme", "umbrella"] }, { key = "${key("C")}", tenants = ["evil"] }]`;
  appendFileSync(file, lines('tenant = "acme"', accepts));
  const doctor = async () => (await project.jp("doctor", "--format", "json")).stdout;
  expect(await doctor()).toContain(
    '{"check":"turn keys","state":"ok","message":"this machine\'s key and 2 of other machines for the tenant acme; 1 for other tenants only"}',
  );
  const text = readFileSync(file, "utf8");
  const refusal = async (from: string, to: string) => {
    writeFileSync(file, text.replace(from, to));
    const { stderr } = await project.jp("conversation", "ls");
    return /storage\.accepts.*/.exec(stderr)?.[0];
  };
  expect([
    await refusal('["evil"]', '["*"]'),
    await refusal('["evil"]', "[]"),
    await refusal(key("A"), "A"),
    await refusal(key("B"), "B"),
    await refusal(', tenants = ["evil"]', ""),
  ]).toEqual([
    "storage.accepts.2.tenants.0: expected the name of a tenant",
    "storage.accepts.2.tenants: expected at least one tenant",
    "storage.accepts.0: expected what `jp store key` prints",
    "storage.accepts.1.key: expected what `jp store key` prints",
    "storage.accepts.2.tenants: tenants is missing",
  ]);
});

test("what is no store is an error of usage", async () => {
  const project = new Project();
  const results = [
    await project.jp("--store", "mysql://x", "conversation", "ls"),
    await project.jp("store", "migrate"),
    await project.jp("store", "copy", "files", "files"),
    await project.jp("store", "copy", "files", "elsewhere"),
  ];
  expect(results.map(({ status }) => status)).toEqual([2, 2, 2, 2]);
  const { status, stderr } = await project.jp("--store", ADDRESS, "conversation", "ls");
  expect([status, stderr]).toEqual([
    1,
    expect.stringMatching(/^jp: Cannot reach the store at db\.invalid\/jp: /),
  ]);
});

test("jp doctor does not wait for a database that refuses connections", async () => {
  const project = new Project();
  const address = "postgres://ana@127.0.0.1:1/jp";
  const doctor = await project.jp("--store", address, "doctor", "--format", "json");
  expect(doctor.stdout).toContain('"message":"Cannot reach the store at 127.0.0.1:1/jp');
  expect(doctor.stderr).not.toContain("Waiting");
});

test("only the user's own config says where conversations are, and files can be asked for all the same", async () => {
  const project = new Project();
  mkdirSync(path.join(project.root, ".jp"), { recursive: true });
  writeFileSync(path.join(project.root, ".jp", "config.toml"), `storage.url = "${ADDRESS}"\n`);
  expect((await project.jp("conversation", "ls")).status).toBe(0);
  expect((await project.jp("config", "show")).stderr).toContain(
    "only your own config can set storage, so jp ignores it here",
  );
  configureStore(project, ADDRESS);
  expect((await project.jp("conversation", "ls")).stderr).toContain("Cannot reach the store");
  const doctor = await project.jp("doctor", "--format", "json");
  expect(doctor.stdout).toContain(
    '{"check":"store","state":"problem","message":"Cannot reach the store',
  );
  expect((await project.jp("--store", "files", "conversation", "ls")).status).toBe(0);
  const shown = await project.jp("config", "show");
  expect(shown.stdout + shown.stderr).not.toContain("ana@");
});

test("the key of the machine is made once, and printed", async () => {
  const project = new Project();
  const keys = [await project.jp("store", "key"), await project.jp("store", "key")];
  expect(keys[0]).toEqual(keys[1]);
  expect(keys[0]?.stdout).toMatch(/^[\w+/]{43}=\n$/);
  expect(existsSync(path.join(project.root, ".jp", "conversations"))).toBe(false);
});
