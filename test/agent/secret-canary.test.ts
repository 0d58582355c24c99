/**
 * Follows a secret through the whole program: typed by a person or configured, requested by a builtin tool
 * or by a process. Searches for it everywhere it must not be.
 */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test, onTestFinished } from "vitest";
import type { TurnUpdate } from "../../src/core/agent/index.ts";
import { createLocalExecutor } from "../../src/reach/executor/index.ts";
import type { InquiryCall } from "../../src/core/answer-model/index.ts";
import {
  booleanQuestion,
  defineTool,
  secretQuestion,
  textQuestion,
} from "../../src/record/tool/index.ts";
import type { Json, JsonObject } from "../../src/util/index.ts";
import { verifies } from "../conformance/manifest.ts";
import { toolCall } from "../../src/record/conversation/events.fixture.ts";
import { losing, WRITE_FAILED } from "../../src/core/agent/turn-tools.fixture.ts";
import { questioner } from "../../src/core/agent/questioner.fixture.ts";
import { failureOf } from "../../src/stores/record-elements.fixture.ts";
import {
  type TemporaryWorkspace,
  temporaryWorkspace,
} from "../../src/stores/temporary-workspace.fixture.ts";
import {
  type NamedExecutor,
  settingsOf,
  ToolTurn,
} from "../../src/core/agent/tool-turn.fixture.ts";
import { counters } from "../security/threats.ts";

const CANARY = "canary-7f3b9c-do-not-sing";

/** The secret, plain and in the encodings in which it could appear. */
const FORMS = [CANARY, Buffer.from(CANARY).toString("base64"), encodeURIComponent(CANARY)];

/** Returns only the length of the secret. */
const builtin = defineTool({
  name: "login",
  description: "",
  parameters: { type: "object" },
  run: async (_args, { ask, progress }) => {
    progress("logging in");
    const key = await ask(secretQuestion("key", "Key?", { context: "for the server" }));
    return { length: key.length };
  },
});

/** The same as a process, which also checks what the system shows to other processes. */
const PROGRAM = `
  const { readFileSync } = require("node:fs");
  const document = readFileSync(0, "utf8");
  const { tool } = JSON.parse(document);
  const print = (value) => console.log(JSON.stringify(value));
  console.error("process " + process.pid);
  const key = tool.answers.key;
  if (key === undefined) {
    const question = { id: "key", text: "Key?", answer_type: { type: "secret" } };
    print({ type: "needs_input", question });
  } else {
    const look = (name) => readFileSync("/proc/" + process.pid + "/" + name, "utf8").includes(key);
    const parent = readFileSync("/proc/" + process.ppid + "/environ", "utf8").includes(key);
    print({ type: "success", content: JSON.stringify({
      length: key.length,
      inInput: document.includes(key),
      inCommandLine: look("cmdline") || process.argv.join(" ").includes(key),
      inEnvironment: look("environ") || JSON.stringify(process.env).includes(key) || parent,
    }) });
  }
`;

const PROCESS_ARGUMENTS = ["-e", PROGRAM, "{{tool}}", "{{tool.answers|tojson}}", "{{context}}"];

/** Takes the secret as an argument. */
const LEAKY_ARGUMENTS = [
  "-c",
  `echo '{"type":"needs_input","question":{"id":"key","text":"Key?","answer_type":{"type":"secret"}}}'`,
  "sh",
  "{{tool.answers.key}}",
];

const BUILTIN_RESULT = { length: CANARY.length };
const LOCAL_RESULT = {
  length: CANARY.length,
  inInput: true,
  inCommandLine: false,
  inEnvironment: false,
};

/** Asks a model, so that a model sees the conversation after the secret is known. */
const inquiring = questioner("inquiring", booleanQuestion("q", "Was there a secret?"));

/** The same question, but not secret. */
const plain = questioner("plain", textQuestion("key", "Key?"));

interface Scene {
  readonly workspace: TemporaryWorkspace;
  readonly turn: ToolTurn;
  readonly updates: readonly TurnUpdate[];
}

async function setScene(config: JsonObject, answer: Json): Promise<Scene> {
  const workspace = temporaryWorkspace();
  const conversation = await workspace.conversations.create({});
  onTestFinished(() => conversation.release());
  const updates: TurnUpdate[] = [];
  const turn = await ToolTurn.start({
    tools: [
      builtin,
      localTool(workspace, "process", { program: process.execPath, args: PROCESS_ARGUMENTS }),
      localTool(workspace, "leaky", { program: "sh", args: LEAKY_ARGUMENTS }),
      plain,
      inquiring,
    ],
    config: {
      login: config,
      process: config,
      inquiring: { questions: { q: { target: "assistant" } } },
    },
    script: { answers: () => ({ answer, isRemembered: true }) },
    answers: () => ({ type: "answered", answer: true, model: "test/model" }),
    conversation,
    parts: { observer: { observe: (update) => updates.push(structuredClone(update)) } },
  });
  return { workspace, turn, updates };
}

function localTool(
  { root }: TemporaryWorkspace,
  name: string,
  command: { readonly program: string; readonly args: readonly string[] },
): NamedExecutor {
  const settings = settingsOf(name, { source: "local", command });
  const place = { workspaceRoot: root, workspaceId: "abc12", conversationId: "jp-c1" };
  return { name, executor: createLocalExecutor(settings, { ...place, variables: process.env }) };
}

/** The places where the secret was found. */
function placesWithSecret({ workspace, turn, updates }: Scene): readonly string[] {
  const places: readonly (readonly [string, string])[] = [
    ...filesBelow(path.dirname(workspace.root)).map((file): [string, string] => [
      file,
      readFileSync(file, "latin1"),
    ]),
    ...turn.inquiries.calls.map((call): [string, string] => ["an inquiry", textOf(call)]),
    ...updates.map((update): [string, string] => ["an update", JSON.stringify(update)]),
    [
      "the record in memory",
      JSON.stringify(turn.conversation.stream.entries.map(({ raw }) => raw)),
    ],
    ["the prompts", JSON.stringify(turn.prompter.questions)],
    ["our own arguments", process.argv.join(" ")],
    ["our own environment", JSON.stringify(process.env)],
  ];
  return places
    .filter(([, text]) => FORMS.some((form) => text.includes(form)))
    .map(([place]) => place);
}

/** Everything that a model could see in an inquiry. */
function textOf({ stream, ...call }: InquiryCall): string {
  return JSON.stringify([call, stream.baseConfig, stream.entries.map(({ raw }) => raw)]);
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
}

const calls = [toolCall("a", "login"), toolCall("b", "process"), toolCall("c", "inquiring")];

describe.each<[string, JsonObject, string, object]>([
  ["typed by a person", {}, CANARY, { kind: "user", channel: "scripted", auth: "program" }],
  [
    "from the config",
    { questions: { key: { answer: CANARY, prompt_label: "The vault" } } },
    "not asked for",
    { kind: "config" },
  ],
])("a secret (%s)", (_, config, answer, answeredBy) => {
  test("reaches the tool on its standard input, and appears nowhere else", async () => {
    counters("T-SEC-1");
    verifies(
      "082/secret/prompt-answer-redacted",
      "082/secret/configured-answer-redacted",
      "082/secret/every-answered-path-redacts",
      "082/secret/value-nowhere-in-the-record",
      "082/secret/prompter-double-answers-normally",
      "082/configured/local-tool-reads-answers-from-context",
      "082/secret/never-asked-of-the-model",
    );
    const scene = await setScene(config, answer);
    const responses = await scene.turn.run(...calls);
    const later = await scene.turn.run(toolCall("d", "inquiring"));
    expect([...responses, ...later].map(({ content }) => JSON.parse(content) as Json)).toEqual([
      BUILTIN_RESULT,
      LOCAL_RESULT,
      [true],
      [true],
    ]);
    const secrets = scene.turn.recorded("inquiry_response").filter(({ id }) => id.includes("key"));
    expect(secrets).toMatchObject([
      { outcome: "redacted", answeredBy },
      { outcome: "redacted", answeredBy },
    ]);
    expect(scene.turn.inquiries.calls.map(({ inquiryId }) => inquiryId)).toEqual([
      "c.q.1",
      "d.q.1",
    ]);
    expect(placesWithSecret(scene)).toEqual([]);
    await scene.turn.conversation.release();
    expect(placesWithSecret(scene)).toEqual([]);
  });

  test("is requested again by every call, in the same turn and in the next", async () => {
    verifies("082/secret/not-remembered", "082/secret/remembered-answer-not-used");
    const scene = await setScene(config, answer);
    await scene.turn.run(toolCall("a", "login"), toolCall("b", "login"));
    await scene.turn.nextTurn();
    await scene.turn.run(toolCall("a", "login"));
    const kinds = scene.turn.recorded("inquiry_response").map(({ outcome }) => outcome);
    expect(kinds).toEqual(["redacted", "redacted", "redacted"]);
    const { state } = scene.turn.parts;
    const requests = scene.turn.recorded("inquiry_request");
    expect(requests.flatMap((request) => state.find("login", request) ?? [])).toEqual([]);
    expect(placesWithSecret(scene)).toEqual([]);
  });
});

describe("a failed secret", () => {
  test.each<[string, JsonObject, Json]>([
    ["has the wrong type in the config", { questions: { key: { answer: [CANARY] } } }, ""],
    ["has the wrong type at the prompt", {}, { value: CANARY }],
    [
      "is configured for a tool whose questions go to a model",
      { questions: { key: { answer: { [CANARY]: 1 }, target: "assistant" } } },
      "",
    ],
  ])("is not in the error, wherever it fails: it %s", async (_, config, answer) => {
    const scene = await setScene(config, answer);
    const responses = await scene.turn.run(...calls);
    expect(responses.map(({ isError }) => isError)).toEqual([true, true, false]);
    expect(JSON.stringify(responses)).not.toContain(CANARY);
    expect(placesWithSecret(scene)).toEqual([]);
  });

  test("is not in the error if the tool expects it on its command line", async () => {
    counters("T-SEC-9");
    const scene = await setScene({}, CANARY);
    const [response] = await scene.turn.run(toolCall("a", "leaky"));
    expect(response?.isError).toBe(true);
    expect(response?.content).toContain('the answer to "key" is a secret');
    expect(placesWithSecret(scene)).toEqual([]);
  });

  test("is not in the error if its record cannot be written", async () => {
    const scene = await setScene({}, CANARY);
    const { parts } = scene.turn;
    const journal = losing(parts.journal, ({ type }) => type === "inquiry_response");
    scene.turn.parts = { ...parts, journal };
    const error = await failureOf(scene.turn.run(toolCall("a", "login"), toolCall("b", "process")));
    expect(error).toEqual(WRITE_FAILED);
    expect(placesWithSecret(scene)).toEqual([]);
  });
});

test("the search works: it finds a text that is not secret, in the record and in the inquiry", async () => {
  const scene = await setScene({}, CANARY);
  await scene.turn.run(toolCall("a", "plain"));
  await scene.turn.run(toolCall("b", "inquiring"));
  const marker = scene.turn.conversation.id;
  expect(new Set(placesWithSecret(scene).map((place) => path.basename(place)))).toEqual(
    new Set(["events.json", marker, "an inquiry", "an update", "the record in memory"]),
  );
});
