import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, inject, test } from "vitest";
import { isRunning } from "../mcp/support.ts";
import { ModelServer, type Replies } from "./model-server.ts";
import { queryProject } from "./query-project.ts";
import { openSession, type Screen, shows } from "./screen.ts";
import type { Project } from "./support.ts";

const CTRL_C = "\u0003";
const CTRL_D = "\u0004";
const PROGRAM = path.join(inject("programs"), "server.mjs");

const CONFIG = [
  "[providers.mcp.test]",
  `command = ${JSON.stringify(process.execPath)}`,
  `arguments = [${JSON.stringify(PROGRAM)}, "--log=server.log", "--mode=older"]`,
  "all_tools = true",
  '[conversation.tools."*"]',
  'run = "unattended"',
].join("\n");

interface ServedProject extends AsyncDisposable {
  readonly project: Project;
  readonly models: ModelServer;
}

/** With an MCP server that logs its life, and all of whose tools run unattended. */
async function serve(replies: Replies): Promise<ServedProject> {
  const models = await ModelServer.start(replies, ["scripted", "other"]);
  const project = queryProject({ server: models, config: CONFIG });
  return {
    project,
    models,
    [Symbol.asyncDispose]: () => models[Symbol.asyncDispose](),
  };
}

/** The processes that were started, in order. */
function pidsOf({ root }: Project): readonly number[] {
  const log = readFileSync(path.join(root, "server.log"), "utf8");
  return [...log.matchAll(/^started (\d+)$/gm)].map(([, pid]) => Number(pid));
}

/** Types a line, and waits for the prompt after what it shows. */
async function enter(screen: Screen, typed: string, shown: string): Promise<void> {
  screen.type(`${typed}\r`);
  await shows(screen, new RegExp(`${shown}[^]*\\n> ?$`, "m"));
}

test("the messages of a session share its MCP servers, whatever the model", async () => {
  await using served = await serve(["A.", { calls: [{ name: "echo" }] }, "B.", "C."]);
  const screen = await openSession(served.project);
  await enter(screen, "one", String.raw`A\.`);
  await enter(screen, "two", String.raw`B\.`);
  await enter(screen, "/model llamacpp/other", "The model is now");
  await enter(screen, "three", String.raw`C\.`);
  screen.type(CTRL_D);
  expect([(await screen.end()).status, pidsOf(served.project)]).toEqual([0, [expect.anything()]]);
});

test("a server that has crashed starts again when the next message needs it", async () => {
  await using served = await serve([
    { calls: [{ name: "crash" }, { name: "crash" }] },
    "A.",
    { calls: [{ name: "echo", arguments: { text: "it is back" } }] },
    "B.",
  ]);
  const screen = await openSession(served.project);
  await enter(screen, "one", String.raw`A\.`);
  await enter(screen, "two", String.raw`B\.`);
  screen.type(CTRL_D);
  await screen.end();
  expect(served.models.lastMessages.at(-1)).toBe("it is back");
});

test("a server whose config changes starts again, and one that is taken out ends", async () => {
  await using served = await serve(["A.", "B.", "C."]);
  const screen = await openSession(served.project);
  await enter(screen, "one", String.raw`A\.`);
  const config = CONFIG.replace("all_tools", 'variables = ["LANG"]\nall_tools');
  queryProject({ ...served, server: served.models, config });
  await enter(screen, "two", String.raw`B\.`);
  const running = pidsOf(served.project).map(isRunning);
  queryProject({ ...served, server: served.models });
  await enter(screen, "three", String.raw`C\.`);
  const stillRunning = pidsOf(served.project).map(isRunning);
  screen.type(CTRL_D);
  await screen.end();
  expect([running, stillRunning]).toEqual([
    [false, true],
    [false, false],
  ]);
});

test.each([
  ["Ctrl-D", (screen: Screen) => screen.type(CTRL_D)],
  ["/quit", (screen: Screen) => screen.type("/quit\r")],
  ["Ctrl-C twice", (screen: Screen) => screen.type(CTRL_C + CTRL_C)],
  ["SIGTERM", (screen: Screen) => screen.signal("SIGTERM")],
  ["SIGHUP", (screen: Screen) => screen.signal("SIGHUP")],
])("leaving the session with %s ends its servers", async (_, leave) => {
  await using served = await serve(["A."]);
  const screen = await openSession(served.project);
  await enter(screen, "one", String.raw`A\.`);
  const before = pidsOf(served.project).map(isRunning);
  leave(screen);
  await screen.end();
  expect([before, pidsOf(served.project).map(isRunning)]).toEqual([[true], [false]]);
});

test("leaving in the middle of a turn ends the servers too", async () => {
  await using served = await serve([{ text: "The beginning of it", hangs: true }]);
  const screen = await openSession(served.project);
  screen.type("one\r");
  await shows(screen, "The beginning of");
  screen.type(CTRL_C);
  await shows(screen, "? Interrupted\n  c continue");
  screen.type(CTRL_C);
  expect((await screen.end()).status).toBe(130);
  expect(pidsOf(served.project).map(isRunning)).toEqual([false]);
});

test("a question that a server asks at the prompt is refused above it, and the draft stays", async () => {
  await using served = await serve([{ calls: [{ name: "ask_later" }] }, "A."]);
  const screen = await openSession(served.project);
  await enter(screen, "one", String.raw`A\.`);
  screen.type("a draft");
  await shows(screen, /asked outside of a call, and was refused: Which moon\?\n(.*\n)*> a draft$/m);
  screen.type(CTRL_C + CTRL_D);
  expect((await screen.end()).status).toBe(0);
});
