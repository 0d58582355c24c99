import { describe, expect, test } from "vitest";
import { verifies } from "../../../test/conformance/manifest.ts";
import { counters } from "../../../test/security/threats.ts";
import { toolCall } from "../../record/conversation/events.fixture.ts";
import { until } from "./model-turn.fixture.ts";
import { questioner } from "./questioner.fixture.ts";
import { ToolTurn, type ToolTurnOptions } from "./tool-turn.fixture.ts";
import {
  digestDelivery,
  questionAbout,
  timestampFromDate,
} from "../../record/conversation/index.ts";
import type { ScriptedDelivery } from "../../testing/index.ts";
import { booleanQuestion, defineTool, secretQuestion, type Tool } from "../../record/tool/index.ts";
import type { JsonObject } from "../../util/index.ts";

const USER = { kind: "user", channel: "scripted", auth: "program" };

const read: Tool = defineTool({
  name: "read",
  description: "",
  parameters: { type: "object" },
  run: ({ fails = false }: { readonly fails?: boolean }) => {
    if (fails) throw new Error("no such file");
    return "content";
  },
});

const ask = questioner("read", booleanQuestion("q", "Sure?"));

interface Setting extends Omit<ToolTurnOptions, "tools" | "config"> {
  readonly tool?: typeof read;
  readonly config: JsonObject;
  readonly args?: JsonObject;
}

async function callWith({ tool = read, config, args = {}, ...options }: Setting) {
  const turn = await ToolTurn.start({ ...options, tools: [tool], config: { read: config } });
  const response = await turn.call("read", args);
  const decisions = turn
    .recorded("permission_decision")
    .filter(({ action }) => action === "deliver")
    .map(({ decision, decidedBy }) => [decision, decidedBy]);
  return {
    result: [response?.content, response?.isError],
    decisions,
    asked: turn.prompter.deliveries.map(({ tool: name, content, isError, isEditing }) => {
      return { tool: name, content, isError, isEditing };
    }),
  };
}

const SHOWN = { tool: "read", content: "content", isError: false, isEditing: false };

describe("without asking a person", () => {
  test("an `unattended` result goes to the model, and no decision is recorded", async () => {
    expect(await callWith({ config: { result: "unattended" } })).toEqual({
      result: ["content", false],
      decisions: [],
      asked: [],
    });
  });

  test("a skipped result does not reach the model", async () => {
    expect(await callWith({ config: { result: "skip" } })).toEqual({
      result: ["Result delivery skipped by configuration.", false],
      decisions: [["denied", { kind: "policy", key: "conversation.tools.read.result" }]],
      asked: [],
    });
  });

  test.each([
    ["auto", "approved", "content"],
    ["defaults", "approved", "content"],
    ["deny", "denied", "Result delivery skipped by configuration."],
    [undefined, "approved", "content"],
  ])(
    "the config decides in a non-interactive run: `detached.deliver` = `%s`",
    async (mode, made, content) => {
      for (const result of ["ask", "edit"]) {
        const detached = mode === undefined ? {} : { deliver: mode };
        expect(await callWith({ config: { result, detached }, isInteractive: false })).toEqual({
          result: [content, false],
          decisions: [[made, { kind: "policy", key: "conversation.tools.read.detached.deliver" }]],
          asked: [],
        });
      }
    },
  );
});

describe("a person who is asked about a result", () => {
  test.each<[string, ScriptedDelivery, string, string]>([
    ["lets the model see it", { type: "deliver" }, "approved", "content"],
    [
      "lets the model see it unchanged after viewing it in an editor",
      { type: "deliver", content: "content" },
      "approved",
      "content",
    ],
    ["lets the model see an edited result", { type: "deliver", content: "less" }, "edited", "less"],
    ["lets the model see an empty result", { type: "deliver", content: "" }, "edited", ""],
    ["withholds it", { type: "withhold" }, "denied", "Result delivery skipped by user."],
    ["cancels the question", { type: "cancelled" }, "denied", "Result delivery cancelled."],
  ])("decides what the model sees: %s", async (_, delivery, made, content) => {
    verifies("082/permission/is-not-an-inquiry");
    const script = { deliveries: [delivery] };
    expect(await callWith({ config: { result: "ask" }, script })).toEqual({
      result: [content, false],
      decisions: [[made, USER]],
      asked: [SHOWN],
    });
  });

  test("sees an error as an error, and it stays one", async () => {
    const script = { deliveries: [{ type: "deliver" as const, content: "no" }] };
    expect(await callWith({ config: { result: "edit" }, args: { fails: true }, script })).toEqual({
      result: ["no", true],
      decisions: [["edited", USER]],
      asked: [{ tool: "read", content: "no such file", isError: true, isEditing: true }],
    });
  });

  test("cannot be shown the result: the model learns that, and not the result", async () => {
    const script = { deliveries: () => Promise.reject(new Error("the terminal is gone")) };
    expect(await callWith({ config: { result: "ask" }, script })).toEqual({
      result: ["Delivery prompt failed: the terminal is gone", true],
      decisions: [["denied", { kind: "policy", key: "conversation.tools.read.result" }]],
      asked: [SHOWN],
    });
  });

  test("is asked about one at a time, while other tools continue", async () => {
    const open = Promise.withResolvers<ScriptedDelivery>();
    const turn = await ToolTurn.start({
      tools: [read, { ...read, name: "other" }],
      config: { read: { result: "ask" } },
      script: { deliveries: () => open.promise },
    });
    const cycle = await turn.begin(
      toolCall("a", "read"),
      toolCall("b", "read"),
      toolCall("c", "other"),
    );
    const responses = cycle.run();
    await until(() => turn.recorded("tool_call_response").length === 1);
    expect({
      ended: turn.recorded("tool_call_response").map(({ id }) => id),
      open: turn.prompter.deliveries.length,
    }).toEqual({ ended: ["c"], open: 1 });
    open.resolve({ type: "deliver" });
    expect((await responses).map(({ id, content }) => [id, content])).toEqual([
      ["a", "content"],
      ["b", "content"],
      ["c", "content"],
    ]);
  });
});

describe("a tool without a result, because its question got no answer", () => {
  const refusal =
    "read cannot run because no user is available to answer. Do not retry this tool call in " +
    "this turn; continue without user input or explain what information is missing.";

  test.each(["ask", "edit", "skip"])(
    "is not subject to delivery: with `result` = `%s` the model sees that the question was cancelled",
    async (result) => {
      const script = { answers: [{ isCancelled: true as const }] };
      expect(await callWith({ tool: ask, config: { result }, script })).toEqual({
        result: ["Tool input cancelled by user.", false],
        decisions: [],
        asked: [],
      });
    },
  );

  test.each(["ask", "edit", "skip"])(
    "tells the model not to try again, whatever `result` says: %s",
    async (result) => {
      verifies("083/exclusive/no-retry-flag");
      const tool = questioner("read", secretQuestion("q", "?"));
      const config = { result, detached: { deliver: "deny" } };
      expect(await callWith({ tool, config, isInteractive: false })).toEqual({
        result: [refusal, true],
        decisions: [],
        asked: [],
      });
    },
  );
});

test("a prompt that closes before the user decides is no decision: the result waits on the record", async () => {
  counters("T-PROV-8");
  const script = { deliveries: [{ type: "interrupted" } as const] };
  const turn = await ToolTurn.start({ tools: [read], config: { read: { result: "ask" } }, script });
  expect(await turn.call("read")).toBeUndefined();
  expect(turn.events.at(-1)).toMatchObject({
    type: "permission_request",
    action: "deliver",
    result: { content: "content", isError: false },
  });
});

test("a delivery is recorded, shown and decided with the digest of the result", async () => {
  const script = { deliveries: [{ type: "deliver", content: "less" }] as const };
  const config = { read: { result: "ask" } };
  const turn = await ToolTurn.start({ tools: [read], config, script });
  await turn.call("read", { fails: false });
  const result = { content: "content", isError: false };
  const conversation = turn.conversation.id;
  const call = { toolCallId: "call_1", tool: "read" };
  const subject = digestDelivery({ conversation, ...call }, result);
  const { digest } = subject;
  const origin = { type: "builtin" };
  const timestamp = timestampFromDate(turn.clock.now());
  const id = "call_1:deliver:1";
  expect([
    ...turn.recorded("permission_request"),
    ...turn.recorded("permission_decision").slice(1),
  ]).toEqual([
    {
      type: "permission_request",
      timestamp,
      id,
      ...call,
      action: "deliver",
      result,
      takes: { note: "any" },
      subject,
      origin,
    },
    {
      type: "permission_decision",
      timestamp,
      id,
      ...call,
      action: "deliver",
      decision: "edited",
      result: { content: "less", isError: false },
      decidedBy: USER,
      digest,
    },
  ]);
  expect(turn.prompter.deliveries).toEqual([
    {
      kind: "delivery",
      inquiryId: id,
      conversation,
      ...call,
      origin,
      arguments: { fails: false },
      source: { source: "tool", name: "read" },
      label: "read",
      signal: expect.any(AbortSignal),
      allowsLater: false,
      acts: false,
      digest,
      question: questionAbout("delivery", "read"),
      canRemember: false,
      content: "content",
      isError: false,
      isEditing: false,
    },
  ]);
});

test.each([
  ["it failed to be shown", "prompt_failed", () => Promise.reject(new Error("no terminal"))],
  ["no one answered", "timed_out", () => ({ type: "unanswered", reason: "timed_out" }) as const],
  [
    "no one could be asked",
    "unavailable",
    () => ({ type: "unanswered", reason: "unavailable" }) as const,
  ],
  [
    "the client declined",
    "declined_by_client",
    () => ({ type: "unanswered", reason: "declined_by_client" }) as const,
  ],
  ["the person closed the prompt", "closed", () => ({ type: "cancelled" }) as const],
  ["the person said no", undefined, () => ({ type: "withhold" }) as const],
])("the record says by a code why a result was withheld: %s", async (_, cause, deliveries) => {
  const config = { read: { result: "ask", detached: { deliver: "deny" } } };
  const turn = await ToolTurn.start({ tools: [read], config, script: { deliveries } });
  await turn.call("read");
  const [decision] = turn.recorded("permission_decision").slice(1);
  expect([decision?.decision, decision?.cause]).toEqual(["denied", cause]);
});
