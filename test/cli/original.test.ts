import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/util/index.ts";
import { counters } from "../security/threats.ts";
import { configProblems } from "../../src/settings/config/original-config.fixture.ts";
import { savedByOriginal } from "../../src/record/conversation/original-record.fixture.ts";
import { laidOut } from "../../src/stores/record-elements.fixture.ts";
import { ModelServer } from "./model-server.ts";
import { kindsOf, query, queryProject, recordOf, recordsOf, without } from "./query-project.ts";
import { jsonLines, type Project } from "./support.ts";

const question = { id: "q", text: "Go on?", answer_type: { type: "boolean" } };

/** Tools of every source, with keys that the Rust version does not know. */
const CONFIG = `
[conversation]
max_cycles = 7
[conversation.inquiry]
schema = "bound"
[conversation.tools.'*']
detached = { run = "deny" }
timeout_secs = 60
[conversation.tools.remote]
source = "mcp.nowhere.look"
enable = false
group = "web"
[conversation.tools.fs_read_file]
run = "unattended"
[style]
prompt = "plain"
[style.notification]
bell = false
`;

const ASKER = {
  name: "asker",
  questions: [question],
  settings: [
    'run = "unattended"',
    'group = "mine"',
    "timeout_secs = 9",
    'parameters.a = { type = "string", minLength = 1 }',
    'questions.q = { prompt_label = "Me", target = "user" }',
    'questions.r = { answer = "hunter2" }',
  ].join("\n"),
};

const CALL = { calls: [{ name: "asker", arguments: { a: "x" } }] };

describe("conversations for the Rust version", () => {
  test("the Rust version can open a new conversation, one continued with other settings, and forks of it", async () => {
    counters("T-COMPAT-1");
    await using server = await ModelServer.start(() => "Hello.");
    const project = queryProject({ server, config: CONFIG, tools: [ASKER] });
    await query(project, ["one"]);
    const { folder, id } = recordOf(project);
    expect(problemsIn(folder)).toEqual([]);
    const flags =
      '-m llamacpp/other -p temperature=0.5 -p reasoning=minimal -p stop_words:=["a"] -t fs -T asker ' +
      "--cfg conversation.tools.asker.timeout_secs=5 --cfg style.prompt=drawn " +
      "--cfg conversation.tools.asker.questions.q.target=assistant";
    await query(project, ["two", ...flags.split(" ")]);
    await query(project, [
      "three",
      "-p",
      "reasoning=high",
      "-p",
      'stop_words:=["b"]',
      "-t",
      "asker",
    ]);
    await project.jp("conversation", "fork", id);
    await project.jp("conversation", "fork", id, "--last", "1");
    const records = recordsOf(project);
    expect(records.map((record) => [record.entries.length > 0, problemsIn(record.folder)])).toEqual(
      records.map(() => [true, []]),
    );
    const kinds = records.map((record) => kindsOf(record).filter((kind) => /config/.test(kind)));
    expect([kinds.length, ...new Set(kinds.map((all) => all.join(" ")))]).toEqual([
      3,
      "jp_ts_config_delta config_delta jp_ts_config_delta config_delta jp_ts_config_delta",
    ]);
  });

  test("the Rust version can open questions of every outcome, except secret ones", async () => {
    counters("T-COMPAT-2");
    await using server = await ModelServer.start([CALL, "Done.", CALL, "Done."]);
    const project = queryProject({ server, config: CONFIG, tools: [ASKER] });
    const key = "conversation.tools.asker";
    await query(project, ["one", "--cfg", `${key}.questions.q.answer:=true`]);
    await query(project, ["two", "--cfg", `${key}.detached=deny`]);
    expect(problemsIn(recordOf(project).folder)).toEqual([]);
  });
});

test("a conversation that the Rust version saved keeps its questions and config", async () => {
  counters("T-COMPAT-2");
  await using server = await ModelServer.start([CALL, "Done.", CALL, "Done.", "Bye."]);
  const project = queryProject({ server, config: CONFIG, tools: [ASKER] });
  const key = "conversation.tools.asker";
  await query(project, ["one", "--cfg", `${key}.questions.q.answer:=true`]);
  await query(project, ["two", "--cfg", `${key}.detached=deny`]);
  const { folder, id } = recordOf(project);
  const before = await toldOf(project, id);
  const file = path.join(folder, "events.json");
  writeFileSync(file, laidOut(savedByOriginal(elementsIn(folder))));
  const after = await toldOf(project, id);
  // Where a tool came from is not mirrored in the metadata.
  const kept = before.inquiries.map((inquiry) => without(inquiry, "origin", "folder"));
  expect(after).toEqual({ ...before, inquiries: kept });
  expect(before.inquiries).toMatchObject([
    { outcome: "answered", tool_call_id: "call_1_1", question_id: "q" },
    { outcome: "cancelled", reason: "no_prompt_backend" },
  ]);
});

test("an answer in a conversation that the Rust version has saved meanwhile says how the turn continues", async () => {
  counters("T-COMPAT-2");
  await using server = await ModelServer.start([{ calls: [{ name: "asker" }] }, "Done."]);
  const settings = 'run = "unattended"';
  const project = queryProject({
    server,
    tools: [{ name: "asker", questions: [question], settings }],
  });
  await query(project, ["one", "--defer"]);
  const { folder, id } = recordOf(project);
  const saved = laidOut(savedByOriginal(elementsIn(folder)));
  writeFileSync(path.join(folder, "events.json"), saved);
  const answered = await project.jp("inquiry", "answer", "call_1_1.q.1", "yes");
  expect(answered).toMatchObject({
    status: 0,
    stderr: expect.stringContaining(
      `It continues only once you agree on a terminal: jp query --continue-turn --id ${id}`,
    ),
  });
});

test("a conversation that the Rust version started records only the differences when it continues", async () => {
  counters("T-COMPAT-1");
  await using server = await ModelServer.start(() => "Hello.");
  const project = queryProject({ server });
  const config = {
    assistant: {
      name: "JP",
      system_prompt: "You are a helpful assistant.",
      instructions: { value: [], strategy: "replace", discard_when_merged: false },
      model: {
        id: { provider: "llamacpp", name: "scripted" },
        parameters: { reasoning: { effort: "auto", exclude: false } },
      },
      request: { max_retries: 5, base_backoff_ms: 10, cache: true },
    },
    conversation: {
      tools: {
        "*": {
          run: "ask",
          result: "unattended",
          style: { inline_results: { truncate: { lines: 10 } } },
        },
        describe_tools: { source: "builtin", enable: { state: true, allow_toggle: "never" } },
      },
    },
  };
  const placed = project.place({ second: 10, config });
  project.activate(placed);
  await query(project, ["one"]);
  expect([kindsOf(recordOf(project)), recordOf(project).baseConfig]).toEqual([
    ["turn_start", "chat_request", "chat_response"],
    config,
  ]);
  await query(project, ["two", "--cfg", "user.name=Ada", "--cfg", "conversation.max_cycles=3"]);
  const { entries } = recordOf(project);
  expect(entries.filter(({ delta }) => delta !== undefined)).toEqual([
    { type: "config_delta", delta: { user: { name: "Ada" } } },
    { type: "jp_ts_config_delta", delta: { conversation: { max_cycles: 3 } } },
  ]);
});

test("an older conversation with keys that the Rust version rejects still opens here", async () => {
  await using server = await ModelServer.start(() => "Hello.");
  const project = queryProject({ server });
  const greet = { source: "local", command: { program: "true" }, group: "g", timeout_secs: 3 };
  const placed = project.place({
    second: 10,
    config: {
      assistant: {
        model: { id: { provider: "llamacpp", name: "scripted" } },
        request: { base_backoff_ms: 10 },
      },
      conversation: { max_cycles: 9, tools: { greet } },
    },
    events: [
      {
        timestamp: "2026-01-02 03:04:05.0",
        type: "config_delta",
        delta: { conversation: { tools: { greet: { detached: { run: "deny" } } } } },
      },
    ],
  });
  project.activate(placed);
  await query(project, ["one"]);
  const shown = await project.jp(
    "config",
    "get",
    "--id",
    placed.id,
    "conversation.tools.greet.timeout_secs",
  );
  expect([shown.stdout, kindsOf(recordOf(project))]).toEqual([
    "3\n",
    ["config_delta", "turn_start", "chat_request", "chat_response"],
  ]);
});

function elementsIn(folder: string): readonly JsonObject[] {
  return JSON.parse(readFileSync(path.join(folder, "events.json"), "utf8")) as JsonObject[];
}

/** Why the Rust version would not open it; empty if it would. */
function problemsIn(folder: string): readonly string[] {
  const base = readFileSync(path.join(folder, "base_config.json"), "utf8");
  const elements = elementsIn(folder);
  savedByOriginal(elements);
  return configProblems(JSON.parse(base) as JsonObject, elements);
}

async function toldOf(project: Project, id: string) {
  const inquiries = await project.jp("inquiry", "ls", "--conversation", id, "--format", "json");
  const config = await project.jp("config", "show", "--id", id);
  return { inquiries: jsonLines(inquiries) as JsonObject[], config };
}
