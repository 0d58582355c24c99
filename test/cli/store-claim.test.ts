/** `jp store claim`, and the files by which a database knows a workspace. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Database } from "../../src/stores/postgres/database.ts";
import { snapshotOf } from "../../src/stores/temporary-workspace.fixture.ts";
import { counters } from "../security/threats.ts";
import { runCommand } from "../support/command-host.ts";
import { emptyDatabase } from "../support/postgres.ts";
import { ModelServer } from "./model-server.ts";
import { query, queryProject } from "./query-project.ts";
import { Screen } from "./screen.ts";
import { jsonLines, lines, Project } from "./support.ts";

const MADE =
  "Created .jp/.store-id, which names this workspace in the database. Commit it: other clones need it.";

/** A workspace and a new database, which knows it by its five digits if `isOld`. */
async function open(server?: ModelServer, { isOld = false } = {}) {
  const url = await emptyDatabase();
  const project = queryProject({ ...(server !== undefined && { server }) });
  const variables = { JP_STORE: url };
  const jp = (...words: readonly string[]) => project.jpWith(variables, ...words);
  expect((await jp("store", "migrate")).status).toBe(0);
  const database = new Database(url);
  onTestFinished(() => database.close());
  if (isOld)
    await database.query({
      text: "insert into jp.workspaces (tenant, name) values ('default', 'abc12')",
    });
  const file = path.join(project.root, ".jp", ".store-id");
  /** Another clone, of the same user. */
  const clone = () => {
    const root = path.join(path.dirname(project.root), "clone");
    mkdirSync(path.join(root, ".jp"), { recursive: true });
    for (const name of [".id", "config.toml"])
      writeFileSync(
        path.join(root, ".jp", name),
        readFileSync(path.join(project.root, ".jp", name)),
      );
    const inClone = (...words: readonly string[]) =>
      runCommand(words, { cwd: root, variables: { ...project.variables, ...variables } });
    const pull = () => writeFileSync(path.join(root, ".jp", ".store-id"), readFileSync(file));
    return { root, jp: inClone, pull };
  };
  return { project, variables, jp, file, clone, database };
}

function nameIn(file: string): string {
  return `project-${readFileSync(file, "utf8").trim().split("\n").at(-1)?.slice(0, 12)}`;
}

test("the first conversation in a database makes .jp/.store-id, says so once, and files need none", async () => {
  await using server = await ModelServer.start(["One.", "Two.", "Three."]);
  const { project, variables, jp, file, clone } = await open(server);
  expect((await query(project, ["first"], { variables: { JP_STORE: "files" } })).stderr).toBe("");
  expect([(await jp("conversation", "ls")).status, existsSync(file)]).toEqual([0, false]);
  const replies = [
    await query(project, ["second"], { variables }),
    await query(project, ["third"], { variables }),
  ];
  expect(replies.map(({ stderr }) => stderr)).toEqual([lines(MADE), ""]);
  const doctor = jsonLines(await jp("doctor", "--format", "json"));
  expect(doctor).toContainEqual(
    expect.objectContaining({
      check: "store",
      state: "ok",
      message: expect.stringContaining(`(workspace ${nameIn(file)})`) as unknown,
    }),
  );
  const other = clone();
  other.pull();
  expect((await other.jp("conversation", "ls", "--format", "json")).stdout).toContain("jp-c");
});

test("a workspace from before is claimed, and other clones are refused until they pull the file", async () => {
  counters("T-WORK-30");
  await using server = await ModelServer.start(["One."]);
  const { project, variables, jp, file, clone } = await open(server, { isOld: true });
  expect((await query(project, ["first"], { variables })).stderr).toBe("");
  expect(existsSync(file)).toBe(false);
  expect(jsonLines(await jp("doctor", "--format", "json"))).toContainEqual(
    expect.objectContaining({ check: "store", state: "warning" }),
  );
  const claims = [await jp("store", "claim"), await jp("store", "claim")];
  expect(claims).toEqual([
    {
      status: 0,
      stdout: "",
      stderr: lines(
        "Claimed abc12. Commit .jp/.store-id, and have other clones pull it: they are refused without it.",
      ),
    },
    {
      status: 0,
      stdout: "",
      stderr: lines(
        "This workspace is abc12 in the database already. Other clones need .jp/.store-id: commit it.",
      ),
    },
  ]);
  const other = clone();
  const before = snapshotOf(other.root);
  const refused = await other.jp("conversation", "ls");
  expect([refused.status, refused.stderr.replaceAll(/\s+/g, " ")]).toEqual([
    1,
    `jp: The workspace abc12 in the database has a .jp/.store-id, and ${other.root} has none. ` +
      "If this is a clone of it, pull the file that `jp store claim` has made. If it is another repository with the same .jp/.id, " +
      "run `jp store claim --other` here. abc12 stays within reach with storage.workspace in your own config. ",
  ]);
  expect((await other.jp("store", "claim")).stderr).toContain("has a .jp/.store-id");
  expect(snapshotOf(other.root)).toEqual(before);
  other.pull();
  expect((await other.jp("conversation", "ls", "--format", "json")).stdout).toContain("jp-c");
});

test("a repository that has the .id of a claimed one by chance starts a workspace of its own with --other", async () => {
  counters("T-WORK-30");
  const { jp, clone } = await open(undefined, { isOld: true });
  await jp("store", "claim");
  const other = clone();
  const { status, stderr } = await other.jp("store", "claim", "--other");
  const name = nameIn(path.join(other.root, ".jp", ".store-id")).replace("project", "clone");
  expect([status, stderr]).toEqual([0, lines(MADE, `This workspace is ${name} in the database.`)]);
  expect((await other.jp("conversation", "ls")).status).toBe(0);
});

test("a claim needs a database, a workspace, and no name in the config", async () => {
  const { project, variables } = await open();
  const bare = new Project({ isBare: true });
  const named = { ...variables, JP_CFG_STORAGE_WORKSPACE: "site" };
  const results = [
    await project.jp("store", "claim"),
    await bare.jpWith(variables, "store", "claim"),
    await project.jpWith(named, "store", "claim"),
  ];
  expect(results.map(({ status, stderr }) => [status, stderr.split("\n")[0]])).toEqual([
    [2, "jp: No database is configured."],
    [1, `jp: ${bare.root} is not a jp workspace.`],
    [1, "jp: storage.workspace names the workspace (site), so no .jp/.store-id would count."],
  ]);
});

const QUESTION = "Claim abc12 for this repository?";

test.each([
  ["y", true],
  ["n", false],
])(
  "jp asks on a terminal, once, whether to claim a workspace from before: %s",
  async (key, isClaimed) => {
    counters("T-WORK-29");
    await using server = await ModelServer.start(["One.", "Two."]);
    const { project, variables, file } = await open(server, { isOld: true });
    const asked = new Screen(project, ["query", "first"], { variables, columns: 100 });
    await asked.untilShown((shown) => shown.join("\n").includes(QUESTION));
    const before = existsSync(file);
    asked.type(key);
    const first = await asked.end();
    expect([first.status, before, existsSync(file)]).toEqual([0, false, isClaimed]);
    expect(first.lines.join("\n").includes("Claimed abc12.")).toBe(isClaimed);
    const second = await new Screen(project, ["query", "second"], {
      variables,
      columns: 100,
    }).end();
    expect([second.status, second.lines.join("\n").includes("Claim ")]).toEqual([0, false]);
  },
);

test("a claim that was killed after it had written the file is offered on the next start, and completed", async () => {
  await using server = await ModelServer.start(["One."]);
  const { project, variables, file, clone } = await open(server, { isOld: true });
  writeFileSync(file, "0123456789abcdef0123456789abcdef\n");
  const screen = new Screen(project, ["query", "first"], { variables, columns: 100 });
  await screen.untilShown((shown) => shown.join("\n").includes(QUESTION));
  screen.type("y");
  expect((await screen.end()).status).toBe(0);
  const other = clone();
  expect((await other.jp("conversation", "ls")).status).toBe(1);
  other.pull();
  expect((await other.jp("conversation", "ls", "--format", "json")).stdout).toContain("jp-c");
});

test("jp asks about no claim with files, with a name in the config, or where no one can answer", async () => {
  await using server = await ModelServer.start(["One.", "Two.", "Three.", "Four."]);
  const { project, variables, file } = await open(server, { isOld: true });
  const screens = [
    new Screen(project, ["query", "first"], { variables: { JP_STORE: "files" } }),
    new Screen(project, ["query", "second"], {
      variables: { ...variables, JP_CFG_STORAGE_WORKSPACE: "abc12" },
    }),
    new Screen(project, ["query", "--non-interactive", "third"], { variables }),
  ];
  const ends = await Promise.all(screens.map((screen) => screen.end()));
  expect((await query(project, ["fourth"], { variables })).status).toBe(0);
  expect(
    ends.map(({ status, lines: shown }) => [status, shown.join("\n").includes("Claim ")]),
  ).toEqual(ends.map(() => [0, false]));
  expect(existsSync(file)).toBe(false);
});

test("lists of all workspaces name one by its folder and its id, and leave out a clone that is refused", async () => {
  await using server = await ModelServer.start([
    { text: "", calls: [{ name: "deploy", arguments: {} }] },
  ]);
  const { project, variables, jp, file, clone, database } = await open(server);
  queryProject({
    server,
    project,
    tools: [{ name: "deploy", settings: 'run = "ask"\ndetached = "defer"' }],
  });
  expect((await query(project, ["deploy it"], { variables })).status).toBe(4);
  const own = await jp("inquiry", "ls", "--pending", "--all");
  expect(own.stdout).toContain(`    in ${project.root}`);
  expect(own.stdout).not.toContain(nameIn(file));
  await database.query({
    text: "insert into jp.workspaces (tenant, name, store_id) values ('default', 'abc12', 'x')",
  });
  const other = clone();
  const all = await other.jp("inquiry", "ls", "--pending", "--all");
  expect(all.stdout).toContain(`    in ${nameIn(file)}`);
  expect([all.status, all.stderr.replaceAll(/\s+/g, " ")]).toEqual([
    1,
    expect.stringContaining(
      `${other.root}: The workspace abc12 in the database has a .jp/.store-id`,
    ),
  ]);
});

test("a worker makes no .store-id: it says how to name the workspace, and waits until someone has", async () => {
  await using server = await ModelServer.start(["It is done."]);
  const { project, variables, jp, file } = await open(server);
  const [stop, isTold] = [new AbortController(), Promise.withResolvers<void>()];
  const ended = runCommand(["worker"], {
    cwd: project.root,
    variables: { ...project.variables, ...variables },
    interrupt: stop.signal,
    onNotice: (text) => {
      if (text.includes("Run `jp store claim` in one clone")) isTold.resolve();
      if (text.includes("The turn is complete.")) stop.abort();
    },
  });
  await isTold.promise;
  expect(existsSync(file)).toBe(false);
  expect((await jp("query", "--enqueue", "Do it.")).status).toBe(0);
  expect((await ended).status).toBe(0);
  expect((await jp("conversation", "print")).stdout).toContain("It is done.");
});

test("conversations are copied to a new workspace of a database, and from a claimed one", async () => {
  await using server = await ModelServer.start(["One."]);
  const { project, variables, jp, file } = await open(server);
  await query(project, ["first"], { variables: { JP_STORE: "files" } });
  const copied = await jp("store", "copy", "files", variables.JP_STORE);
  expect(copied.stderr).toBe(lines(MADE, "Copied 1 conversation."));
  expect(existsSync(file)).toBe(true);
  expect((await jp("store", "copy", variables.JP_STORE, "files")).stderr).toBe(
    "Copied 0 conversations. 1 was there already.\n",
  );
});
