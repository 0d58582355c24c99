/** What someone has decided in a conversation counts there, and not in copies of it. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { answerInquiry } from "../../src/assemble/index.ts";
import { openWorkspace } from "../../src/stores/index.ts";
import { systemClock } from "../../src/util/index.ts";
import { ModelServer, type Reply } from "./model-server.ts";
import { entriesOf, query, queryProject, recordsOf, type ScriptedTool } from "./query-project.ts";
import { jsonLines, type Project } from "./support.ts";

/** Counts its runs in a file. */
const COUNT: ScriptedTool = {
  name: "count",
  program: '(require("node:fs").appendFileSync("runs", "x"), "counted")',
  settings: 'run = "ask"',
};

const ASKER: ScriptedTool = {
  ...COUNT,
  questions: [{ id: "q", text: "Go on?", answer_type: { type: "boolean" }, acts: true }],
  settings: 'run = "unattended"',
};

/** Shows its result only if someone approves. */
const FETCH: ScriptedTool = { ...COUNT, settings: 'run = "unattended"\nresult = "ask"' };

const CALL: Reply = { text: "I call.", calls: [{ name: "count" }] };

function start(): Promise<ModelServer> {
  return ModelServer.start(({ messages }) =>
    messages.some(({ role }) => role === "tool") ? "Done." : CALL,
  );
}

function runsIn(project: Project): number {
  const file = path.join(project.root, "runs");
  return existsSync(file) ? readFileSync(file, "utf8").length : 0;
}

async function pendingIn(project: Project) {
  const finished = await project.jp("inquiry", "ls", "--pending", "--format", "json");
  return jsonLines(finished) as {
    readonly conversation: string;
    readonly id: string;
    readonly changed?: readonly string[];
  }[];
}

/** A turn that waits, is answered with a yes, and is copied three times. */
async function approveAndFork(server: ModelServer, tool: ScriptedTool, isRemembered = false) {
  const project = queryProject({ server, tools: [tool] });
  expect((await query(project, ["x", "--defer"])).status).toBe(4);
  const [waiting] = await pendingIn(project);
  const { id = "", conversation = "" } = waiting ?? {};
  const store = storeOf(project);
  expect(await answerInquiry(store, id, { answer: true, isRemembered })).toEqual(RECORDED);
  for (let count = 0; count < 3; count += 1) await project.jp("conversation", "fork", conversation);
  return { project, id, conversations: recordsOf(project).map((record) => record.id) };
}

const RECORDED = { type: "recorded" };

function storeOf({ root: from, variables, home }: Project) {
  const environment = { variables, home, platform: process.platform };
  return openWorkspace({ from, environment, clock: systemClock, pid: process.pid }).conversations;
}

async function continueAll(project: Project, conversations: readonly string[]) {
  const statuses: (number | null)[] = [];
  for (const id of conversations) {
    const flags = ["--continue-turn", "--defer", "--id", id];
    statuses.push((await query(project, flags)).status);
  }
  return statuses;
}

describe("one yes and three forks", () => {
  test.each([
    ["to a permission", COUNT, { isRemembered: false }],
    ["to a permission for the whole turn", COUNT, { isRemembered: true }],
    ["to a question", ASKER, { isRemembered: false }],
    ["to a question for the whole turn", ASKER, { isRemembered: true }],
    ["to a result that waits", FETCH, { isRemembered: false }],
  ])("run a call once, and every copy asks again: %s", async (_, tool, { isRemembered }) => {
    await using server = await start();
    const { project, id, conversations } = await approveAndFork(server, tool, isRemembered);
    const [original, ...forks] = conversations;
    expect(await continueAll(project, conversations)).toEqual([0, 4, 4, 4]);
    const pending = await pendingIn(project);
    expect([
      runsIn(project),
      pending.map(({ conversation, id: asked, changed }) => [conversation, asked !== id, changed]),
    ]).toEqual([1, forks.map((fork) => [fork, true, ["call"]])]);
    const records = recordsOf(project);
    expect(
      records.map((record) => entriesOf(record, "decision_void").map(({ changed }) => changed)),
    ).toEqual(records.map((record) => (record.id === original ? [] : [["call"]])));
  });
});
