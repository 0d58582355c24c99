import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { AllProviders } from "../support/all-providers.ts";
import { ModelServer, type Reply } from "./model-server.ts";
import {
  entriesOf,
  holdConversation,
  query,
  queryProject,
  recordOf,
  recordsOf,
} from "./query-project.ts";
import { request, time, turnStart } from "./records.ts";
import { Screen } from "./screen.ts";
import { type Finished, lines, printed, Project } from "./support.ts";

const ECHO = () => "Yes.";

/** What an editor has left behind. */
function draftsIn({ temporary }: Project): readonly string[] {
  return readdirSync(temporary, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
}

describe("when a query fails", () => {
  const LOCAL = ["providers.llm.ollama.base_url", "providers.llm.llamacpp.base_url"];

  test("before the first request, no conversation is created", async () => {
    await using server = await ModelServer.start([]);
    const project = queryProject({ server });
    const attempts = [
      ["@nothing.md"],
      ["hi", "-m", "nobody/model"],
      ["hi", "-m", "anthropic/claude"],
      ["hi", "-m", "sonet"],
      ["hi", "-p", "temperature=hot"],
      ["hi", "-t", "nothing"],
      ["hi", "--format", "xml"],
      ["hi", "--nothing"],
    ];
    const ends = await Promise.all(attempts.map((words) => query(project, words)));
    expect(ends.map(({ status, stdout, stderr }) => ({ status, stdout, stderr }))).toEqual([
      failed(
        `jp: ${path.join(project.root, "nothing.md")} could not be read: ENOENT.`,
        "A message that is just @name is read from that file. Add more words to send it as it is.",
      ),
      failed(
        'jp: Unknown provider "nobody".',
        "Use one of anthropic, google, llamacpp, ollama, openai, openrouter.",
      ),
      failed("jp: No API key for anthropic.", "Set ANTHROPIC_API_KEY."),
      failed(
        "jp: Unknown model alias `sonet`.",
        "Write provider/name, or define it with `jp config set providers.llm.aliases.sonet provider/name`.",
      ),
      failed(
        "jp: --cfg assistant.model.parameters.temperature: expected number, got a string",
        "`jp config schema` lists every key. `jp config show --explain` shows where values come from.",
      ),
      failed("jp: Unknown tool or group: nothing", "List them with `jp tool ls`."),
      { ...failed(), status: 2, stderr: expect.stringContaining("text, json") },
      { ...failed(), status: 2, stderr: expect.stringContaining("--nothing") },
    ]);
    expect([recordsOf(project), server.requests]).toEqual([[], []]);
  });

  test("because the conversation's model has no API key, the error says how to continue", async () => {
    const project = new Project();
    const model = { id: { provider: "anthropic", name: "any" } };
    const { id } = project.place({ second: 1, config: { assistant: { model } } });
    expect(await query(project, ["--id", id, "Hi."])).toMatchObject({
      status: 1,
      stderr:
        "jp: No API key for anthropic.\n" +
        "Set ANTHROPIC_API_KEY. This conversation uses anthropic/any. " +
        "Choose another model with -m, or start a new conversation with -n.\n",
    });
  });

  test.each([
    {
      how: "a workspace that does not exist",
      isBare: true,
      flags: ["-w", "gone"],
      problem: "There is no folder",
    },
    {
      how: "an unknown provider",
      isBare: false,
      flags: ["-m", "nobody/x"],
      problem: 'Unknown provider "nobody".',
    },
  ])("with $how, the editor does not open", async ({ isBare, flags, problem }) => {
    const project = new Project({ isBare });
    const before = readdirSync(project.root);
    const variables = project.editor('echo "a long message" > "$1"; touch opened');
    const { status, stderr } = await query(project, ["-e", ...flags], { variables });
    expect([status, stderr.startsWith(`jp: ${problem}`), readdirSync(project.root)]).toEqual([
      1,
      true,
      before,
    ]);
  });

  test("after writing in the editor, the message is kept as a draft", async () => {
    await using server = await ModelServer.start(ECHO);
    const project = queryProject({ server, config: "style.lock_wait.timeout_secs = 0" });
    await query(project, ["one"]);
    await holdConversation(project);
    const variables = project.editor('echo "a long message" > "$1"');
    const { status, stderr } = await query(project, ["-e"], { variables });
    const drafts = draftsIn(project);
    expect([status, drafts.map((file) => readFileSync(file, "utf8"))]).toEqual([
      1,
      ["a long message\n"],
    ]);
    expect(stderr).toContain(drafts[0]);
  });

  test("after writing in the editor, the message is also kept if --compact fails", async () => {
    await using server = await ModelServer.start(["Hi.", { status: 400 }]);
    const project = queryProject({ server });
    await query(project, ["one"]);
    const variables = project.editor('echo "a long message" > "$1"');
    const { status, stderr } = await query(project, ["-e", "--compact", "s:.."], { variables });
    const drafts = draftsIn(project);
    expect([status, drafts.map((file) => readFileSync(file, "utf8"))]).toEqual([
      1,
      ["a long message\n"],
    ]);
    expect(stderr).toContain(drafts[0]);
  });

  test("because the request is rejected, the turn is incomplete, and can be continued", async () => {
    await using server = await ModelServer.start([{ status: 400 }, "Better."]);
    const project = queryProject({ server });
    const first = await query(project, ["one"]);
    const second = await query(project, ["--continue-turn"]);
    expect([first, second]).toEqual([
      failed(
        "jp: llamacpp/scripted: the provider rejected the request (HTTP 400): as scripted",
        "Check `assistant.model.parameters` and the schemas of your tools.",
      ),
      printed("Better.\n"),
    ]);
    const record = recordOf(project);
    expect([
      entriesOf(record, "chat_request").map(({ content }) => content),
      entriesOf(record, "reply_failure"),
    ]).toEqual([["one"], [{ type: "reply_failure", code: "provider_invalid_request" }]]);
  });

  test("because the request is rejected, the next message is simply sent, or the same again", async () => {
    await using server = await ModelServer.start([{ status: 400 }, { status: 400 }, "Better."]);
    const project = queryProject({ server });
    await query(project, ["one"]);
    const second = await query(project, ["two"]);
    const third = await query(project, ["--replay"]);
    expect([second.status, third.status, third.stdout]).toEqual([1, 0, "Better.\n"]);
    const record = recordOf(project);
    expect([
      entriesOf(record, "chat_request").map(({ content }) => content),
      entriesOf(record, "turn_end").map(({ reason }) => reason),
    ]).toEqual([
      ["one", "two", "two"],
      ["discarded", "discarded"],
    ]);
  });

  test("because a signal ends it, the next message waits until someone decides about the turn", async () => {
    const asked = Promise.withResolvers<void>();
    await using server = await ModelServer.start(() => {
      asked.resolve();
      return { hangs: true };
    });
    const project = queryProject({ server });
    const screen = new Screen(project, ["q", "one"]);
    await asked.promise;
    screen.signal("SIGTERM");
    await screen.end();
    const { id } = recordOf(project);
    expect(await query(project, ["--id", id, "two"])).toEqual(
      failed(
        "jp: The last turn is incomplete:",
        "  the model has not replied",
        `To continue it:                   jp query --continue-turn --id ${id}`,
        `To close it and start a new turn: jp query --discard-turn --id ${id}`,
      ),
    );
  });

  test("on a record that someone else has made, the next message is not simply sent", async () => {
    await using server = await ModelServer.start(["Better."]);
    const project = queryProject({ server });
    const failure = { timestamp: time(2), type: "reply_failure", code: "provider_overloaded" };
    const events = [turnStart(0), request(1, "one"), failure];
    const { id } = project.place({ second: 1, config: {}, events });
    const { status, stderr } = await query(project, ["--id", id, "two"]);
    expect([status, stderr.split("\n")[0]]).toEqual([1, "jp: The last turn is incomplete:"]);
  });

  test("temporarily, jp retries with a warning", async () => {
    await using server = await ModelServer.start([{ status: 503 }, { status: 503 }, "Here."]);
    const project = queryProject({ server });
    const problem =
      "warning: llamacpp/scripted: the provider is overloaded or unavailable (HTTP 503): as scripted.";
    expect(await query(project, ["one"])).toEqual({
      status: 0,
      stdout: "Here.\n",
      stderr: lines(
        `${problem} Trying again at once (1/5).`,
        `${problem} Trying again at once (2/5).`,
      ),
    });
  });

  test("repeatedly, jp stops retrying", async () => {
    await using server = await ModelServer.start(() => ({ status: 503 }));
    const project = queryProject({ server, config: "assistant.request.max_retries = 2" });
    const { status, stdout, stderr } = await query(project, ["one"]);
    expect([status, stdout, server.requests.length]).toEqual([1, "", 3]);
    expect(stderr.split("\n").slice(-3)).toEqual([
      "jp: llamacpp/scripted: the provider is overloaded or unavailable (HTTP 503): as scripted",
      "Wait a moment and try again, or use another model.",
      "",
    ]);
  });

  test("because no server is running, the error names the address", async () => {
    const url = await ModelServer.closedUrl();
    const project = queryProject({
      config: [
        'assistant.model.id = "llamacpp/scripted"',
        "assistant.request = { max_retries = 1, base_backoff_ms = 1 }",
        `providers.llm.llamacpp.base_url = "${url}"`,
      ].join("\n"),
    });
    const { status, stderr } = await query(project, ["one"]);
    expect([status, stderr.split("\n").slice(-2)]).toEqual([
      1,
      [
        `Is llamacpp running at ${url}? The address comes from \`providers.llm.llamacpp.base_url\`.`,
        "",
      ],
    ]);
    expect(stderr).not.toContain("    at ");
  });

  test("in the middle of a reply, jp retries and continues the text", async () => {
    await using server = await ModelServer.start([{ text: "Hello, wor", isCut: true }, "ld."]);
    const project = queryProject({ server });
    const { status, stdout, stderr } = await query(project, ["one"]);
    expect([status, stdout, stderr]).toEqual([
      0,
      "Hello, world.\n",
      expect.stringMatching(/^warning: llamacpp\/scripted: connection failed.*\(1\/5\)\.\n$/),
    ]);
    const [, again] = server.requests;
    expect(again?.messages.slice(1).map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    expect(entriesOf(recordOf(project), "chat_response").map(({ message }) => message)).toEqual([
      "Hello, wor",
      "ld.",
    ]);
  });

  test.each([
    ["refuses", "content_filter", 1, "The model refused to answer."],
    [
      "reaches its length limit",
      "length",
      0,
      "The reply was cut off: it reached its maximum length.",
    ],
  ])("because the model %s, jp warns", async (_, finish, status, warning) => {
    await using server = await ModelServer.start([{ text: "No", finish }]);
    expect(await query(queryProject({ server }), ["one"])).toEqual({
      status,
      stdout: "No\n",
      stderr: `warning: ${warning}\n`,
    });
  });

  test("because the model never stops calling tools, a limit ends the turn", async () => {
    await using server = await ModelServer.start(() => ({ calls: [{ name: "greet" }] }));
    const project = queryProject({
      server,
      config: "conversation.max_cycles = 2",
      tools: [{ name: "greet", program: "'hi'" }],
    });
    const { status, stdout, stderr } = await query(project, ["one"]);
    expect([status, stdout, server.requests.length, stderr.split("\n").at(-2)]).toEqual([
      1,
      "",
      2,
      "warning: jp ended the turn after 2 requests (conversation.max_cycles). To continue it: jp query --continue-turn",
    ]);
  });

  describe("without a configured model", () => {
    test.each([
      ["a server on this machine", "llamacpp", {}],
      ["a key in the environment", "openrouter", { OPENROUTER_API_KEY: "a key" }],
    ])(
      "says once that it uses %s, and keeps it for the conversation",
      async (_, provider, variables) => {
        await using server = await ModelServer.start(ECHO);
        const closed = await ModelServer.closedUrl();
        const urls = LOCAL.map((key) => `${key} = "${closed}"`);
        const own = `providers.llm.${provider}.base_url`;
        const config = [
          ...urls.filter((line) => !line.startsWith(own)),
          `${own} = "${server.url}"`,
        ];
        const project = queryProject({ config: config.join("\n") });
        const first = await query(project, ["one"], { variables });
        const second = await query(project, ["two"], { variables });
        const another = await query(project, ["-n", "three"], { variables });
        const id = `${provider}/scripted`;
        expect([first, second, another]).toEqual([
          {
            status: 0,
            stdout: "Yes.\n",
            stderr: lines(
              `No model configured; using ${id}. To choose one: jp config set assistant.model.id ${id}`,
            ),
          },
          printed("Yes.\n"),
          printed("Yes.\n"),
        ]);
      },
    );

    test("tries local servers first, then the API keys that are set", async () => {
      await using providers = await AllProviders.start(() => ({ text: "Yes." }));
      const closed = await ModelServer.closedUrl();
      const order = ["ollama", "llamacpp", "anthropic", "openai", "google", "openrouter"];
      const keys = ["ANTHROPIC", "OPENAI", "GEMINI", "OPENROUTER"];
      for (const position of order.keys()) {
        const gone = order.slice(0, position).map((name) => [addressOf(name), closed]);
        const variables = {
          ...providers.variables,
          ...Object.fromEntries(keys.map((name) => [`${name}_API_KEY`, "a key"])),
          ...Object.fromEntries(gone),
        };
        await query(queryProject({}), ["one"], { variables });
      }
      expect(providers.asked).toEqual(order);
    });

    test("lists ways to get one in five lines if none is found", async () => {
      const closed = await ModelServer.closedUrl();
      const config = LOCAL.map((key) => `${key} = "${closed}"`);
      const project = queryProject({ config: config.join("\n") });
      expect([await query(project, ["one"]), recordsOf(project)]).toEqual([
        failed(
          "jp: No model is configured, and none was found.",
          "Do one of these:",
          "  - start Ollama or a llama.cpp server on this machine",
          "  - set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY",
          "  - choose a model: jp config set assistant.model.id provider/name",
          "  - choose one for a conversation: jp query -m provider/name",
        ),
        [],
      ]);
    });
  });
});

function addressOf(provider: string): string {
  return `JP_CFG_PROVIDERS_LLM_${provider.toUpperCase()}_BASE_URL`;
}

function failed(...stderr: readonly string[]): Finished {
  return { status: 1, stdout: "", stderr: lines(...stderr) };
}

interface SchemaCase {
  readonly how: string;
  readonly reply: Reply;
  /** For each request, whether it enforces the schema. */
  readonly enforced: readonly boolean[];
  readonly stdout?: string;
  readonly stderr?: readonly string[];
}

describe("an answer with a schema", () => {
  const SCHEMA = '{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}';

  const AGAIN = "The answer does not fit the schema. Asking again.";
  const REFUSED = "warning: The model refused to answer.";
  const NOT_JSON = [
    "jp: The model did not answer in JSON.",
    "Some models cannot. Try again, or choose another with -m.",
  ];
  const CUT = [
    "jp: The reply was cut off before its JSON was complete: it reached its maximum length.",
    "Raise `assistant.model.parameters.max_tokens`, or ask for less.",
  ];

  test.each<SchemaCase>([
    {
      how: "is printed if it fits",
      reply: '{"a": "ü"}',
      enforced: [true],
      stdout: '{"a":"ü"}\n',
    },
    {
      how: "is printed with an error if it does not fit twice",
      reply: '{"a":1}',
      enforced: [true, true],
      stdout: '{"a":1}\n',
      stderr: [AGAIN, "jp: The answer does not fit the schema:", "- `a`: expected string, got 1"],
    },
    {
      how: "is an error if it is not JSON",
      reply: "I cannot.",
      enforced: [true, true],
      stderr: [AGAIN, ...NOT_JSON],
    },
    {
      how: "is an error if there is none",
      reply: "",
      enforced: [true, true],
      stderr: [AGAIN, ...NOT_JSON],
    },
    {
      how: "is an error if it was cut off",
      reply: { text: '{"a": "', finish: "length" },
      enforced: [true],
      stderr: CUT,
    },
    {
      how: "is an error if it was cut off before its first word",
      reply: { finish: "length" },
      enforced: [true],
      stderr: CUT,
    },
    {
      how: "can be refused",
      reply: { finish: "content_filter" },
      enforced: [true],
      stderr: [REFUSED],
    },
  ])("$how", async ({ reply, enforced, stdout = "", stderr = [] }) => {
    await using server = await ModelServer.start(() => reply);
    const project = queryProject({ server, files: { "form.json": SCHEMA } });
    const finished = await query(project, ["hi", "--schema", "@form.json"]);
    expect(finished).toEqual({
      status: stderr.length === 0 ? 0 : 1,
      stdout,
      stderr: lines(...stderr),
    });
    // Without tools of its own, the conversation leaves nothing to do before the answer.
    expect(server.requests.map((body) => "response_format" in body)).toEqual(enforced);
    expect(entriesOf(recordOf(project), "chat_request")[0]?.["schema"]).toEqual(JSON.parse(SCHEMA));
  });

  test.each([
    { how: "no JSON", reply: "I cannot.", stderr: [AGAIN, ...NOT_JSON] },
    { how: "nothing", reply: { finish: "length" }, stderr: CUT },
  ])(
    "is an error if there is $how, even after an earlier turn with one",
    async ({ reply, stderr }) => {
      await using server = await ModelServer.start((_body, index) =>
        index === 0 ? '{"a": "x"}' : reply,
      );
      const project = queryProject({ server });
      const ends = [
        await query(project, ["hi", "-s", SCHEMA]),
        await query(project, ["again", "-s", SCHEMA]),
      ];
      expect(ends).toEqual([printed('{"a":"x"}\n'), failed(...stderr)]);
    },
  );

  test("is printed alone if it fits at the second try", async () => {
    await using server = await ModelServer.start(['{"a":1}', '{"a":"x"}']);
    const project = queryProject({ server });
    const finished = await query(project, ["hi", "-s", SCHEMA]);
    expect(finished).toEqual({ status: 0, stdout: '{"a":"x"}\n', stderr: lines(AGAIN) });
    expect(server.requests[1]?.messages.at(-1)?.content).toContain("expected string, got 1");
  });

  test("is asked for again when a turn is continued whose second request failed", async () => {
    await using server = await ModelServer.start(['{"a":1}', { status: 400 }, '{"a":"x"}']);
    const project = queryProject({ server });
    const failure = await query(project, ["hi", "-s", SCHEMA]);
    const finished = await query(project, ["--continue-turn"]);
    expect([failure.status, finished]).toEqual([1, printed('{"a":"x"}\n')]);
    const requests = entriesOf(recordOf(project), "chat_request");
    expect(requests.map(({ author }) => author)).toEqual([undefined, "jp"]);
  });

  test("of a local model with tools is asked for in words, with a grammar, and once more if it does not fit", async () => {
    await using server = await ModelServer.start(["Well.", '{"a":1}', '{"a":"x"}']);
    const project = queryProject({ server, tools: [{ name: "look" }] });
    const finished = await query(project, ["hi", "-s", SCHEMA]);
    expect(finished).toEqual({ status: 0, stdout: '{"a":"x"}\n', stderr: lines(AGAIN) });
    expect(server.requests.map((body) => "response_format" in body)).toEqual([false, true, true]);
  });

  test("of a local model with tools is described in words first, and enforced without calls if it does not fit", async () => {
    await using server = await ModelServer.start(["Well.", '{"a":"x"}']);
    const project = queryProject({ server, tools: [{ name: "look" }] });
    expect(await query(project, ["hi", "-s", SCHEMA])).toEqual(printed('{"a":"x"}\n'));
    const [described, enforced] = server.requests;
    expect([described?.["response_format"], described?.["tool_choice"]]).toEqual([
      undefined,
      "auto",
    ]);
    expect(described?.messages.at(-1)?.content).toContain(`JSON Schema: ${SCHEMA}`);
    expect([enforced?.["response_format"], enforced?.["tool_choice"]]).toEqual([
      expect.objectContaining({ type: "json_schema" }),
      "none",
    ]);
  });

  test.each(["not JSON", "[]", '{"$ref":"#/nothing"}', '{"type":"objekt"}'])(
    "is not requested with an invalid schema: %s",
    async (schema) => {
      await using server = await ModelServer.start(ECHO);
      const project = queryProject({ server });
      const { status, stdout, stderr } = await query(project, ["hi", "-s", schema]);
      expect([status, stdout, stderr.split("\n")[0], recordsOf(project).length]).toEqual([
        2,
        "",
        expect.stringMatching(/^jp: --schema: not a JSON Schema/),
        0,
      ]);
    },
  );
});
