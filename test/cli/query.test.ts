import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../../src/util/index.ts";
import { snapshotOf } from "../../src/storage/temporary-workspace.fixture.ts";
import { ModelServer } from "./model-server.ts";
import {
  entriesOf,
  holdConversation,
  kindsOf,
  query,
  queryProject,
  recordOf,
  recordsOf,
  without,
} from "./query-project.ts";
import { jsonLines, printed, type Project } from "./support.ts";

const ECHO = () => "Yes.";

/** Everything that a command could have written. */
function everythingIn({ root, data, home, temporary }: Project) {
  return { files: snapshotOf(root, data, home), temporary: readdirSync(temporary) };
}

describe("what is asked", () => {
  test.each([
    { from: "words", words: ["How", "are you?"], asked: "How are you?" },
    { from: "a file", words: ["@notes.md"], asked: "# From\n\na file" },
    { from: "what is piped in", words: [], input: "  piped\n", asked: "  piped" },
    { from: "both", words: ["Why?"], input: "a log\nof it\n", asked: "Why?\n\na log\nof it" },
    { from: "a file and a pipe", words: ["@notes.md"], input: "x", asked: "# From\n\na file\n\nx" },
    { from: "words with a sign", words: ["@ada", "hello"], asked: "@ada hello" },
    { from: "a sign alone", words: ["@@ada"], asked: "@@ada" },
  ])("comes from $from", async ({ words, input, asked }) => {
    await using server = await ModelServer.start(ECHO);
    const project = queryProject({ server, files: { "notes.md": "# From\n\na file\n" } });
    const { status } = await query(project, words, { input: input ?? "" });
    const [said] = entriesOf(recordOf(project), "chat_request");
    expect([status, server.lastMessages, said]).toEqual([
      0,
      [asked],
      { type: "chat_request", content: asked },
    ]);
  });

  test("is written in the editor with -e, which begins with what there is", async () => {
    await using server = await ModelServer.start(ECHO);
    const project = queryProject({ server });
    const variables = project.editor('printf "\\nand more\\n" >> "$1"');
    const { status } = await query(project, ["words", "-e"], { variables });
    expect([status, server.lastMessages]).toEqual([0, ["words\nand more"]]);
  });

  test.each([
    { how: "nothing is said", words: [], input: "" },
    { how: "only space is piped in", words: [], input: " \n\n" },
    { how: "the editor is left empty", words: ["-e"], input: "", script: ': > "$1"' },
    { how: "the words are space", words: [" ", ""], input: "" },
  ])("is nothing if $how: then nothing is written", async ({ words, input, script = "exit 9" }) => {
    await using server = await ModelServer.start(ECHO);
    const project = queryProject({ server });
    const variables = project.editor(script);
    const before = everythingIn(project);
    const finished = await query(project, words, { input, variables });
    expect(finished).toEqual({
      status: 0,
      stdout: "",
      stderr: "The message is empty: nothing to ask.\n",
    });
    expect([server.requests, everythingIn(project)]).toEqual([[], before]);
  });

  test("is told the author's name, if the config has one", async () => {
    await using server = await ModelServer.start(ECHO);
    const project = queryProject({ server, config: 'user.name = "Ada"' });
    await query(project, ["hi"]);
    expect(entriesOf(recordOf(project), "chat_request")).toEqual([
      { type: "chat_request", content: "hi", author: "Ada" },
    ]);
  });
});

/** What the model got to see, without what it is told first. */
function dialogues(server: ModelServer): readonly Json[] {
  return server.requests.map(({ messages }) =>
    messages.slice(1).map(({ content = null }) => content),
  );
}

describe("the conversation", () => {
  test("goes on in this terminal until -n, and --id goes back", async () => {
    await using server = await ModelServer.start(["A.", "B.", "C.", "D."]);
    const project = queryProject({ server });
    await query(project, ["one"]);
    await query(project, ["two"]);
    await query(project, ["-n", "three"]);
    const [first] = recordsOf(project);
    await query(project, ["--id", first?.id ?? "", "four"]);
    expect(dialogues(server)).toEqual([
      ["one"],
      ["one", "A.", "two"],
      ["three"],
      ["one", "A.", "two", "B.", "four"],
    ]);
    expect(recordsOf(project).map(({ title }) => title)).toEqual(["one", "three"]);
  });

  test("is another in another terminal", async () => {
    await using server = await ModelServer.start(["A.", "B."]);
    const project = queryProject({ server });
    await query(project, ["one"]);
    await query(project, ["two"], { variables: { JP_SESSION: "another" } });
    expect(dialogues(server)).toEqual([["one"], ["two"]]);
  });

  test.each([
    ["was removed", (folder: string) => rmSync(folder, { recursive: true })],
    ["is in the archive", moveToArchive],
  ])("is a new one if the active one %s", async (_, takeAway) => {
    await using server = await ModelServer.start(["A.", "B."]);
    const project = queryProject({ server });
    await query(project, ["one"]);
    takeAway(recordOf(project).folder);
    const { status } = await query(project, ["two"]);
    expect([status, dialogues(server)]).toEqual([0, [["one"], ["two"]]]);
  });

  test("is named by the first line of what is asked, or as the user says", async () => {
    await using server = await ModelServer.start(ECHO);
    const project = queryProject({ server });
    await query(project, ["-n"], { input: "A question\nin two lines" });
    await query(project, ["-n", "long ".repeat(20)]);
    await query(project, ["-n", "hi", "--title", "Mine"]);
    expect(recordsOf(project).map(({ title }) => title)).toEqual([
      "A question …",
      "long long long long long long long long long long long long…",
      "Mine",
    ]);
  });

  test("is the user's own with --local", async () => {
    await using server = await ModelServer.start(ECHO);
    const project = queryProject({ server });
    await query(project, ["hi", "--local"]);
    expect(path.dirname(recordOf(project).folder)).toBe(
      path.join(project.userFolder, "conversations"),
    );
  });

  test("leaves no byte with --no-persist, and is known all the same", async () => {
    await using server = await ModelServer.start(["A.", "B.", "C."]);
    const project = queryProject({ server });
    await query(project, ["one"]);
    const before = everythingIn(project);
    const first = await query(project, ["two", "--no-persist"]);
    const second = await query(project, ["-n", "three", "--no-persist"]);
    expect([first, second]).toEqual([printed("B.\n"), printed("C.\n")]);
    expect(dialogues(server)).toEqual([["one"], ["one", "A.", "two"], ["three"]]);
    expect(everythingIn(project)).toEqual(before);
  });

  test("has an id only when it has begun", async () => {
    const project = queryProject({});
    const both = await query(project, ["-n", "--id", "jp-c17000000000", "hi"]);
    const unknown = await query(project, ["--id", "jp-c17000000000", "hi"]);
    expect([both.status, unknown.status, recordsOf(project)]).toEqual([2, 1, []]);
    expect([both.stderr, unknown.stderr]).toEqual([
      "jp: -n and --id cannot be used together: a new conversation has no id yet.\n",
      expect.stringMatching(/^jp: .*jp-c17000000000/),
    ]);
  });

  describe("that another process writes to", () => {
    test("is waited for", async () => {
      await using server = await ModelServer.start(["A.", "B."]);
      const project = queryProject({ server });
      await query(project, ["one"]);
      const holder = await holdConversation(project);
      const onNotice = () => holder.tell("release");
      const { status, stdout, stderr } = await query(project, ["two"], { onNotice });
      expect([status, stdout]).toEqual([0, "B.\n"]);
      expect(stderr).toMatch(new RegExp(`${holder.pid}.* Waiting for it to be released…\n$`));
    });

    test("is an error that names the process, when the time is over", async () => {
      await using server = await ModelServer.start(["A.", "B."]);
      const config = "style.lock_wait.timeout_secs = 0";
      const project = queryProject({ server, config });
      await query(project, ["one"]);
      const holder = await holdConversation(project);
      const { status, stderr } = await query(project, ["two"]);
      expect([status, server.requests.length]).toEqual([1, 1]);
      expect(stderr).toMatch(new RegExp(`^jp: .*${holder.pid}`));
    });
  });
});

function moveToArchive(folder: string): void {
  const archive = path.join(path.dirname(folder), ".archive");
  mkdirSync(archive);
  renameSync(folder, path.join(archive, path.basename(folder)));
}

function seen({ model, temperature, tools = [] }: JsonObject): JsonObject {
  const named = (tools as readonly { function: { name: string } }[]).map(
    ({ function: { name } }) => name,
  );
  return { model: model ?? "", tools: named, ...(temperature !== undefined && { temperature }) };
}

describe("what the command line says of the config", () => {
  const TOOLS = [{ name: "greet", program: "'hi'", settings: 'enable = "off"' }];

  test("holds for the turns that follow, and is on record once, as what differs", async () => {
    await using server = await ModelServer.start(ECHO);
    const project = queryProject({ server, tools: TOOLS });
    const flags = ["-m", "llamacpp/other", "-p", "temperature=0.5", "-t", "greet"];
    await query(project, ["one"]);
    await query(project, ["two", ...flags]);
    await query(project, ["three", ...flags]);
    await query(project, ["four"]);
    await query(project, ["five", "-T", "greet", "--cfg", "user.name=Ada"]);
    expect(server.requests.map((body) => seen(body as JsonObject))).toEqual([
      { model: "scripted", tools: ["ask_user", "describe_tools"] },
      { model: "other", tools: ["ask_user", "describe_tools", "greet"], temperature: 0.5 },
      { model: "other", tools: ["ask_user", "describe_tools", "greet"], temperature: 0.5 },
      { model: "other", tools: ["ask_user", "describe_tools", "greet"], temperature: 0.5 },
      { model: "other", tools: ["ask_user", "describe_tools"], temperature: 0.5 },
    ]);
    const record = recordOf(project);
    const model = { id: { provider: "llamacpp", name: "other" }, parameters: { temperature: 0.5 } };
    const on = { state: true, allow_toggle: "any" };
    expect(entriesOf(record, "config_delta")).toEqual([
      {
        type: "config_delta",
        delta: {
          assistant: { model },
          conversation: { tools: { greet: { source: "local", enable: on } } },
        },
      },
      {
        type: "config_delta",
        delta: {
          conversation: {
            tools: { greet: { source: "local", enable: { ...on, state: false } } },
          },
          user: { name: "Ada" },
        },
      },
    ]);
    const turns = kindsOf(record).filter((kind) => kind !== "chat_response");
    expect(turns.join(" ")).toBe(
      "turn_start chat_request config_delta turn_start chat_request turn_start chat_request " +
        "turn_start chat_request config_delta turn_start chat_request",
    );
  });

  test("is never on record where it is an answer", async () => {
    await using server = await ModelServer.start(ECHO);
    const project = queryProject({
      server,
      tools: [{ name: "greet", settings: 'questions.q.answer = "hunter1"' }],
    });
    const key = "conversation.tools.greet.questions.q";
    await query(project, ["one"]);
    await query(project, ["two", "--cfg", `${key}.answer=hunter2`, "-c", `${key}.prompt_label=Me`]);
    const { folder, entries } = recordOf(project);
    const files = ["base_config.json", "events.json", "metadata.json"];
    const written = files.map((name) => readFileSync(path.join(folder, name), "utf8")).join("");
    expect([
      written.includes("hunter"),
      entries.find(({ type }) => type === "jp_ts_config_delta"),
    ]).toEqual([
      false,
      {
        type: "jp_ts_config_delta",
        delta: {
          conversation: { tools: { greet: { questions: { q: { prompt_label: "Me" } } } } },
        },
      },
    ]);
  });
});

describe("the answer", () => {
  test("is printed where it is piped exactly as it was sent", async () => {
    const text = "# Not *rendered*\n\n\u001b[31mred\u001b[0m\t`x`\r\n😀\u0000 end";
    await using server = await ModelServer.start([{ text, reasoning: "Hm." }, `${text}\n\n`]);
    const project = queryProject({ server });
    const variables = { TERM: "xterm-256color" };
    const first = await query(project, ["one"], { variables });
    const second = await query(project, ["two"], { variables });
    expect([first, second]).toEqual([
      { status: 0, stdout: `${text}\n`, stderr: "Hm.\n" },
      printed(`${text}\n\n`),
    ]);
  });

  test("stands without thoughts if they are not wanted", async () => {
    await using server = await ModelServer.start(() => ({ text: "A.", reasoning: "Hm." }));
    const project = queryProject({ server });
    const hidden = await query(project, ["one", "--hide-reasoning"]);
    const config = await query(project, ["two", "-c", "style.reasoning.display=hidden"]);
    expect([hidden, config]).toEqual([printed("A.\n"), printed("A.\n")]);
    expect(entriesOf(recordOf(project), "chat_response")[0]).toEqual({
      type: "chat_response",
      reasoning: "Hm.",
    });
  });

  test("costs what is told with -v, all requests together", async () => {
    const usage = {
      prompt_tokens: 1200,
      completion_tokens: 30,
      total_tokens: 1230,
      prompt_tokens_details: { cached_tokens: 1000 },
    };
    await using server = await ModelServer.start([
      { calls: [{ name: "greet" }], usage },
      { text: "A.", usage },
    ]);
    const project = queryProject({ server, tools: [{ name: "greet", program: "'hi'" }] });
    const { stdout, stderr } = await query(project, ["one", "-v"]);
    expect([stdout, stderr.split("\n").at(-2)]).toEqual([
      "A.\n",
      "Tokens: 2,400 in (2,000 cached), 60 out",
    ]);
  });

  test("is one event a line with --format json, as they are on record", async () => {
    await using server = await ModelServer.start([
      { text: "I ask.", reasoning: "Hm.", calls: [{ name: "asker", arguments: { a: "ü" } }] },
      "Done.",
    ]);
    const project = queryProject({
      server,
      tools: [
        {
          name: "asker",
          questions: [{ id: "q", text: "Go on?", answer_type: { type: "boolean" } }],
          settings: [
            'run = "unattended"',
            'parameters.a = { type = "string" }',
            "questions.q.answer = true",
          ].join("\n"),
        },
      ],
    });
    const finished = await query(project, ["one", "--format", "json"]);
    const printedEvents = jsonLines(finished) as JsonObject[];
    const events = printedEvents.map((event) => without(event, "timestamp"));
    const record = recordOf(project);
    expect([finished.status, finished.stderr, events]).toEqual([0, "", record.entries]);
    expect(kindsOf(record)).toEqual([
      "turn_start",
      "chat_request",
      "chat_response",
      "chat_response",
      "tool_call_request",
      "permission_decision",
      "inquiry_request",
      "inquiry_response",
      "tool_call_response",
      "chat_response",
    ]);
    const stored = readFileSync(path.join(record.folder, "events.json"), "utf8");
    expect(printedEvents.map(({ timestamp }) => timestamp)).toEqual(
      (JSON.parse(stored) as JsonObject[]).map(({ timestamp }) => timestamp),
    );
  });
});
