import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../../src/util/index.ts";
import { snapshotOf } from "../../src/stores/temporary-workspace.fixture.ts";
import { CaptureServer } from "../provider/capture-server.ts";
import { WIRE } from "../provider/wire.ts";
import { calling, resultsIn } from "./calling-model.ts";
import { ModelServer } from "./model-server.ts";
import {
  entriesOf,
  holdConversation,
  kindsOf,
  query,
  queryProject,
  recordOf,
  SUBJECT,
  recordsOf,
  without,
} from "./query-project.ts";
import { runCommand } from "../support/command-host.ts";
import { jsonLines, lines, printed, type Project } from "./support.ts";

const ECHO = () => "Yes.";

/** Every file that a command could have written. */
function everythingIn({ root, data, home, temporary }: Project) {
  return { files: snapshotOf(root, data, home), temporary: readdirSync(temporary) };
}

test("a query in a workspace that was moved is answered, and says whose sessions it does not use", async () => {
  await using server = await ModelServer.start(ECHO);
  const project = queryProject({ server });
  const variables = { ...project.variables, JP_SESSION: "x" };
  const ask = (cwd: string) => runCommand(["query", "Hi."], { cwd, variables });
  await ask(project.root);
  const moved = `${project.root}-moved`;
  renameSync(project.root, moved);
  const { status, stderr } = await ask(moved);
  expect([status, stderr.includes("Run `jp trust` on a terminal")]).toEqual([0, true]);
});

describe("the message", () => {
  test.each([
    { from: "words", words: ["How", "are you?"], asked: "How are you?" },
    { from: "a file", words: ["@notes.md"], asked: "# From\n\na file" },
    { from: "standard input", words: [], input: "  piped\n", asked: "  piped" },
    {
      from: "words and standard input",
      words: ["Why?"],
      input: "a log\nof it\n",
      asked: "Why?\n\na log\nof it",
    },
    {
      from: "a file and standard input",
      words: ["@notes.md"],
      input: "x",
      asked: "# From\n\na file\n\nx",
    },
    { from: "words that start with @", words: ["@ada", "hello"], asked: "@ada hello" },
    { from: "a word that starts with @@", words: ["@@ada"], asked: "@@ada" },
  ])("comes from $from", async ({ words, input, asked }) => {
    await using server = await ModelServer.start(ECHO);
    const project = queryProject({ server, files: { "notes.md": "# From\n\na file\n" } });
    const { status } = await query(project, words, { input: input ?? "" });
    const [request] = entriesOf(recordOf(project), "chat_request");
    expect([status, server.lastMessages, request]).toEqual([
      0,
      [asked],
      { type: "chat_request", content: asked },
    ]);
  });

  test("is written in the editor with -e, starting from the words", async () => {
    await using server = await ModelServer.start(ECHO);
    const project = queryProject({ server });
    const variables = project.editor('printf "\\nand more\\n" >> "$1"');
    const { status } = await query(project, ["words", "-e"], { variables });
    expect([status, server.lastMessages]).toEqual([0, ["words\nand more"]]);
  });

  test.each([
    { how: "there are no words", words: [], input: "" },
    { how: "standard input is blank", words: [], input: " \n\n" },
    { how: "the words are blank", words: [" ", ""], input: "" },
  ])("is refused if $how, and nothing is written", async ({ words, input }) => {
    await using server = await ModelServer.start(ECHO);
    const project = queryProject({ server });
    const variables = project.editor("exit 9");
    const before = everythingIn(project);
    const finished = await query(project, words, { input, variables });
    expect(finished).toEqual({
      status: 2,
      stdout: "",
      stderr: lines(
        "jp: The message is empty: nothing to ask.",
        'Pass words (jp query "Why?"), a file (jp query @question.md), or pipe text in.',
      ),
    });
    expect([server.requests, everythingIn(project)]).toEqual([[], before]);
  });

  test("can be left empty in the editor, and nothing is written", async () => {
    await using server = await ModelServer.start(ECHO);
    const project = queryProject({ server });
    const variables = project.editor(': > "$1"');
    const before = everythingIn(project);
    const finished = await query(project, ["-e"], { variables });
    expect(finished).toEqual({
      status: 0,
      stdout: "",
      stderr: "The message is empty: nothing to ask.\n",
    });
    expect([server.requests, everythingIn(project)]).toEqual([[], before]);
  });

  test("has the author's name if the config sets one", async () => {
    await using server = await ModelServer.start(ECHO);
    const project = queryProject({ server, config: 'user.name = "Ada"' });
    await query(project, ["hi"]);
    expect(entriesOf(recordOf(project), "chat_request")).toEqual([
      { type: "chat_request", content: "hi", author: "Ada" },
    ]);
  });
});

/** The messages of each request, without the system prompt. */
function dialogues(server: ModelServer): readonly Json[] {
  return server.requests.map(({ messages }) =>
    messages.slice(1).map(({ content = null }) => content),
  );
}

describe("the conversation", () => {
  test("continues in this terminal until -n, and --id returns to it", async () => {
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

  test("is a different one in another terminal", async () => {
    await using server = await ModelServer.start(["A.", "B."]);
    const project = queryProject({ server });
    await query(project, ["one"]);
    await query(project, ["two"], { variables: { JP_SESSION: "another" } });
    expect(dialogues(server)).toEqual([["one"], ["two"]]);
  });

  test.each([
    ["was removed", (folder: string) => rmSync(folder, { recursive: true })],
    ["is archived", moveToArchive],
  ])("is new if the active one %s", async (_, remove) => {
    await using server = await ModelServer.start(["A.", "B."]);
    const project = queryProject({ server });
    await query(project, ["one"]);
    remove(recordOf(project).folder);
    const { status } = await query(project, ["two"]);
    expect([status, dialogues(server)]).toEqual([0, [["one"], ["two"]]]);
  });

  test("is named after the first line of the message, or by --title", async () => {
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

  test("is stored for the user alone with --local", async () => {
    await using server = await ModelServer.start(ECHO);
    const project = queryProject({ server });
    await query(project, ["hi", "--local"]);
    expect(path.dirname(recordOf(project).folder)).toBe(
      path.join(project.userFolder, "conversations"),
    );
  });

  test("is read but not written with --no-persist", async () => {
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

  test("with -n has no id, and an unknown id is an error", async () => {
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

describe("config from the command line", () => {
  const TOOLS = [{ name: "greet", program: "'hi'", settings: 'enable = "off"' }];

  test("applies to later turns, and is recorded once, as a delta", async () => {
    await using server = await ModelServer.start(ECHO, ["scripted", "other"]);
    const project = queryProject({ server, tools: TOOLS });
    const flags = ["-m", "llamacpp/other", "-p", "temperature=0.5", "-t", "greet"];
    await query(project, ["one"]);
    await query(project, ["two", ...flags]);
    await query(project, ["three", ...flags]);
    await query(project, ["four"]);
    await query(project, ["five", "-T", "greet", "--cfg", "user.name=Ada"]);
    expect(server.requests.map((body) => seen(body as JsonObject))).toEqual([
      { model: "scripted", tools: ["ask_user", "tell_user", "describe_tools"] },
      {
        model: "other",
        tools: ["ask_user", "tell_user", "describe_tools", "greet"],
        temperature: 0.5,
      },
      {
        model: "other",
        tools: ["ask_user", "tell_user", "describe_tools", "greet"],
        temperature: 0.5,
      },
      {
        model: "other",
        tools: ["ask_user", "tell_user", "describe_tools", "greet"],
        temperature: 0.5,
      },
      { model: "other", tools: ["ask_user", "tell_user", "describe_tools"], temperature: 0.5 },
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

  test("is never recorded if it is an answer", async () => {
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

describe("a local model server", () => {
  test("gets the key in LLAMA_API_KEY, or in the variable that the config names", async () => {
    await using server = await CaptureServer.start();
    server.answer({ chunks: WIRE.llamacpp({ text: "Yes." }) });
    const config = `assistant.model.id = "llamacpp/any"\nproviders.llm.llamacpp.base_url = "${server.url}"\n`;
    const project = queryProject({ config });
    const variables = { LLAMA_API_KEY: "usual-key", OWN_KEY: "own-key" };
    const own = ["--cfg", "providers.llm.llamacpp.api_key_env=OWN_KEY"];
    await query(project, ["one"]);
    await query(project, ["two"], { variables });
    await query(project, ["three", ...own], { variables });
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([
      undefined,
      "Bearer usual-key",
      "Bearer own-key",
    ]);
  });

  test("gets as many questions at once as conversation.inquiry.max_parallel allows", async () => {
    const both = Promise.withResolvers<void>();
    let questions = 0;
    await using server = await calling(["asker", "asker"], () => {
      questions += 1;
      if (questions === 2) both.resolve();
      return { after: both.promise, rest: '{"answer":true}' };
    });
    const question = { id: "q", text: "Go on?", answer_type: { type: "boolean" } };
    const project = queryProject({
      server,
      config: "conversation.inquiry.max_parallel = 2\n",
      tools: [{ name: "asker", questions: [question] }],
    });
    await query(project, ["one"]);
    expect(resultsIn(server)).toEqual(['{"q":true}', '{"q":true}']);
  });
});

describe("the answer", () => {
  test("is printed unchanged into a pipe", async () => {
    const text = "# Not *rendered*\n\n\u001b[31mred\u001b[0m\t`x`\r\n😀\u0000 end";
    await using server = await ModelServer.start([{ text, reasoning: "Hm." }, `${text}\n\n`]);
    const project = queryProject({ server });
    const variables = { TERM: "xterm-256color" };
    const first = await query(project, ["one"], { variables });
    const second = await query(project, ["two"], { variables });
    expect([first, second]).toEqual([
      { status: 0, stdout: `${text}\n`, stderr: "Thought for 1 s · 1 word\n" },
      printed(`${text}\n\n`),
    ]);
  });

  test("is printed without reasoning if that is hidden", async () => {
    await using server = await ModelServer.start(() => ({ text: "A.", reasoning: "Hm." }));
    const project = queryProject({ server });
    const hidden = await query(project, ["one", "--hide-reasoning"]);
    const config = await query(project, ["two", "-c", "style.reasoning.display=hidden"]);
    const excluded = ["-n", "-c", 'assistant.model.parameters.reasoning:={"exclude":true}'];
    const parameter = await query(project, ["three", ...excluded]);
    expect([hidden, config, parameter]).toEqual(Array.from({ length: 3 }, () => printed("A.\n")));
    const [record] = recordsOf(project);
    expect(record && entriesOf(record, "chat_response")[0]).toEqual({
      type: "chat_response",
      reasoning: "Hm.",
    });
  });

  test("is followed by the token usage of all requests with -v", async () => {
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

  test("is one event per line with --format json, as recorded", async () => {
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
    const events = printedEvents.map((event) => without(event, "timestamp", ...SUBJECT));
    const record = recordOf(project);
    expect([finished.status, finished.stderr, events]).toEqual([0, "", record.entries]);
    expect(kindsOf(record)).toEqual([
      "turn_start",
      "chat_request",
      "chat_response",
      "chat_response",
      "tool_call_request",
      "permission_decision",
      "attempt_start",
      "inquiry_request",
      "inquiry_response",
      "attempt_start",
      "tool_call_response",
      "chat_response",
    ]);
    const stored = readFileSync(path.join(record.folder, "events.json"), "utf8");
    expect(printedEvents.map(({ timestamp }) => timestamp)).toEqual(
      (JSON.parse(stored) as JsonObject[]).map(({ timestamp }) => timestamp),
    );
  });
});

test("without an active conversation, the one that conversation.default_id names is continued", async () => {
  await using server = await ModelServer.start(["1", "2", "3"]);
  const project = queryProject({ server });
  await query(project, ["Hello"]);
  const other = { variables: { JP_SESSION: "another-terminal" } };
  await query(project, ["-c", "user.name=Ada", "New"], other);
  const config = 'conversation.default_id = "last_created"';
  queryProject({ server, project, config });
  await query(project, ["Again"], { variables: { JP_SESSION: "a-third-one" } });
  expect(recordsOf(project).map((record) => entriesOf(record, "turn_start").length)).toEqual([
    1, 2,
  ]);
  queryProject({ server, project, config: 'conversation.default_id = "ask"' });
  const asked = await query(project, ["Hm"], { variables: { JP_SESSION: "a-fourth-one" } });
  expect(asked).toMatchObject({ status: 2 });
});
