import { describe, expect, test } from "vitest";
import { verifies } from "../../test/conformance/manifest.ts";
import { counters } from "../../test/security/threats.ts";
import { toolCall } from "../conversation/events.fixture.ts";
import { until } from "./model-turn.fixture.ts";
import { prompterThat } from "./questioner.fixture.ts";
import { ToolTurn, type ToolTurnOptions } from "./tool-turn.fixture.ts";
import { defineTool } from "../tool/index.ts";
import type { JsonObject } from "../util/index.ts";
import type { PermissionResult, Prompter } from "./ports.ts";

const USER = { kind: "user", channel: "scripted" };
const FOR_THE_TURN = { ...USER, scope: "turn" };

const INVALID =
  "Invalid arguments for tool 'write'. It was not run.\n- `path`: expected string, got 5";

/** Returns its arguments, to show that it ran and with which. */
const write = defineTool({
  name: "write",
  description: "",
  parameters: {
    type: "object",
    properties: { path: { type: "string" }, mode: { type: "string", default: "append" } },
  },
  run: (args: JsonObject) => args,
});

async function start(options: Omit<ToolTurnOptions, "tools">) {
  return ToolTurn.start({ tools: [write], ...options });
}

/** One call with `{ path: "a" }`, and its outcome. */
async function callWith(run: string, options: Omit<ToolTurnOptions, "tools" | "config"> = {}) {
  const turn = await start({ ...options, config: { write: { run } } });
  const response = await turn.call("write", { path: "a" });
  return { turn, ...resultOf(turn), toolResponse: [response?.content, response?.isError] };
}

function resultOf(turn: ToolTurn) {
  const decisions = turn
    .recorded("permission_decision")
    .map(({ timestamp: _timestamp, type: _type, ...decision }) => decision);
  return { decisions, asked: turn.prompter.permissions.length };
}

const decision = (fields: JsonObject) => ({
  toolCallId: "call_1",
  tool: "write",
  action: "run",
  ...fields,
});

function neverAsked(): Promise<never> {
  return Promise.reject(new Error("This tool asks nothing."));
}

const RAN = ['{"path":"a","mode":"append"}', false];

function toldEdited(args: string, content: string): string {
  return (
    "The user edited the arguments of this call before it ran. " +
    `Arguments used: ${args}\n\n${content}`
  );
}

describe("without asking a person", () => {
  test.each([
    ["unattended", "approved", RAN],
    ["skip", "denied", ["Tool skipped by configuration.", false]],
  ])("`run` = `%s` decides, and the record says so", async (run, made, toolResponse) => {
    for (const isInteractive of [true, false]) {
      const { turn: _turn, ...result } = await callWith(run, { isInteractive });
      const decidedBy = { kind: "policy", key: "conversation.tools.write.run" };
      expect(result).toEqual({
        decisions: [decision({ decision: made, decidedBy })],
        asked: 0,
        toolResponse,
      });
    }
  });

  test.each([
    ["auto", "approved", RAN],
    ["defaults", "denied", undefined],
    ["deny", "denied", undefined],
    [undefined, "denied", undefined],
  ])(
    "the config decides in a non-interactive run: `detached.run` = `%s`",
    async (mode, made, toolResponse) => {
      const refusal =
        "Tool 'write' needs the user's permission to run, but this run is non-interactive. Do not " +
        "retry this tool call in this turn; continue without it or explain what is missing.";
      for (const run of ["ask", "edit"]) {
        const detached = mode === undefined ? {} : { run: mode };
        const config = { write: { run, detached } };
        const turn = await start({ config, isInteractive: false });
        const response = await turn.call("write", { path: "a" });
        const decidedBy = { kind: "policy", key: "conversation.tools.write.detached.run" };
        expect({ ...resultOf(turn), toolResponse: [response?.content, response?.isError] }).toEqual(
          {
            decisions: [decision({ decision: made, decidedBy })],
            asked: 0,
            toolResponse: toolResponse ?? [refusal, true],
          },
        );
      }
    },
  );
});

describe("a person who is asked", () => {
  test.each<[string, PermissionResult, object, readonly unknown[]]>([
    [
      "runs it",
      { type: "run", isRemembered: false },
      { decision: "approved", decidedBy: USER },
      RAN,
    ],
    [
      "runs it and later calls of the tool",
      { type: "run", isRemembered: true },
      { decision: "approved", decidedBy: FOR_THE_TURN },
      RAN,
    ],
    [
      "skips it",
      { type: "skip", isRemembered: false },
      { decision: "denied", decidedBy: USER },
      ["Tool skipped by user.", false],
    ],
    [
      "skips it with a reason",
      { type: "skip", isRemembered: false, reason: "Use sed." },
      { decision: "denied", decidedBy: USER, reason: "Use sed." },
      ["Tool skipped by user: Use sed.", false],
    ],
    [
      "skips it and later calls of the tool",
      { type: "skip", isRemembered: true },
      { decision: "denied", decidedBy: FOR_THE_TURN },
      ["Tool skipped by user.", false],
    ],
    [
      "edits the arguments, which are recorded and reported to the model",
      { type: "run", isRemembered: false, arguments: { path: "b" } },
      { decision: "edited", arguments: { path: "b", mode: "append" }, decidedBy: USER },
      [toldEdited('{"path":"b","mode":"append"}', '{"path":"b","mode":"append"}'), false],
    ],
    [
      "cancels the question",
      { type: "cancelled" },
      { decision: "denied", decidedBy: USER },
      ["Tool skipped by user.", false],
    ],
  ])("decides whether the call runs: %s", async (_, answer, decided, toolResponse) => {
    counters("T-TERM-10");
    verifies("082/permission/is-not-an-inquiry", "082/remember/permission-only-on-request");
    const { turn, ...result } = await callWith("ask", { script: { permissions: [answer] } });
    expect(result).toEqual({ decisions: [decision({ ...decided })], asked: 1, toolResponse });
    expect(turn.recorded("inquiry_request")).toEqual([]);
  });

  test("permits nothing by returning invalid arguments, and nothing runs", async () => {
    const edited = { path: 5 };
    const turn = await start({ config: { write: { run: "ask" } } });
    const askPermission = async (): Promise<PermissionResult> => ({
      type: "run",
      isRemembered: false,
      arguments: edited,
    });
    turn.parts = { ...turn.parts, prompter: { ...prompterThat(neverAsked), askPermission } };
    expect(await turn.call("write", { path: "a" })).toMatchObject({
      content: INVALID,
      isError: true,
    });
    expect(resultOf(turn).decisions).toEqual([]);
  });

  test("cannot be shown the prompt: the call fails without a decision, and nothing runs", async () => {
    const script = { permissions: () => Promise.reject(new Error("the terminal is gone")) };
    const { turn: _turn, ...result } = await callWith("ask", { script });
    expect(result).toEqual({
      decisions: [],
      asked: 1,
      toolResponse: ["Permission prompt failed: the terminal is gone", true],
    });
  });

  test("sees the tool, where it comes from, and its arguments with defaults filled in", async () => {
    const answer: PermissionResult = { type: "run", isRemembered: false };
    const { turn } = await callWith("edit", { script: { permissions: [answer] } });
    const [request] = turn.prompter.permissions;
    expect(request).toMatchObject({
      tool: "write",
      origin: { type: "builtin" },
      arguments: { path: "a", mode: "append" },
      isEditing: true,
    });
    expect([
      await request?.check({ path: 5 }),
      await request?.check({ path: "b" }),
      await request?.check({}),
    ]).toEqual([INVALID, undefined, undefined]);
  });

  test("is not asked about invalid arguments", async () => {
    const turn = await start({ config: { write: { run: "ask" } } });
    const response = await turn.call("write", { path: 5 });
    expect([response?.content, response?.isError, resultOf(turn)]).toEqual([
      INVALID,
      true,
      { decisions: [], asked: 0 },
    ]);
  });
});

describe("a decision for the rest of the turn", () => {
  const calls = ["call_1", "call_2", "call_3"].map((id) => toolCall(id, "write", { path: id }));

  test.each([
    ["yes", "run", "approved", '{"path":"call_3","mode":"append"}'],
    ["no", "skip", "denied", "Tool skipped by user (remembered)."],
  ] as const)(
    "holds for calls that wait for their turn, and for later cycles: %s",
    async (_, type, made, content) => {
      verifies("082/remember/permissions-keyed-by-tool");
      const permissions = [{ type, isRemembered: true }];
      const turn = await start({ config: { write: { run: "ask" } }, script: { permissions } });
      await turn.run(...calls.slice(0, 2));
      const [last] = await turn.run(...calls.slice(2));
      const remembered = { kind: "remembered", from: "call_1" };
      const decided = { tool: "write", action: "run", decision: made };
      expect({ ...resultOf(turn), content: last?.content }).toEqual({
        asked: 1,
        decisions: [
          { ...decided, toolCallId: "call_1", decidedBy: FOR_THE_TURN },
          { ...decided, toolCallId: "call_2", decidedBy: remembered },
          { ...decided, toolCallId: "call_3", decidedBy: remembered },
        ],
        content,
      });
    },
  );

  test("is asked for again in the next turn, and for every other tool", async () => {
    verifies("082/remember/ends-with-the-turn", "082/remember/permissions-keyed-by-tool");
    const other = { ...write, name: "other" };
    const turn = await ToolTurn.start({
      tools: [write, other],
      config: { write: { run: "ask" }, other: { run: "ask" } },
      script: { permissions: () => ({ type: "run", isRemembered: true }) },
    });
    await turn.run(toolCall("call_1", "write"), toolCall("call_2", "other"));
    await turn.nextTurn();
    await turn.run(toolCall("call_1", "write"));
    expect(turn.prompter.permissions.map(({ tool }) => tool)).toEqual(["write", "other", "write"]);
  });

  test("does not replace editing the arguments", async () => {
    const script = { permissions: () => ({ type: "run" as const, isRemembered: true }) };
    const turn = await start({ config: { write: { run: "edit" } }, script });
    await turn.run(...calls);
    expect(turn.prompter.permissions.map(({ isEditing }) => isEditing)).toEqual([true, true, true]);
  });

  test("is not inferred from a permission for one call", async () => {
    verifies("082/remember/permission-only-on-request");
    const script = { permissions: () => ({ type: "run" as const, isRemembered: false }) };
    const turn = await start({ config: { write: { run: "ask" } }, script });
    await turn.run(...calls);
    expect(turn.prompter.permissions).toHaveLength(3);
  });
});

test("permission is asked while the reply streams, and nothing runs before the reply ends", async () => {
  const script = { permissions: () => ({ type: "run" as const, isRemembered: false }) };
  const turn = await start({ config: { write: { run: "ask" } }, script });
  const cycle = await turn.begin(toolCall("call_1", "write", { path: "a" }));
  await until(() => turn.recorded("permission_decision").length === 1);
  expect(turn.recorded("tool_call_response")).toEqual([]);
  expect(await cycle.run()).toMatchObject([{ content: RAN[0] }]);
});

test("a permission and the start are recorded before the tool runs", async () => {
  const seen: string[] = [];
  const tool = { ...write, name: "looks", execute: lookAround };
  const turn = await ToolTurn.start({ tools: [tool] });
  async function lookAround() {
    seen.push(...turn.events.map(({ type }) => type));
    return { type: "success" as const, content: "" };
  }
  await turn.call("looks");
  expect(seen).toEqual(["turn_start", "tool_call_request", "permission_decision", "attempt_start"]);
});

test.each(["interrupted", "later"] as const)(
  "a prompt that ends without an answer is not a decision, so the call waits and does not run: %s",
  async (type) => {
    counters("T-PROV-8");
    const end = await callWith("ask", { script: { permissions: [{ type }] } });
    expect({ decisions: end.decisions, toolResponse: end.toolResponse }).toEqual({
      decisions: [],
      toolResponse: [undefined, undefined],
    });
    expect(end.turn.events.at(-1)).toMatchObject({
      type: "permission_request",
      id: "call_1.run.1",
      toolCallId: "call_1",
      tool: "write",
      action: "run",
      arguments: { path: "a", mode: "append" },
    });
  },
);

test("a no from a prompt that was closed from outside is not a decision", async () => {
  counters("T-PROV-8");
  const prompter: Prompter = {
    ...prompterThat(neverAsked),
    askPermission: ({ signal }) =>
      new Promise((resolve) => {
        const isRemembered = false;
        signal.addEventListener("abort", () => resolve({ type: "skip", isRemembered }));
        void cycle.then((started) => started.stop("interrupted"));
      }),
  };
  const turn = await start({ parts: { prompter }, config: { write: { run: "ask" } } });
  const cycle = turn.begin(toolCall("call_1", "write", { path: "a" }));
  const [response] = await (await cycle).run();
  expect([turn.recorded("permission_decision"), response]).toEqual([[], undefined]);
});
