/** The built command with servers that ask outside of a call, ask a model, or never return. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import type { Json } from "../../src/util/index.ts";
import { ModelServer } from "../cli/model-server.ts";
import { entriesOf, query, queryProject, recordOf, without } from "../cli/query-project.ts";
import { JP } from "../cli/support.ts";
import { counters } from "../security/threats.ts";
import { temporaryFolder } from "../../src/stores/temporary-workspace.fixture.ts";
import { isRunning, NODE_COMPILE_CACHE, TEST_PROGRAM } from "./support.ts";

/** Longer than the server takes to ask. */
const NAP = {
  name: "nap",
  program: "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)),0,0,1000)",
};

test("a question outside of a call is reported at once, and recorded", async () => {
  await using server = await ModelServer.start(({ messages }) => {
    const results = messages.filter(({ role }) => role === "tool").length;
    const name = ["ask_later", "nap"][results];
    return name === undefined ? "Done." : { calls: [{ name }] };
  });
  const config = configOf("older", "ask_later = { source = 'mcp.test', run = 'unattended' }");
  const project = queryProject({ server, config, tools: [NAP] });
  const { status, stderr } = await query(project, ["one"], { variables: { NODE_COMPILE_CACHE } });
  const record = recordOf(project);
  expect([
    status,
    entriesOf(record, "inquiry_request"),
    entriesOf(record, "inquiry_response"),
  ]).toEqual([
    0,
    [
      expect.objectContaining({
        id: "mcp.test.name.1",
        source: { source: "tool", name: "mcp.test" },
      }),
    ],
    [expect.objectContaining({ outcome: "cancelled", reason: "no_prompt_backend" })],
  ]);
  expect(stderr).toContain("test asked outside of a call, and was refused: Which moon?");
});

test.each(["older", "newer"])("a server may ask a model (%s protocol)", async (mode) => {
  const prompt = {
    messages: [{ role: "user", content: { type: "text", text: "Name a moon." } }],
    maxTokens: 5,
  };
  await using server = await ModelServer.start(({ messages }) => {
    if (messages.some(({ content }) => isPrompt(content))) return "Io";
    if (messages.some(({ role }) => role === "tool")) return "Done.";
    return { calls: [{ name: "ask", arguments: { rounds: [{ model: prompt }] } }] };
  });
  const config = configOf(mode, "ask = { source = 'mcp.test', run = 'unattended' }");
  const project = queryProject({ server, config });
  const { status } = await query(project, ["a secret"], { variables: { NODE_COMPILE_CACHE } });
  const outcomes = entriesOf(recordOf(project), "inquiry_response");
  const asked = server.requests.filter(({ messages }) =>
    messages.some(({ content }) => isPrompt(content)),
  );
  expect([status, outcomes.map((entry) => without(entry, "type", "id"))]).toEqual([
    0,
    [
      {
        outcome: "answered",
        answer: "Io",
        answered_by: { kind: "assistant", model: "llamacpp/scripted" },
      },
    ],
  ]);
  expect([asked.length, JSON.stringify(asked).includes("a secret")]).toEqual([1, false]);
});

test("`jp tool run` explains why a form was refused", async () => {
  const project = queryProject({ config: configOf("newer", "ask = { source = 'mcp.test' }") });
  const properties = { password: { type: "string" } };
  const rounds = [{ login: { message: "?", requestedSchema: { type: "object", properties } } }];
  const words = ["tool", "run", "ask", "--args", JSON.stringify({ rounds })];
  const { status, stderr } = await project.jpWith({ NODE_COMPILE_CACHE }, ...words);
  expect([status, stderr]).toEqual([
    1,
    expect.stringContaining(
      'it asked for a secret ("password") in a form, which was refused.',
    ) as string,
  ]);
});

test("Ctrl-C ends a call that only reports progress, and its server", async () => {
  counters("T-MCP-1");
  const log = path.join(temporaryFolder(), "log");
  const config = configOf("older", "flood = { source = 'mcp.test' }", `--log=${log}`);
  const project = queryProject({ config });
  const params = { progressToken: "TOKEN", progress: 1, message: "still at it" };
  const line = { jsonrpc: "2.0", method: "notifications/progress", params };
  const words = ["tool", "run", "flood", "--args", JSON.stringify({ line })];
  const child = spawn(process.execPath, [JP, ...words], {
    cwd: project.root,
    env: { ...project.variables, NODE_COMPILE_CACHE },
    detached: true,
  });
  const closed = once(child, "close");
  const shown = Promise.withResolvers<void>();
  child.stderr.on("data", (piece) => {
    if (String(piece).includes("still at it")) shown.resolve();
  });
  await shown.promise;
  child.kill("SIGINT");
  expect((await closed)[0]).toBe(130);
  const [, pid] = /started (\d+)/.exec(readFileSync(log, "utf8")) ?? [];
  expect(isRunning(Number(pid))).toBe(false);
});

function configOf(mode: string, tools: string, flag = "--quiet"): string {
  return `
[providers.mcp.test]
command = "${process.execPath}"
arguments = ["${TEST_PROGRAM}", "--mode=${mode}", "${flag}"]
allow_sampling = true
[conversation.tools]
${tools}
`;
}

function isPrompt(content: Json | undefined): boolean {
  return JSON.stringify(content ?? "").includes("Name a moon.");
}
