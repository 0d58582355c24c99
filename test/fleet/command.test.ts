/** `jp worker`, and turns that are left to it. */
import { expect, onTestFinished, test } from "vitest";
import { Database } from "../../src/stores/postgres/database.ts";
import { ModelServer } from "../cli/model-server.ts";
import { queryProject } from "../cli/query-project.ts";
import { jsonLines, lines, Project } from "../cli/support.ts";
import { runCommand } from "../support/command-host.ts";
import { emptyDatabase, PostgresServer } from "../support/postgres.ts";

const TOOL = { name: "deploy", program: '"Deployed."', settings: 'run = "ask"\nenable = true' };

/** A workspace in a new database, and a worker that runs until the test ends. */
async function openFleet(server: ModelServer) {
  const url = await emptyDatabase();
  const project = queryProject({
    server,
    tools: [TOOL],
    config: "assistant.request.max_retries = 0",
  });
  const jp = (...words: readonly string[]) => project.jpWith({ JP_STORE: url }, ...words);
  for (const step of ["migrate", "claim"]) expect((await jp("store", step)).status).toBe(0);
  const database = new Database(url);
  onTestFinished(() => database.close());
  return { project, url, jp, database };
}

/** What it logs, one after the other. */
function startWorker(
  project: Project,
  url: string,
  variables: Readonly<Record<string, string>> = {},
  ...words: readonly string[]
) {
  const stop = new AbortController();
  const events: Record<string, unknown>[] = [];
  let tell = Promise.withResolvers<void>();
  const ended = runCommand(["worker", "--format", "json", ...words], {
    cwd: project.root,
    variables: { ...project.variables, ...variables, JP_STORE: url },
    interrupt: stop.signal,
    onOutput: (text) => {
      for (const line of text.split("\n").filter(Boolean)) {
        const { time: _time, ...event } = JSON.parse(line) as Record<string, unknown>;
        events.push(event);
      }
      tell.resolve();
      tell = Promise.withResolvers();
    },
  });
  onTestFinished(async () => {
    stop.abort();
    await ended;
  });
  const until = async (name: string): Promise<Record<string, unknown>> => {
    for (;;) {
      const index = events.findIndex(({ event }) => event === name);
      if (index !== -1) return events.splice(0, index + 1).at(-1) ?? {};
      await tell.promise;
    }
  };
  return { until, stop: () => stop.abort(), ended };
}

test("a message that was left to workers waits for an approval, and goes on after it", async () => {
  const calls = [{ name: "deploy", arguments: {} }];
  await using server = await ModelServer.start([{ text: "", calls }, "It is deployed."]);
  const { project, url, jp } = await openFleet(server);
  const left = await jp("query", "--enqueue", "Deploy it.");
  expect([left.status, left.stdout, left.stderr]).toEqual([
    0,
    expect.stringMatching(/^jp-c\d+\n$/),
    "",
  ]);
  const conversation = left.stdout.trim();
  const { until } = startWorker(project, url);
  expect(await until("start")).toMatchObject({
    queue: "default",
    concurrency: 4,
    tools: expect.arrayContaining(["deploy"]) as unknown,
  });
  expect(await until("turn_end")).toMatchObject({ conversation, outcome: "waiting" });
  const [item] = jsonLines(await jp("inquiry", "ls", "--pending", "--format", "json"));
  const { id } = item as { id: string };
  expect((await jp("inquiry", "answer", id, "yes")).status).toBe(0);
  expect(await until("turn_end")).toMatchObject({ conversation, outcome: "done" });
  expect((await jp("conversation", "print")).stdout).toContain("It is deployed.");
});

test("--follow prints what the worker does, and says what the turn waits for", async () => {
  const calls = [{ name: "deploy", arguments: {} }];
  await using server = await ModelServer.start(["Hello!", { text: "", calls }]);
  const { project, url, jp } = await openFleet(server);
  startWorker(project, url, {}, "--queue", "own");
  const words = ["query", "--enqueue", "--queue", "own", "--follow"];
  const answered = await jp(...words, "Hi.");
  expect([answered.status, answered.stdout.split("\n").slice(1)]).toEqual([0, ["Hello!", ""]]);
  const waiting = await jp(...words, "Deploy it.");
  expect([waiting.status, waiting.stderr]).toEqual([
    4,
    expect.stringContaining("Waiting: deploy needs permission to run"),
  ]);
});

test("a turn whose model fails is left for a while, and the worker says why", async () => {
  const failing = { text: "", status: 500 };
  await using server = await ModelServer.start([failing, failing, failing, failing, failing]);
  const { project, url, jp, database } = await openFleet(server);
  await jp("query", "--enqueue", "Hi.");
  const { until } = startWorker(project, url);
  expect(await until("turn_end")).toMatchObject({ level: "error", outcome: "failed" });
  const [row] = await database.query<{ readonly failures: number }>({
    text: "select failures from jp.conversations",
  });
  expect(row?.failures).toBeGreaterThan(0);
});

test("a worker that does not trust the tool of a call leaves it to others", async () => {
  const calls = [{ name: "deploy", arguments: {} }];
  await using server = await ModelServer.start([{ text: "", calls }, "It is deployed."]);
  const { project, url, jp } = await openFleet(server);
  await jp("query", "--defer", "Deploy it.");
  const [item] = jsonLines(await jp("inquiry", "ls", "--pending", "--format", "json"));
  await jp("inquiry", "answer", (item as { id: string }).id, "yes");
  const without = startWorker(project, url, { JP_TRUSTED_WORKSPACES: "" });
  expect(await without.until("turn_end")).toMatchObject({
    level: "warn",
    outcome: "passed_on",
    code: "tool_not_here",
  });
  const { until } = startWorker(project, url);
  expect(await until("turn_end")).toMatchObject({ outcome: "done" });
});

test("a worker says over HTTP how it is, and what there is to do", async () => {
  await using server = await ModelServer.start([]);
  const { project, url } = await openFleet(server);
  const { until, stop, ended } = startWorker(project, url, {}, "--health", "0");
  const { url: address } = (await until("health")) as { url: string };
  await until("start");
  const health = await fetch(`${address}/healthz`);
  expect([health.status, await health.json()]).toEqual([
    200,
    { status: "ok", running: 0, load: { ready: 0, oldestReadyMs: 0, waiting: 0 } },
  ]);
  const metrics = await (await fetch(`${address}/metrics`)).text();
  expect(metrics).toContain('jp_worker_up{queue="default"} 1\n');
  stop();
  expect((await ended).status).toBe(0);
});

test("a command that starts while the database restarts says that it waits, and goes on", async () => {
  using server = new PostgresServer({ JP_TEST_FSYNC: "on" });
  const project = new Project();
  const variables = { ...project.variables, JP_STORE: await server.url };
  expect((await project.jpWith(variables, "store", "migrate")).status).toBe(0);
  await server.tell("kill");
  let restarted: Promise<void> | undefined;
  const { status, stderr } = await runCommand(["conversation", "ls"], {
    cwd: project.root,
    variables,
    onNotice: (text) => {
      if (text.includes("Waiting for it to start")) restarted ??= server.tell("start");
    },
  });
  expect([status, stderr]).toEqual([
    0,
    expect.stringMatching(/^The store at \S+ does not answer\./),
  ]);
});

test("store migrate leaves the queue of earlier versions alone, and --drop-queue removes it", async () => {
  await using server = await ModelServer.start([]);
  const { jp, database } = await openFleet(server);
  const findQueue = () =>
    database.query({ text: "select nspname as name from pg_namespace where nspname = 'jp_queue'" });
  // As pg-boss made it.
  await database.query({
    text: `create schema jp_queue;
      create table jp_queue.version (version int); create table jp_queue.job (id int)`,
  });
  const kept = await jp("store", "migrate");
  expect([kept.stderr, await findQueue()]).toEqual([
    expect.stringContaining("Once their workers are gone: jp store migrate --drop-queue"),
    [{ name: "jp_queue" }],
  ]);
  const dropped = await jp("store", "migrate", "--drop-queue");
  const again = await jp("store", "migrate", "--drop-queue");
  expect([dropped.status, dropped.stderr, again.status, await findQueue()]).toEqual([
    0,
    expect.stringContaining("(the schema jp_queue) is removed."),
    0,
    [],
  ]);
});

test("without a database there are no workers", async () => {
  const project = queryProject({});
  const [worker, enqueued, followed] = [
    await project.jp("worker"),
    await project.jp("query", "--enqueue", "Hi."),
    await project.jp("query", "--follow", "Hi."),
  ];
  expect([worker.status, enqueued.status, followed]).toEqual([
    2,
    2,
    { status: 2, stdout: "", stderr: lines("jp: --follow needs --enqueue.") },
  ]);
  expect(worker.stderr).toContain("A worker needs a store in a database.");
  expect(enqueued.stderr).toContain("--enqueue needs a store in a database");
});
