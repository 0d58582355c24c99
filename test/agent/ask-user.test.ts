/** The `ask_user` tool, with its default config and with the user's. */
import { describe, expect, test } from "vitest";
import type { CallableTool, Toolbox } from "../../src/core/agent/index.ts";
import { shippedConfig } from "../../src/assemble/shipped-tools.ts";
import {
  applyDirectives,
  mergeConfig,
  parseConfigOrThrow,
  resolveMcpServers,
  resolveTools,
  type ToolDirective,
  type ToolSettings,
} from "../../src/settings/config/index.ts";
import { createAskUser, createTool } from "../../src/reach/executor/index.ts";
import { McpServers } from "../../src/reach/mcp/index.ts";
import type { Json, JsonObject } from "../../src/util/index.ts";
import { verifies } from "../conformance/manifest.ts";
import { toolCall } from "../../src/record/conversation/events.fixture.ts";
import { problemsOf } from "../../src/record/conversation/record-rules.fixture.ts";
import { ToolTurn, type ToolTurnOptions } from "../../src/core/agent/tool-turn.fixture.ts";

const SELECT = { question: "Which?", answer_type: "select", options: ["backup", "abort"] };
const SURE = { question: "Sure?", answer_type: "boolean" };

const NO_USER =
  "ask_user cannot run because no user is available to answer. Do not retry this tool call " +
  "in this turn; continue without user input or explain what information is missing.";
const NEEDS_HUMAN =
  "ask_user requires a human answer and cannot be routed to the assistant. Do not retry this tool " +
  "call in this turn.";
const KEY = "conversation.tools.ask_user.questions.answer.answer";
const MISMATCH =
  `ask_user: the configured ${KEY} value does not match the question's answer_type. Update the ` +
  "configuration; do not retry.";

/** The settings of all builtin tools, merged with the user's config. */
function settingsWith(tools: JsonObject, ...directives: readonly ToolDirective[]) {
  const user = parseConfigOrThrow("the test", { conversation: { tools } });
  return resolveTools(applyDirectives(mergeConfig(shippedConfig().builtins, user), directives));
}

function settingsOf(own: JsonObject, ...directives: readonly ToolDirective[]): ToolSettings {
  const settings = settingsWith({ ask_user: own }, ...directives).get("ask_user");
  if (settings === undefined) throw new Error("ask_user is not configured");
  return settings;
}

function toolboxWith(tools: JsonObject): Toolbox {
  const settings = settingsWith(tools);
  const clientInfo = { name: "test", version: "0" };
  const servers = new McpServers(resolveMcpServers({}), { variables: {}, cwd: ".", clientInfo });
  const local = { workspaceRoot: ".", workspaceId: "", conversationId: "", variables: {} };
  const shipped = [createAskUser()];
  return {
    schemas: async () => [],
    find: async (name, signal): Promise<CallableTool | undefined> => {
      const found = settings.get(name);
      if (found?.isEnabled !== true) return undefined;
      return { ...(await createTool(found, { shipped, local, servers, signal })), settings: found };
    },
  };
}

interface Setting extends Pick<ToolTurnOptions, "script" | "isInteractive"> {
  readonly config?: JsonObject;
  /** Of all tools. */
  readonly tools?: JsonObject;
}

async function start({ config = {}, tools = {}, ...options }: Setting): Promise<ToolTurn> {
  return ToolTurn.start({
    ...options,
    tools: [],
    answers: () => Promise.reject(new Error("No model may be asked.")),
    parts: { tools: toolboxWith({ ask_user: config, ...tools }) },
  });
}

async function ask(args: JsonObject, setting: Setting = {}) {
  const turn = await start(setting);
  const response = await turn.call("ask_user", args);
  return summaryOf(turn, [response?.content, response?.isError]);
}

function summaryOf(turn: ToolTurn, results: unknown) {
  expect(problemsOf(turn.events)).toEqual([]);
  const { questions, permissions, deliveries } = turn.prompter;
  return {
    requests: turn.recorded("inquiry_request").map(({ id, source }) => [id, source.source]),
    ends: turn
      .recorded("inquiry_response")
      .map(({ type: _type, timestamp: _timestamp, id: _id, digest: _digest, ...end }) => end),
    asked: questions.map(({ question, label }) => [label, question.text]),
    otherPrompts: permissions.length + deliveries.length,
    models: turn.inquiries.calls.length,
    result: results,
  };
}

const USER = { kind: "user", channel: "scripted", auth: "program" };

describe("a call of ask_user", () => {
  test("asks the user, and returns the answer to the model", async () => {
    verifies(
      "083/ask-user/called-like-any-tool",
      "083/ask-user/answer-becomes-the-result",
      "083/ask-user/coordinator-does-the-rest",
      "083/ask-user/recorded-as-the-assistants",
      "083/config/label-is-assistant",
      "083/config/runs-without-permission-prompt",
      "083/config/result-delivered-without-prompt",
      "083/answer-config/user-target-supported",
    );
    expect(await ask(SELECT, { script: { answers: [{ answer: "backup" }] } })).toEqual({
      requests: [["call_1.answer.1", "assistant"]],
      ends: [{ outcome: "answered", answer: "backup", answeredBy: USER }],
      asked: [["Assistant", "Which?"]],
      otherPrompts: 0,
      models: 0,
      result: ['{"answer_type":"select","answer":"backup"}', false],
    });
  });

  test("records the question as the assistant's, with its policy", async () => {
    verifies("083/ask-user/recorded-as-the-assistants", "083/ask-user/policy-set-by-the-author");
    const args = { ...SURE, context: "First,\nsecond.", default: true };
    const turn = await start({ script: { answers: [{ answer: false }] } });
    await turn.call("ask_user", args);
    expect(turn.recorded("inquiry_request")).toMatchObject([
      {
        source: { source: "assistant" },
        toolCallId: "call_1",
        questionId: "answer",
        question: {
          text: "Sure?",
          context: "First,\nsecond.",
          answerType: { type: "boolean" },
          default: true,
          exclusive: true,
          persistence: "none",
          allowsNote: true,
        },
      },
    ]);
  });

  test("needs no permission, even if all other tools do", async () => {
    verifies(
      "083/config/runs-without-permission-prompt",
      "083/config/result-delivered-without-prompt",
    );
    const tools = { "*": { run: "ask", result: "ask" } };
    const script = { answers: [{ answer: true }] };
    expect(await ask(SURE, { tools, script })).toMatchObject({
      asked: [["Assistant", "Sure?"]],
      otherPrompts: 0,
    });
  });

  test("asks every time, even if an answer should be remembered", async () => {
    verifies("083/ask-user/question-is-not-remembered", "083/ask-user/policy-set-by-the-author");
    const turn = await start({ script: { answers: () => ({ answer: true, isRemembered: true }) } });
    await turn.run(toolCall("call_1", "ask_user", SURE), toolCall("call_2", "ask_user", SURE));
    expect([
      turn.prompter.questions.length,
      turn.recorded("inquiry_response").map((end) => "answeredBy" in end && end.answeredBy),
    ]).toEqual([2, [USER, USER]]);
  });

  test("asks nothing if its arguments are invalid, and tells the model what to change", async () => {
    verifies(
      "083/ask-user/errors-tell-the-model-what-to-change",
      "083/ask-user/select-without-options-is-an-error",
    );
    expect(await ask({ question: "Which?", answer_type: "select" })).toEqual({
      requests: [],
      ends: [],
      asked: [],
      otherPrompts: 0,
      models: 0,
      result: ["`options` is missing or empty: a select needs options to choose from.", true],
    });
  });

  test("returns that the user cancelled, and is not an error", async () => {
    const script = { answers: [{ isCancelled: true as const }] };
    expect(await ask(SURE, { script })).toMatchObject({
      ends: [{ outcome: "cancelled", reason: "user" }],
      result: ["Tool input cancelled by user.", false],
    });
  });

  test("asks several questions with `more`, and returns the answers in order", async () => {
    const answers = [{ answer: true }, { answer: "neither" }, { answer: "because" }];
    const args = { ...SURE, more: [SELECT, { question: "Why?" }] };
    expect(await ask(args, { script: { answers } })).toMatchObject({
      requests: ["answer", "answer_2", "answer_3"].map((id) => [`call_1.${id}.1`, "assistant"]),
      ends: [
        { answer: true, answeredBy: USER },
        { answer: "neither", isOther: true, answeredBy: USER },
        { answer: "because", answeredBy: USER },
      ],
      asked: [
        ["Assistant", "Sure?"],
        ["Assistant", "Which?"],
        ["Assistant", "Why?"],
      ],
      result: [
        JSON.stringify({
          answer_type: "boolean",
          answer: true,
          more: [
            { answer_type: "select", answer: "neither", other: true },
            { answer_type: "text", answer: "because" },
          ],
        }),
        false,
      ],
    });
  });
});

describe("in a non-interactive run", () => {
  test.each(["auto", "defaults", "deny"])(
    "a call of ask_user is refused in a non-interactive run and no answer is invented, whatever `detached` says: %s",
    async (detached) => {
      verifies("083/ask-user/question-is-exclusive", "083/ask-user/policy-set-by-the-author");
      const config = { detached };
      expect(await ask({ ...SURE, default: true }, { config, isInteractive: false })).toEqual({
        requests: [["call_1.answer.1", "assistant"]],
        ends: [{ outcome: "cancelled", reason: "no_prompt_backend" }],
        asked: [],
        otherPrompts: 0,
        models: 0,
        result: [NO_USER, true],
      });
    },
  );

  test("a form is refused once, and each of its questions is closed", async () => {
    const more = [SELECT, { question: "Why?" }];
    expect(await ask({ ...SURE, more }, { isInteractive: false })).toMatchObject({
      ends: [1, 2, 3].map(() => ({ outcome: "cancelled", reason: "no_prompt_backend" })),
      models: 0,
      result: [NO_USER, true],
    });
  });
});

describe("the question of ask_user in the config", () => {
  test.each([true, false])("cannot go to a model (interactive: %s)", async (isInteractive) => {
    verifies(
      "083/answer-config/assistant-target-rejected",
      "083/answer-config/no-tool-name-in-routing",
    );
    const config = { questions: { answer: { target: "assistant" } } };
    expect(await ask(SURE, { config, isInteractive })).toMatchObject({
      ends: [{ outcome: "cancelled", reason: "assistant_routing_denied" }],
      asked: [],
      models: 0,
      result: [NEEDS_HUMAN, true],
    });
  });

  test("goes to a model only if the config sets `exclusive = false`", async () => {
    const config = { questions: { answer: { exclusive: false } } };
    const turn = await start({ config, isInteractive: false });
    await turn.call("ask_user", SURE);
    const requests = turn.recorded("inquiry_request");
    expect([turn.inquiries.calls.length, requests]).toMatchObject([
      1,
      [{ source: { source: "assistant" }, question: { exclusive: false } }],
    ]);
  });

  test.each<[JsonObject, Json, string]>([
    [SURE, false, '{"answer_type":"boolean","answer":false}'],
    [SELECT, "abort", '{"answer_type":"select","answer":"abort"}'],
    [{ question: "Where?" }, "/tmp", '{"answer_type":"text","answer":"/tmp"}'],
  ])("may have an answer, which is used without a prompt: %j %j", async (args, answer, content) => {
    verifies("083/answer-config/fixed-answer-supported");
    const config = { questions: { answer: { answer } } };
    expect(await ask(args, { config, isInteractive: false })).toEqual({
      requests: [["call_1.answer.1", "assistant"]],
      ends: [{ outcome: "answered", answer, answeredBy: { kind: "config", key: KEY } }],
      asked: [],
      otherPrompts: 0,
      models: 0,
      result: [content, false],
    });
  });

  test.each<[string, JsonObject, Json]>([
    ["of another type", SURE, "yes"],
    ["that is not an option, although a person could type it", SELECT, "overwrite"],
    ["that is not an option of a strict select", { ...SELECT, strict: true }, "overwrite"],
  ])("must not have an answer %s", async (_, args, answer) => {
    const config = { questions: { answer: { answer } } };
    expect(await ask(args, { config })).toMatchObject({
      ends: [{ outcome: "cancelled", reason: "invalid_static_answer" }],
      asked: [],
      result: [MISMATCH, true],
    });
  });

  test("may have another label, which leaves everything else unchanged", async () => {
    verifies("083/answer-config/label-supported");
    const before = settingsOf({});
    const after = settingsOf({ questions: { answer: { prompt_label: "JP" } } });
    const questions = new Map(before.questions).set("answer", {
      target: { type: "user" },
      promptLabel: "JP",
    });
    expect(after).toStrictEqual({ ...before, questions });
    const config = { questions: { answer: { prompt_label: "JP" } } };
    const script = { answers: [{ answer: true }] };
    expect(await ask(SURE, { config, script })).toMatchObject({
      requests: [["call_1.answer.1", "assistant"]],
      asked: [["JP", "Sure?"]],
    });
  });
});

const off = (name?: string): ToolDirective => ({
  isEnabled: false,
  ...(name !== undefined && { name }),
});

function state({ isEnabled, allowToggle }: ToolSettings): unknown {
  return [isEnabled, allowToggle];
}

describe("ask_user", () => {
  test("is enabled by default, and is disabled only by name", () => {
    verifies(
      "083/config/enabled-by-default",
      "083/config/bare-disable-all-keeps-it",
      "083/config/disabled-by-name",
    );
    const states = [settingsOf({}), settingsOf({}, off()), settingsOf({}, off("ask_user"))];
    expect(states.map(state)).toEqual([
      [true, "if_named"],
      [true, "if_named"],
      [false, "if_named"],
    ]);
  });

  test("can be disabled together with all other tools", () => {
    verifies("083/config/bare-disable-all-keeps-it", "083/config/disable-all-and-by-name");
    const tools = { mine: { source: "local", command: "true" } };
    const enabled = (...directives: readonly ToolDirective[]) =>
      [...settingsWith(tools, ...directives).values()]
        .filter(({ isEnabled }) => isEnabled)
        .map(({ name, allowToggle }) => [name, allowToggle]);
    expect(enabled(off())).toEqual([
      ["ask_user", "if_named"],
      ["tell_user", "if_named"],
      ["describe_tools", "never"],
    ]);
    const others = [
      ["tell_user", "if_named"],
      ["describe_tools", "never"],
    ];
    expect(enabled(off(), off("ask_user"))).toEqual(others);
  });

  test("keeps its toggle rule if disabled by `state`, and loses it if disabled by the shorthand", () => {
    verifies("083/config/disabled-by-state", "083/config/bool-shorthand-resets-the-rule");
    expect([
      state(settingsOf({ enable: { state: false } })),
      state(settingsOf({ enable: false })),
      state(settingsOf({ enable: true }, off())),
    ]).toEqual([
      [false, "if_named"],
      [false, "any"],
      [false, "any"],
    ]);
  });

  test("cannot be called when disabled", async () => {
    const response = await ask(SURE, { config: { enable: { state: false } } });
    expect([response.requests, response.result]).toEqual([
      [],
      [expect.stringContaining("Tool 'ask_user' is not available."), true],
    ]);
  });
});

describe("ask_user under another name", () => {
  const alias = { source: "builtin.ask_user" };

  test("works if the source names the builtin", async () => {
    verifies("083/config/lookup-by-config-key");
    const turn = await start({ tools: { ask: alias }, script: { answers: [{ answer: "x" }] } });
    const response = await turn.call("ask", { question: "Which?" });
    expect([response?.content, turn.recorded("inquiry_request")[0]?.source]).toEqual([
      '{"answer_type":"text","answer":"x"}',
      { source: "assistant" },
    ]);
  });

  test("is unavailable otherwise, and a call says so", async () => {
    verifies("083/config/lookup-by-config-key");
    const turn = await start({ tools: { ask: { source: "builtin", run: "unattended" } } });
    const response = await turn.call("ask", { question: "Which?" });
    expect([response?.content, response?.isError]).toEqual([
      "Tool 'ask' is currently unavailable: The tool ask uses the builtin ask, which does not exist.",
      true,
    ]);
  });

  test("is refused because its question is exclusive, not because of its name", async () => {
    verifies("083/answer-config/no-tool-name-in-routing");
    const turn = await start({ tools: { ask: alias }, isInteractive: false });
    const response = await turn.call("ask", { question: "Which?" });
    expect([response?.content, turn.inquiries.calls]).toEqual([
      NO_USER.replace("ask_user", "ask"),
      [],
    ]);
  });
});
