import { existsSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { DEFAULT_SYSTEM_PROMPT } from "../../src/settings/config/default-system-prompt.ts";
import type { JsonObject } from "../../src/util/index.ts";
import { verifies } from "../conformance/manifest.ts";
import { counters } from "../security/threats.ts";
import { NODE_COMPILE_CACHE, TEST_PROGRAM } from "../mcp/support.ts";
import { isAlive } from "../../src/util/is-alive.fixture.ts";
import { calling, isInquiry, outcomesIn, resultsIn } from "./calling-model.ts";
import { ModelServer, systemText } from "./model-server.ts";
import {
  entriesOf,
  query,
  queryProject,
  type QueryRecord,
  recordOf,
  type ScriptedTool,
  without,
} from "./query-project.ts";
import { lines } from "./support.ts";

/** The permission and delivery decisions. */
function decisionsIn(record: QueryRecord): readonly JsonObject[] {
  return entriesOf(record, "permission_decision").map((entry) =>
    without(entry, "type", "tool_call_id"),
  );
}

const GO_ON = { id: "q", text: "Go on?", answer_type: { type: "boolean" } } as const;

function asker(question: JsonObject, settings = ""): ScriptedTool {
  const program = "'got ' + JSON.stringify(tool.answers)";
  return {
    name: "asker",
    questions: [{ ...GO_ON, ...question }],
    program,
    settings: `run = "unattended"\n${settings}`,
  };
}

/** An expression that blocks until the result of another call is recorded. */
const WAIT_FOR_ANOTHER = `(() => {
  const { globSync, readFileSync } = require("node:fs");
  const [file] = globSync(".jp/conversations/*/events.json");
  while (!readFileSync(file, "utf8").includes("tool_call_response"));
  return "ok";
})()`;

describe("a tool", () => {
  test("runs without asking if it needs no permission, and the model gets its result", async () => {
    await using server = await calling(["greet"]);
    const project = queryProject({ server, tools: [{ name: "greet", program: "'hi\\nthere'" }] });
    const { status, stdout, stderr } = await query(project, ["one"]);
    expect([status, stdout, stderr.replace(/[\d.]+s$/m, "0.1s")]).toEqual([
      0,
      "I try.\nDone.\n",
      lines("✓ greet() 0.1s", "  │ hi", "  │ there"),
    ]);
    expect([resultsIn(server), decisionsIn(recordOf(project))]).toEqual([
      ["hi\nthere"],
      [
        {
          tool: "greet",
          decision: "approved",
          decided_by: { kind: "policy", key: "conversation.tools.greet.run" },
        },
      ],
    ]);
  });

  test("is denied by policy without a terminal if it needs permission", async () => {
    verifies("082/permission/is-not-an-inquiry");
    counters("T-RUN-4");
    await using server = await calling(["touch"]);
    const program = "require('node:fs').writeFileSync('made', '')";
    const project = queryProject({ server, tools: [{ name: "touch", program, settings: "" }] });
    const { status, stdout, stderr } = await query(project, ["one"]);
    const record = recordOf(project);
    expect(stderr).toContain(
      "warning: denied, because no terminal was available to ask you: touch (permission).\n",
    );
    expect({
      status,
      stdout,
      isRun: existsSync(path.join(project.root, "made")),
      results: resultsIn(server),
      decisions: decisionsIn(record),
      inquiries: entriesOf(record, "inquiry_request"),
    }).toEqual({
      status: 3,
      stdout: "I try.\nDone.\n",
      isRun: false,
      results: [
        "Tool 'touch' needs the user's permission to run, but this run is non-interactive. Do not " +
          "retry this tool call in this turn; continue without it or explain what is missing.",
      ],
      decisions: [
        {
          tool: "touch",
          decision: "denied",
          decided_by: { kind: "policy", key: "conversation.tools.touch.detached.run" },
          cause: "unavailable",
        },
      ],
      inquiries: [],
    });
  });

  test.each([
    ["of the tool", 'detached = { run = "auto" }', ""],
    ["of all tools", "", "[conversation.tools.'*']\ndetached = { run = \"auto\" }"],
  ])("runs without a terminal if the policy %s allows it", async (_, settings, config) => {
    await using server = await calling(["greet"]);
    const tools = [{ name: "greet", program: "'hi'", settings }];
    const project = queryProject({ server, tools, config });
    await query(project, ["one"]);
    expect([resultsIn(server), decisionsIn(recordOf(project))]).toEqual([
      ["hi"],
      [
        {
          tool: "greet",
          decision: "approved",
          decided_by: { kind: "policy", key: "conversation.tools.greet.detached.run" },
        },
      ],
    ]);
  });

  test.each([
    ["delivered", "", "hi", "approved"],
    [
      "withheld",
      'detached = { deliver = "deny" }',
      "Result delivery skipped by configuration.",
      "denied",
    ],
  ])(
    "has its result decided by policy without a terminal if it asks before delivery: %s",
    async (_, more, content, decision) => {
      await using server = await calling(["greet"]);
      const settings = `run = "unattended"\nresult = "ask"\n${more}`;
      const project = queryProject({
        server,
        tools: [{ name: "greet", program: "'hi'", settings }],
      });
      await query(project, ["one"]);
      expect([resultsIn(server), decisionsIn(recordOf(project)).at(-1)]).toEqual([
        [content],
        {
          tool: "greet",
          action: "deliver",
          decision,
          decided_by: { kind: "policy", key: "conversation.tools.greet.detached.deliver" },
          ...(decision === "denied" && { cause: "unavailable" }),
        },
      ]);
    },
  );

  test("is an error for the model if it fails, is unknown or gets invalid arguments", async () => {
    await using server = await ModelServer.start([
      {
        calls: [
          { name: "broken" },
          { name: "nothing" },
          { name: "broken", arguments: { surplus: 1 } },
        ],
      },
      "Done.",
    ]);
    const program = "(() => { throw new Error('no luck') })()";
    const project = queryProject({ server, tools: [{ name: "broken", program }] });
    const { status, stderr } = await query(project, ["one"]);
    expect([status, resultsIn(server)]).toEqual([
      0,
      [
        expect.stringContaining("no luck"),
        expect.stringContaining("Tool 'nothing' is not available."),
        expect.stringContaining("`surplus`"),
      ],
    ]);
    expect(stderr.match(/^✗ .*\(/gm)).toEqual(["✗ broken(", "✗ nothing(", "✗ broken("]);
  });

  test("keeps its place if it is slow: the model gets results in the order of the calls", async () => {
    await using server = await calling(["slow", "quick"]);
    const project = queryProject({
      server,
      tools: [
        { name: "slow", program: WAIT_FOR_ANOTHER },
        { name: "quick", program: "'quick'" },
      ],
    });
    await query(project, ["one"]);
    const ended = entriesOf(recordOf(project), "tool_call_response").map(({ id }) => id);
    expect([resultsIn(server), ended]).toEqual([
      ["ok", "quick"],
      ["call_1_2", "call_1_1"],
    ]);
  });
});

test("a tool of an MCP server is called like any other, and its server is stopped", async () => {
  await using server = await ModelServer.start([
    { calls: [{ name: "echo", arguments: { text: "from afar" } }, { name: "pid" }] },
    "Done.",
  ]);
  const project = queryProject({
    server,
    config: `
[providers.mcp.test]
type = "stdio"
command = "${process.execPath}"
arguments = ["${TEST_PROGRAM}"]
[conversation.tools]
echo = { source = "mcp.test", run = "unattended" }
pid = { source = "mcp.test", run = "unattended" }
`,
  });
  const { status } = await query(project, ["one"], { variables: { NODE_COMPILE_CACHE } });
  const [echo, pid] = resultsIn(server);
  expect([status, echo, Number(pid) > 0, isAlive(Number(pid))]).toEqual([
    0,
    "from afar",
    true,
    false,
  ]);
});

test("a conversation continues without the tools of a server that is no longer configured, and says so", async () => {
  await using server = await ModelServer.start(() => "Done.");
  const tool = '[conversation.tools.echo]\nsource = "mcp.test"\n';
  const known = `[providers.mcp.test]\ncommand = "${process.execPath}"\narguments = ["${TEST_PROGRAM}"]\n`;
  const project = queryProject({ server, config: `${known}${tool}` });
  const variables = { NODE_COMPILE_CACHE };
  await query(project, ["one"], { variables });
  queryProject({ server, project });
  const { status, stderr } = await query(project, ["two"], { variables });
  expect(status).toBe(0);
  expect(stderr).toContain(
    "the conversation's tools of the MCP server test are missing: echo. The server is not configured here.",
  );
  expect(server.requests.map((body) => JSON.stringify(body).includes('"name":"echo"'))).toEqual([
    true,
    false,
  ]);
  queryProject({ server, project, config: tool });
  expect(await query(project, ["three"], { variables })).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('Unknown MCP server "test".'),
  });
  queryProject({ server, project, config: known });
  expect(await query(project, ["four"], { variables })).toMatchObject({ status: 0 });
  expect(JSON.stringify(server.requests.at(-1))).toContain('"name":"echo"');
});

describe("a question without a terminal", () => {
  const NO_TERMINAL =
    "asker cannot run because no interactive terminal is available. Do not retry this tool call " +
    "in this turn; continue without user input or explain what information is missing.";
  const REFUSED = { outcome: "cancelled", answer: null, reason: "no_prompt_backend" };
  const BY_MODEL = { kind: "assistant", model: "llamacpp/scripted" };
  const BY_DEFAULT = { outcome: "answered", answer: false, answered_by: { kind: "default" } };

  test.each([
    {
      policy: "the default policy",
      isModelAsked: true,
      question: {},
      result: 'got {"q":true}',
      outcome: { outcome: "answered", answer: true, answered_by: BY_MODEL },
    },
    {
      policy: "defaults, with a default",
      settings: 'detached = "defaults"',
      question: { default: false },
      result: 'got {"q":false}',
      outcome: BY_DEFAULT,
    },
    {
      policy: "defaults, without a default",
      settings: 'detached = { tool = "defaults" }',
      question: {},
      result: NO_TERMINAL,
      outcome: REFUSED,
    },
    {
      policy: "deny",
      settings: 'detached = { tool = "deny" }',
      question: { default: true },
      result: NO_TERMINAL,
      outcome: REFUSED,
    },
    {
      policy: "an exclusive question",
      question: { exclusive: true, default: true },
      settings: 'detached = "defaults"',
      result: NO_TERMINAL,
      outcome: REFUSED,
    },
    {
      policy: "a secret",
      question: { answer_type: { type: "secret" } },
      result: NO_TERMINAL,
      outcome: REFUSED,
    },
  ])("is decided by policy: $policy", async ({ isModelAsked = false, ...row }) => {
    const { question, settings, result, outcome } = row;
    verifies("028/coordinator/nobody-there-goes-to-the-model");
    verifies("083/routing/user-target-nobody-not-exclusive", "082/secret/nobody-there-is-refused");
    verifies("083/exclusive/nobody-there-fails-the-call", "083/exclusive/nobody-there-error-text");
    verifies("083/exclusive/nobody-there-recorded", "082/secret/never-asked-of-the-model");
    await using server = await calling(["asker"], () => '{"answer":true}');
    const project = queryProject({ server, tools: [asker(question, settings)] });
    const { status } = await query(project, ["one"]);
    expect({
      status,
      results: resultsIn(server),
      outcomes: outcomesIn(recordOf(project)),
      isModelAsked: server.requests.some(isInquiry),
    }).toEqual({
      status: outcome === REFUSED ? 3 : 0,
      results: [result],
      outcomes: [outcome],
      isModelAsked,
    });
  });
});

test("a tool that asks under a new id each time is stopped by a limit", async () => {
  counters("T-RUN-5");
  await using server = await calling(["loop"], () => '{"answer":true}');
  const program = `(() => {
    const question = { id: "q" + Object.keys(tool.answers).length, text: "Go on?", answer_type: "Boolean" };
    return JSON.stringify({ type: "needs_input", question });
  })()`;
  const config = "conversation.limits.automatic_answers_per_call = 2";
  const project = queryProject({ server, config, tools: [{ name: "loop", program }] });
  const { status } = await query(project, ["one"]);
  expect([status, outcomesIn(recordOf(project)), resultsIn(server)]).toEqual([
    0,
    [
      expect.objectContaining({ outcome: "answered" }),
      expect.objectContaining({ outcome: "answered" }),
      expect.objectContaining({ outcome: "cancelled", reason: "attempts_exhausted" }),
    ],
    [expect.stringContaining("conversation.limits.automatic_answers_per_call is reached")],
  ]);
});

describe("the exit status without a terminal", () => {
  test.each([
    {
      what: "3 for several denials, in JSON too",
      tools: [
        { name: "touch", settings: "" },
        asker({ exclusive: true }),
        {
          name: "read",
          settings: 'run = "unattended"\nresult = "ask"\ndetached = { deliver = "deny" }',
        },
      ],
      status: 3,
      denied: ["touch (permission)", "asker (question)", "read (delivery)"],
    },
    {
      what: "0 for what the config always forbids, and for a delivered result",
      tools: [
        { name: "touch", settings: 'run = "skip"' },
        { name: "read", settings: 'run = "unattended"\nresult = "ask"' },
        { name: "kept", settings: 'run = "unattended"\nresult = "skip"' },
      ],
      status: 0,
      denied: [],
    },
  ])("says whether something was denied: $what", async ({ tools, status, denied }) => {
    counters("T-RUN-4");
    await using server = await calling(tools.map(({ name }) => name));
    const project = queryProject({ server, tools });
    const { stdout, stderr, ...end } = await query(project, ["one", "--format", "json"]);
    const named =
      /denied, because no terminal was available to ask you: (.*)\./
        .exec(stderr)?.[1]
        ?.split(", ") ?? [];
    expect([end.status, named.toSorted(), stdout.includes("Done.")]).toEqual([
      status,
      denied.toSorted(),
      true,
    ]);
  });
});

describe("a configured answer", () => {
  test("is used without asking, even for an exclusive question", async () => {
    verifies("082/record/configured-answer", "083/configured/allowed-for-exclusive");
    verifies("083/routing/configured-answer-first", "082/configured/given-on-the-next-attempt");
    await using server = await calling(["asker"]);
    const tool = asker(
      { exclusive: true },
      'questions.q = { answer = false, target = "assistant" }',
    );
    const project = queryProject({ server, tools: [tool] });
    const { stderr } = await query(project, ["one"]);
    const key = "conversation.tools.asker.questions.q.answer";
    expect([resultsIn(server), outcomesIn(recordOf(project)), server.requests.length]).toEqual([
      ['got {"q":false}'],
      [{ outcome: "answered", answer: false, answered_by: { kind: "config", key } }],
      2,
    ]);
    expect(stderr).toContain("  ? asker asks: Go on? → no (config: ");
  });

  test("fails the call if it does not fit, and the error names the setting", async () => {
    verifies("083/configured/misfit-fails-the-call", "083/configured/error-names-the-setting");
    verifies("083/configured/misfit-recorded", "083/configured/validated-before-use");
    await using server = await calling(["asker"]);
    const project = queryProject({ server, tools: [asker({}, 'questions.q.answer = "hunter2"')] });
    const { stderr } = await query(project, ["one"]);
    expect([resultsIn(server), outcomesIn(recordOf(project)), stderr.includes("hunter2")]).toEqual([
      [
        "asker: the configured conversation.tools.asker.questions.q.answer value does not match " +
          "the question's answer_type. Update the configuration; do not retry.",
      ],
      [{ outcome: "cancelled", answer: null, reason: "invalid_static_answer" }],
      false,
    ]);
  });

  test("is not repeated forever if the tool ignores it", async () => {
    await using server = await calling(["deaf"]);
    const question = { ...GO_ON, answer_type: { type: "text" } };
    const deaf = { type: "needs_input", question };
    const project = queryProject({
      server,
      tools: [
        {
          name: "deaf",
          program: `'${JSON.stringify(deaf)}'`,
          settings: 'run = "unattended"\nquestions.q.answer = "yes"',
        },
      ],
    });
    await query(project, ["one"]);
    expect([resultsIn(server), outcomesIn(recordOf(project)).at(-1)]).toEqual([
      [
        "The tool 'deaf' keeps asking the same question (\"Go on?\") although it was answered. " +
          "Do not retry this tool call in this turn.",
      ],
      { outcome: "cancelled", answer: null, reason: "attempts_exhausted" },
    ]);
  });
});

describe("the inquiry model", () => {
  const ASSISTANT = 'questions.q.target = "assistant"';

  test("gets the conversation, the question with its context, and a schema", async () => {
    verifies("028/inquiry/started-by-assistant-target", "028/goal/full-context");
    verifies("028/backend/question-appended-as-chat-request", "028/schema/boolean");
    verifies("028/schema/object-with-required-answer", "028/goal/shared-prefix");
    verifies("028/snapshot/paused-response-closes-the-call", "028/goal/arguments-sent-once");
    verifies(
      "028/inquiry/no-second-call-by-the-model",
      "028/snapshot/paused-response-never-stored",
    );
    verifies("005/visibility/inquiry-events-hidden", "005/record/model-exchange-stays-on-the-copy");
    verifies("028/inquiry/one-response-per-call", "028/goal/nothing-printed");
    verifies("083/routing/assistant-target-not-exclusive", "005/record/inside-the-tool-call");
    await using server = await calling(["asker"], () => '{"answer":true}');
    const project = queryProject({ server, tools: [asker({ context: "CONTEXT" }, ASSISTANT)] });
    const { stdout, stderr } = await query(project, ["Please."]);
    const [first, inquiry, last] = server.requests;
    expect([server.requests.map(isInquiry), stdout]).toEqual([
      [false, true, false],
      "I try.\nDone.\n",
    ]);
    const shared = { messages: first?.messages, response_format: undefined, tool_choice: "auto" };
    expect({ ...inquiry, ...shared }).toEqual(first);
    expect(JSON.stringify(inquiry?.["tools"])).toContain('"name":"asker"');
    expect(inquiry?.messages.slice(0, 2)).toEqual(first?.messages);
    expect(inquiry?.messages.slice(0, 3)).toEqual(last?.messages.slice(0, 3));
    expect(inquiry?.messages.slice(3)).toEqual([
      { role: "tool", tool_call_id: "call_1_1", content: "Tool paused: Go on?" },
      { role: "assistant", content: "(No reply.)" },
      { role: "user", content: expect.stringMatching(/CONTEXT[\s\S]*Go on\?[\s\S]*"answer"/) },
    ]);
    expect(inquiry?.["response_format"]).toMatchObject({
      json_schema: {
        schema: {
          type: "object",
          properties: { answer: { type: "boolean" } },
          required: ["reason", "answer"],
          additionalProperties: false,
        },
      },
    });
    expect(last?.messages.slice(3)).toEqual([
      { role: "tool", tool_call_id: "call_1_1", content: 'got {"q":true}' },
    ]);
    expect(JSON.stringify([first, last])).not.toMatch(/Go on|CONTEXT|paused|inquiry/);
    expect(stderr.match(/^ {2}\? .*$/gm)).toEqual([
      "  ? asker asks: Go on? → yes (assistant, via llamacpp/scripted)",
    ]);
    const { entries } = recordOf(project);
    expect(entries.slice(-8).map(({ type }) => type)).toEqual([
      "tool_call_request",
      "permission_decision",
      "attempt_start",
      "inquiry_request",
      "inquiry_response",
      "attempt_start",
      "tool_call_response",
      "chat_response",
    ]);
    expect(JSON.stringify(entries)).not.toContain("paused");
  });

  test("is the one named by the question or the inquiry config", async () => {
    await using server = await calling(["one", "two"], () => '{"answer":"x"}');
    const question = { ...GO_ON, answer_type: { type: "text" } };
    const target = 'questions.q.target = { model = { id = "llamacpp/of-question" } }';
    const project = queryProject({
      server,
      config: [
        "[conversation.inquiry.assistant]",
        'model = { id = "llamacpp/of-inquiries", parameters = { temperature = 0.25 } }',
        'system_prompt = "You decide."',
      ].join("\n"),
      tools: [
        { name: "one", questions: [question], settings: `run = "unattended"\n${target}` },
        { name: "two", questions: [question], settings: `run = "unattended"\n${ASSISTANT}` },
      ],
    });
    await query(project, ["one"]);
    const seen = server.requests.map((body) => ({
      model: body.model,
      system: systemText(body).replace(/\n\n<surroundings>[^]*/, ""),
      temperature: body["temperature"],
    }));
    const inquiry = { system: "You decide.", temperature: 0.25 };
    const main = { model: "scripted", system: DEFAULT_SYSTEM_PROMPT };
    expect(seen.toSorted((a, b) => (a.model < b.model ? -1 : 1))).toEqual([
      { ...inquiry, model: "of-inquiries" },
      { ...inquiry, model: "of-question" },
      { ...main, temperature: undefined },
      { ...main, temperature: undefined },
    ]);
    expect(
      outcomesIn(recordOf(project))
        .map(({ answered_by: by }) => JSON.stringify(by))
        .toSorted((one, other) => (one < other ? -1 : 1)),
    ).toEqual([
      '{"kind":"assistant","model":"llamacpp/of-inquiries"}',
      '{"kind":"assistant","model":"llamacpp/of-question"}',
    ]);
  });

  test("answers questions one by one, and the tool gets all answers so far", async () => {
    verifies("028/inquiry/answers-accumulate", "005/record/one-pair-per-question");
    verifies("028/schema/select", "028/schema/text", "082/id/three-segments");
    await using server = await calling(["asker"], ({ messages }) =>
      JSON.stringify(messages.at(-1)).includes("Which?") ? '{"answer":"b"}' : '{"answer":"why"}',
    );
    const questions = [
      { id: "first", text: "Which?", answer_type: { type: "select", options: ["a", "b"] } },
      { id: "second", text: "Why?", answer_type: { type: "text" } },
    ];
    const project = queryProject({ server, tools: [{ name: "asker", questions }] });
    await query(project, ["one"]);
    const schemas = server.requests.filter(isInquiry).map(({ response_format: form }) => form);
    expect([resultsIn(server), schemas]).toMatchObject([
      ['{"first":"b","second":"why"}'],
      [
        { json_schema: { schema: { properties: { answer: { enum: ["a", "b"] } } } } },
        { json_schema: { schema: { properties: { answer: { type: "string" } } } } },
      ],
    ]);
    expect(entriesOf(recordOf(project), "inquiry_request").map(({ id }) => id)).toEqual([
      "call_1_1.first.1",
      "call_1_1.second.1",
    ]);
  });

  test("fails the call after two corrections if it gives no valid answer", async () => {
    verifies("028/coordinator/failure-ends-the-call-with-an-error", "028/goal/answers-are-typed");
    verifies("082/cancel/unusable-answer-is-backend-error");
    await using server = await calling(["asker"], () => '{"answer":"maybe"}');
    const project = queryProject({ server, tools: [asker({}, ASSISTANT)] });
    const { status } = await query(project, ["one"]);
    expect([
      status,
      server.requests.filter(isInquiry).length,
      resultsIn(server),
      outcomesIn(recordOf(project)),
    ]).toEqual([
      0,
      3,
      [expect.stringMatching(/asked a follow-up question \("Go on\?"\).*failed to provide/)],
      [
        {
          outcome: "cancelled",
          answer: null,
          reason: "backend_error",
          problem: expect.stringContaining("does not match the question") as string,
        },
      ],
    ]);
  });

  test.each([
    ["an exclusive question", { exclusive: true }],
    ["a secret", { answer_type: { type: "secret" } }],
  ])("is never asked what is for a person, even if the config says so: %s", async (_, question) => {
    verifies("083/exclusive/assistant-target-fails-the-call");
    verifies("083/exclusive/assistant-target-error-text", "082/secret/assistant-target-is-refused");
    verifies("083/exclusive/assistant-target-recorded", "082/secret/guard-shared-with-exclusive");
    await using server = await calling(["asker"]);
    const project = queryProject({ server, tools: [asker(question, ASSISTANT)] });
    await query(project, ["one"]);
    expect([resultsIn(server), outcomesIn(recordOf(project)), server.requests.length]).toEqual([
      [
        "asker requires a human answer and cannot be routed to the assistant. Do not retry this " +
          "tool call in this turn.",
      ],
      [{ outcome: "cancelled", answer: null, reason: "assistant_routing_denied" }],
      2,
    ]);
  });
});
