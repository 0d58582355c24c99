import { describe, expect, test } from "vitest";
import { verifies } from "../../../test/conformance/manifest.ts";
import { counters } from "../../../test/security/threats.ts";
import { toolCall } from "../../record/conversation/events.fixture.ts";
import { prompterThat } from "./questioner.fixture.ts";
import { ToolTurn, type ToolTurnOptions, undigested } from "./tool-turn.fixture.ts";
import {
  digestCall,
  type InquiryId,
  questionAbout,
  timestampFromDate,
} from "../../record/conversation/index.ts";
import { transcript } from "../../record/conversation/transcript.fixture.ts";
import type { ScriptedPermission } from "../../testing/index.ts";
import { defineTool } from "../../record/tool/index.ts";
import type { JsonObject } from "../../util/index.ts";
import type { AnsweredPrompt, DecisionToGive } from "./ports.ts";

type PromptAnswer = Omit<AnsweredPrompt, "type"> & { readonly inquiryId?: InquiryId };

const BY_RUN = { kind: "policy", key: "conversation.tools.write.run" };
const OTHER = "the answer is for another question";
const USER = { kind: "user", channel: "scripted", auth: "program" };
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
    .map(undigested)
    .map(({ type: _type, ...decision }) => decision);
  return { decisions, asked: turn.prompter.permissions.length };
}

const decision = (fields: JsonObject) => ({
  toolCallId: "call_1",
  tool: "write",
  action: "run",
  ...fields,
});

/** One that a person was asked for. */
const asked = (fields: JsonObject) => ({ id: "call_1:run:1", ...decision(fields) });

const RAN = ['{"path":"a","mode":"append"}', false];

function toldEdited(args: string, content: string): string {
  return (
    "The user edited the arguments of this call before it ran. " +
    `Arguments used: ${args}\n\n${content}`
  );
}

describe("without asking a person", () => {
  test.each([
    ["unattended", { decision: "approved" }, RAN],
    ["skip", { decision: "denied", cause: "skipped" }, ["Tool skipped by configuration.", false]],
  ])("`run` = `%s` decides, and the record says so", async (run, made, toolResponse) => {
    for (const isInteractive of [true, false]) {
      const { turn: _turn, ...result } = await callWith(run, { isInteractive });
      const decidedBy = { kind: "policy", key: "conversation.tools.write.run" };
      expect(result).toEqual({
        decisions: [decision({ ...made, decidedBy })],
        asked: 0,
        toolResponse,
      });
    }
  });

  test.each([
    ["auto", { decision: "approved" }, RAN],
    ["defaults", { decision: "denied", cause: "unavailable" }, undefined],
    ["deny", { decision: "denied", cause: "unavailable" }, undefined],
    [undefined, { decision: "denied", cause: "unavailable" }, undefined],
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
            decisions: [decision({ ...made, decidedBy })],
            asked: 0,
            toolResponse: toolResponse ?? [refusal, true],
          },
        );
      }
    },
  );
});

describe("a person who is asked", () => {
  test.each<[string, ScriptedPermission, object, readonly unknown[]]>([
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
      { decision: "denied", cause: "closed", decidedBy: USER },
      ["Tool skipped by user.", false],
    ],
  ])("decides whether the call runs: %s", async (_, answer, decided, toolResponse) => {
    counters("T-TERM-10");
    verifies("082/permission/is-not-an-inquiry", "082/remember/permission-only-on-request");
    const { turn, ...result } = await callWith("ask", { script: { permissions: [answer] } });
    expect(result).toEqual({ decisions: [asked({ ...decided })], asked: 1, toolResponse });
    expect(turn.recorded("inquiry_request")).toEqual([]);
  });

  test.each<[string, PromptAnswer, string]>([
    ["arguments that are invalid", { answer: true, arguments: { path: 5 } }, INVALID],
    ["a text", { answer: "yes" }, "expected true or false, got string"],
    ["an answer to another request", { answer: true, inquiryId: "b" as InquiryId }, OTHER],
  ])("permits nothing by returning what is no decision: %s", async (_, given, problem) => {
    const prompter = prompterThat(async ({ inquiryId }) => {
      return { type: "answered", inquiryId, ...given };
    });
    const { turn: _turn, ...result } = await callWith("ask", { parts: { prompter } });
    expect(result).toEqual({
      decisions: [
        asked({ decision: "denied", decidedBy: BY_RUN, cause: "prompt_failed", problem }),
      ],
      asked: 0,
      toolResponse: [`Permission prompt failed: ${problem}`, true],
    });
  });

  test("cannot be shown the prompt: the call is denied, and the record says why", async () => {
    const script = { permissions: () => Promise.reject(new Error("the terminal is gone")) };
    const { turn: _turn, ...result } = await callWith("ask", { script });
    const problem = "the terminal is gone";
    expect(result).toEqual({
      decisions: [
        asked({ decision: "denied", decidedBy: BY_RUN, cause: "prompt_failed", problem }),
      ],
      asked: 1,
      toolResponse: ["Permission prompt failed: the terminal is gone", true],
    });
  });

  test("did not answer in time: the call is denied, and the record says why", async () => {
    const unanswered = { type: "unanswered", reason: "timed_out" } as const;
    const script = { permissions: [unanswered] };
    const { turn: _turn, ...result } = await callWith("ask", { script });
    expect(result).toMatchObject({
      decisions: [asked({ decision: "denied", decidedBy: BY_RUN, cause: "timed_out" })],
      asked: 1,
      toolResponse: [expect.stringContaining("no one answered in time"), true],
    });
  });

  test("sees the tool, where it comes from, and its arguments with defaults filled in", async () => {
    const { turn } = await callWith("edit", { script: { permissions: [{ type: "run" }] } });
    const [request] = turn.prompter.permissions;
    expect(request).toMatchObject({
      tool: "write",
      origin: { type: "builtin" },
      arguments: { path: "a", mode: "append" },
      isEditing: true,
    });
    expect([
      await request?.check?.({ path: 5 }),
      await request?.check?.({ path: "b" }),
      await request?.check?.({}),
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
      const remembered = { kind: "remembered", from: "call_1:run:1" };
      const decided = (toolCallId: string) => ({
        id: `${toolCallId}:run:1`,
        toolCallId,
        tool: "write",
        action: "run",
        decision: made,
      });
      expect({ ...resultOf(turn), content: last?.content }).toEqual({
        asked: 1,
        decisions: [
          { ...decided("call_1"), decidedBy: FOR_THE_TURN },
          { ...decided("call_2"), decidedBy: remembered },
          { ...decided("call_3"), decidedBy: remembered },
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
      id: "call_1:run:1",
      toolCallId: "call_1",
      tool: "write",
      action: "run",
      arguments: { path: "a", mode: "append" },
    });
  },
);

test("a no from a prompt that was closed from outside is not a decision", async () => {
  counters("T-PROV-8");
  const prompter = prompterThat(
    ({ inquiryId, signal }) =>
      new Promise((resolve) => {
        const no = { type: "answered", inquiryId, answer: false } as const;
        signal.addEventListener("abort", () => resolve(no));
        void cycle.then((started) => started.stop("interrupted"));
      }),
  );
  const turn = await start({ parts: { prompter }, config: { write: { run: "ask" } } });
  const cycle = turn.begin(toolCall("call_1", "write", { path: "a" }));
  const [response] = await (await cycle).run();
  expect([turn.recorded("permission_decision"), response]).toEqual([[], undefined]);
});

test("a permission is recorded, shown and given with the digest of the call", async () => {
  const { turn } = await callWith("ask", { script: { permissions: [{ type: "run" }] } });
  const origin = { type: "builtin" } as const;
  const args = { path: "a", mode: "append" };
  const subject = digestCall({
    conversation: turn.conversation.id,
    toolCallId: "call_1",
    tool: "write",
    source: { origin },
    arguments: args,
  });
  const { digest } = subject;
  const of = { toolCallId: "call_1", tool: "write", action: "run" } as const;
  const timestamp = timestampFromDate(turn.clock.now());
  expect([...turn.recorded("permission_request"), ...turn.recorded("permission_decision")]).toEqual(
    [
      {
        type: "permission_request",
        timestamp,
        id: "call_1:run:1",
        ...of,
        arguments: args,
        takes: { turn: { code: "calls" }, note: "any" },
        subject,
        origin,
      },
      {
        type: "permission_decision",
        timestamp,
        id: "call_1:run:1",
        ...of,
        decision: "approved",
        decidedBy: USER,
        digest,
      },
    ],
  );
  expect(turn.prompter.permissions).toEqual([
    {
      kind: "permission",
      inquiryId: "call_1:run:1",
      conversation: turn.conversation.id,
      toolCallId: "call_1",
      tool: "write",
      origin,
      arguments: args,
      source: { source: "assistant" },
      label: "assistant",
      signal: expect.any(AbortSignal),
      allowsLater: false,
      acts: true,
      digest,
      question: questionAbout("permission", "write"),
      canRemember: true,
      isEditing: false,
      check: expect.any(Function),
    },
  ]);
});

test("a permission with edited arguments has the digest of those", async () => {
  const permissions = [{ type: "run", arguments: { path: "b" } }] as const;
  const { turn } = await callWith("ask", { script: { permissions } });
  const { digest } = digestCall({
    conversation: turn.conversation.id,
    toolCallId: "call_1",
    tool: "write",
    source: { origin: { type: "builtin" } },
    arguments: { path: "b", mode: "append" },
  });
  expect(turn.recorded("permission_decision")).toMatchObject([{ decision: "edited", digest }]);
});

test("a remembered permission is recorded with a request of its own", async () => {
  const permissions = [{ type: "run", isRemembered: true }] as const;
  const turn = await start({ config: { write: { run: "ask" } }, script: { permissions } });
  await turn.run(toolCall("call_1", "write"));
  await turn.run(toolCall("call_2", "write"));
  const [, second] = turn.recorded("permission_request");
  expect(transcript(turn.events).slice(6)).toEqual([
    "call_2 calls write",
    "call_2 waits for permission (run)",
    "call_2 approved (run)",
    "call_2 starts",
    'call_2 gives: {"mode":"append"}',
  ]);
  expect(turn.recorded("permission_decision").at(-1)).toMatchObject({
    id: "call_2:run:1",
    digest: second?.subject?.digest,
  });
});

test.each([
  ["yes", { answer: true }, { decision: "approved" }, RAN],
  [
    "with other arguments",
    { answer: true, arguments: { path: "b" } },
    { decision: "edited", arguments: { path: "b", mode: "append" } },
    [toldEdited('{"path":"b","mode":"append"}', '{"path":"b","mode":"append"}'), false],
  ],
  [
    "no, with a reason",
    { answer: false, note: "Use sed." },
    { decision: "denied", reason: "Use sed." },
    ["Tool skipped by user: Use sed.", false],
  ],
])(
  "a permission that was given before the turn is recorded with its request: %s",
  async (_, given, made, toolResponse) => {
    const decidedBy = { kind: "answers_file", entry: "answers[0]" } as const;
    const turn = await start({ config: { write: { run: "ask" } }, isInteractive: false });
    const seen: DecisionToGive[] = [];
    const find = (about: DecisionToGive) => {
      seen.push(about);
      return { ...given, decidedBy };
    };
    turn.parts = { ...turn.parts, answers: { isComplete: false, find } };
    const response = await turn.call("write", { path: "a" });
    expect({ ...resultOf(turn), toolResponse: [response?.content, response?.isError] }).toEqual({
      decisions: [asked({ ...made, decidedBy })],
      asked: 0,
      toolResponse,
    });
    const [request] = turn.recorded("permission_request");
    expect(request).toMatchObject({ id: "call_1:run:1" });
    expect(seen).toEqual([
      {
        kind: "permission",
        tool: "write",
        toolCallId: "call_1",
        arguments: { path: "a", mode: "append" },
        digest: request?.subject?.digest,
      },
    ]);
  },
);
