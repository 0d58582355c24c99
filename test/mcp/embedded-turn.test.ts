/** MCP servers and `ask_user` in the options of a turn, as an embedding program uses them. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  defineTool,
  eventsOf,
  type SharedMcpServers,
  type ToolConfigs,
  MemoryConversationStore,
  openMcpServers,
  resumeTurn,
  runTurn,
  streamTurn,
  type TurnOptions,
  type TurnUpdate,
} from "../../src/index.ts";
import { transcript } from "../../src/record/conversation/transcript.fixture.ts";
import { temporaryFolder } from "../../src/stores/temporary-workspace.fixture.ts";
import {
  FakeClock,
  holdPrompt,
  ScriptedModel,
  ScriptedPrompter,
  type ScriptedAnswer,
  type ScriptedReply,
} from "../../src/testing/index.ts";
import type { JsonObject } from "../../src/util/index.ts";
import { freePort } from "./http-programs.ts";
import {
  call,
  GENERATIONS,
  inProcessServer,
  isRunning,
  TEST_PROGRAM,
  until,
  untilLogged,
} from "./support.ts";
import { serveHttp } from "./test-server-http.ts";

const PERMIT = { type: "run", isRemembered: false } as const;
const LATER = { isLater: true } as const;
const ECHO = replies(["echo", { text: "moon" }]);

/** A reply that calls a tool, and one that ends the turn. */
function replies(...calls: readonly (readonly [string, JsonObject?])[]): readonly ScriptedReply[] {
  const steps = calls.map(([name, given = {}], index) => {
    return { type: "tool_call", id: `call_${index + 1}`, name, arguments: given } as const;
  });
  return [steps, "Done."];
}

async function openConversation() {
  return new MemoryConversationStore(new FakeClock()).create({});
}

type Parts = Partial<TurnOptions> & { readonly replies?: readonly ScriptedReply[] };

/** Runs a turn that is asked to land. */
async function land({ replies: given = ["Done."], ...options }: Parts) {
  const model = new ScriptedModel({ replies: given });
  const conversation = await openConversation();
  const turn = { conversation, model, clock: new FakeClock(), ...options };
  const result = await runTurn(turn, "Land.");
  return { ...result, model, conversation, lines: transcript(result.events).slice(2) };
}

/** The names of the tools that the model was offered, of those that the test is about. */
function offered({ requests }: ScriptedModel, ...wanted: readonly string[]) {
  const names = requests[0]?.tools.map(({ name }) => name) ?? [];
  return wanted.length === 0 ? names : names.filter((name) => wanted.includes(name));
}

describe("the tools of an MCP server", () => {
  test("are offered with the server's whole description, and run if a person permits it", async () => {
    const prompter = new ScriptedPrompter({ permissions: [PERMIT] });
    const { servers: mcpServers } = inProcessServer("newer");
    const { model, lines } = await land({ mcpServers, prompter, replies: ECHO });
    expect(model.requests[0]?.tools.find(({ name }) => name === "echo")).toMatchObject({
      description: "Does echo. It is only there for tests.",
      parameters: { required: ["text"] },
    });
    expect(prompter.permissions).toMatchObject([
      { tool: "echo", origin: { type: "mcp", server: "test" }, arguments: { text: "moon" } },
    ]);
    expect(lines).toEqual([
      "call_1 calls echo",
      "call_1 waits for permission (run)",
      "call_1 approved (run)",
      "call_1 starts",
      "call_1 gives: moon",
      "message: Done.",
    ]);
  });

  test("do not run without a person to permit it", async () => {
    const { servers: mcpServers, log } = inProcessServer("newer");
    const { lines, denials } = await land({ mcpServers, replies: replies(["wait"]) });
    expect(lines.slice(1, 3)).toEqual([
      "call_1 denied (run)",
      expect.stringContaining("needs the user's permission to run"),
    ]);
    expect(denials).toHaveLength(1);
    expect(log()).not.toContain("waiting");
  });

  test.each<ToolConfigs>([{ echo: { run: "unattended" } }, { "*": { run: "unattended" } }])(
    "take the config of tools: %j",
    async (toolConfig) => {
      const { servers: mcpServers } = inProcessServer("newer");
      const { lines } = await land({ mcpServers, toolConfig, replies: ECHO });
      expect(lines).toContain("call_1 gives: moon");
    },
  );

  test("can be left out, and described otherwise", async () => {
    const { servers: mcpServers } = inProcessServer("newer");
    const echo = { enable: true, description: "Repeats. Loudly." };
    const { model } = await land({ mcpServers, toolConfig: { "*": { enable: false }, echo } });
    expect(model.requests[0]?.tools).toMatchObject([
      { name: "echo", description: "Repeats. Loudly." },
    ]);
  });

  test("get names that every model accepts, with the server's prefix", async () => {
    const url = await served();
    await using mcpServers = openMcpServers({ moon: { url, prefix: "the.moon/" } });
    const { model } = await land({ mcpServers });
    expect(offered(model)).toContain("the_moon_echo");
    expect(offered(model).every((name) => name.startsWith("the_moon_"))).toBe(true);
  });
});

const echoTool = defineTool({
  name: "echo",
  description: "Echoes.",
  parameters: { type: "object" },
  run: () => "own",
});

describe("two tools with the same name", () => {
  test("of a server and the program are an error that suggests a prefix", async () => {
    const { servers: mcpServers } = inProcessServer("newer");
    await expect(land({ mcpServers, tools: [echoTool] })).rejects.toMatchObject({
      code: "tool_name_clash",
      message: 'Two tools are named echo: one of your program, and one of the MCP server "test".',
      hint: 'Set mcpServers.test.prefix, for example to "test_".',
    });
  });

  test("of two servers are no problem once one has a prefix", async () => {
    const url = await served();
    const both = (prefix: object) => ({ a: { url }, b: { url, ...prefix } });
    await expect(land({ mcpServers: both({}) })).rejects.toMatchObject({ code: "tool_name_clash" });
    const { model } = await land({ mcpServers: both({ prefix: "b_" }) });
    expect(offered(model, "echo", "b_echo")).toEqual(["echo", "b_echo"]);
  });

  test("of the program itself are an error before anything is recorded", async () => {
    const conversation = await openConversation();
    await expect(land({ conversation, tools: [echoTool, echoTool] })).rejects.toMatchObject({
      code: "tool_name_clash",
      message: "Two tools of your program are named echo.",
    });
    expect([...eventsOf(conversation.stream.entries)]).toEqual([]);
  });
});

test("config for an unknown tool is an error once the servers have listed theirs", async () => {
  const { servers: mcpServers } = inProcessServer("newer");
  const toolConfig = { ehco: { run: "unattended" } } as const;
  await expect(land({ mcpServers, toolConfig })).rejects.toMatchObject({
    code: "unknown_tool",
    message: "Unknown tool: ehco in toolConfig",
    hint: "Did you mean echo?",
  });
});

test.each(["__proto__", "constructor", "prototype"])(
  "config for a tool or server named %s is an error, not ignored",
  async (name) => {
    const toolConfig = Object.fromEntries([[name, { run: "ask" } as const]]);
    const mcpServers = Object.fromEntries([[name, { command: "moon" }]]);
    for (const options of [{ toolConfig }, { mcpServers }]) {
      await expect(land(options)).rejects.toMatchObject({
        code: "config_invalid",
        message: expect.stringContaining(`${name}: this name cannot be used`),
      });
    }
  },
);

describe("a server that is unavailable", () => {
  test("is an error that names it", async () => {
    const url = `http://127.0.0.1:${await freePort()}/mcp`;
    await expect(land({ mcpServers: { moon: { url } } })).rejects.toMatchObject({
      code: "mcp_start_failed",
      message: expect.stringContaining('The MCP server "moon" cannot be reached'),
    });
  });

  test("is a notice if it is optional, and config for its tools is no error", async () => {
    const url = `http://127.0.0.1:${await freePort()}/mcp`;
    const conversation = await openConversation();
    const model = new ScriptedModel({ replies: ["Done."] });
    const mcpServers = { moon: { url, optional: true } };
    const toolConfig = { echo: { run: "unattended" } } as const;
    const updates: TurnUpdate[] = [];
    const options = { conversation, model, mcpServers, toolConfig, tools: [deploy] };
    for await (const update of streamTurn(options, "Land.")) updates.push(update);
    expect(offered(model)).toEqual(["deploy"]);
    expect(updates.filter(({ type }) => type === "notice")).toEqual([
      {
        type: "notice",
        message: expect.stringContaining('The MCP server "moon"') as string,
        conversation: conversation.id,
      },
    ]);
  });

  test.each([
    [{ moon: { comand: "x" } }, /comand.*command/s],
    [{ moon: { type: "stdio" } }, "command is missing"],
    [{ "moon.sea": { command: "x" } }, "letters, digits, - and _"],
  ])("because of its config, %j, is reported at once", async (configs, message) => {
    const mcpServers = configs as unknown as SharedMcpServers; // What a program without types may pass.
    await expect(land({ mcpServers })).rejects.toMatchObject({ code: "config_invalid" });
    await expect(land({ mcpServers })).rejects.toThrow(message);
  });

  test("because it finds no program is told about the environment", async () => {
    const mcpServers = { moon: { command: "no-such-moon" } };
    await expect(land({ mcpServers })).rejects.toMatchObject({
      code: "mcp_program_not_found",
      hint: expect.stringContaining("as `variables`"),
    });
  });
});

const deploy = defineTool({
  name: "deploy",
  description: "Deploys.",
  parameters: { type: "object" },
  run: () => "deployed",
});

describe.each(GENERATIONS)("a server's question (%s protocol)", (generation) => {
  const toolConfig = { ask: { run: "unattended" } } as const;

  test("reaches the prompter, and the record says who asked and who answered", async () => {
    const { servers: mcpServers } = inProcessServer(generation);
    const prompter = new ScriptedPrompter({ answers: [{ answer: "Io" }] }, "web");
    const options = { mcpServers, prompter, toolConfig, replies: replies(["ask"]) };
    const { lines, events } = await land(options);
    expect(lines.slice(2)).toEqual([
      "call_1 starts",
      "call_1.name.1 asks: name",
      'call_1.name.1 answered: "Io"',
      "call_1 starts",
      'call_1 gives: [{"moon":{"action":"accept","content":{"name":"Io"}}}]',
      "message: Done.",
    ]);
    expect(events).toContainEqual(
      expect.objectContaining({ source: { source: "tool", name: "ask" } }),
    );
    expect(events).toContainEqual(
      expect.objectContaining({ answeredBy: { kind: "user", channel: "web", auth: "program" } }),
    );
  });

  test("is answered by the config of its tool", async () => {
    const { servers: mcpServers } = inProcessServer(generation);
    const ask = { run: "unattended", questions: { name: { answer: "Io" } } } as const;
    const options = { mcpServers, toolConfig: { ask }, replies: replies(["ask"]) };
    expect((await land(options)).lines).toContain('call_1.name.1 answered: "Io"');
  });
});

test("a server's question can be answered later, on another connection", async () => {
  const toolConfig = { ask: { run: "unattended" } } as const;
  const { conversation, type } = await land({
    mcpServers: inProcessServer("newer").servers,
    prompter: new ScriptedPrompter({ answers: [LATER] }),
    toolConfig,
    replies: replies(["ask"]),
  });
  expect(type).toBe("waiting");
  const { text, events } = await resumeTurn(conversation, {
    mcpServers: inProcessServer("newer").servers,
    prompter: new ScriptedPrompter({ answers: [{ answer: "Io" }] }),
    toolConfig,
    model: new ScriptedModel({ replies: ["Landed."] }),
  });
  expect(text).toBe("Landed.");
  expect(transcript(events)).toContain(
    'call_1 gives: [{"moon":{"action":"accept","content":{"name":"Io"}}}]',
  );
});

describe("a question outside of a call", () => {
  const toolConfig = { "*": { run: "unattended" } } as const;
  const CANCELLED = 'answered {"action":"cancel"}';

  test("is refused and recorded", async () => {
    const { servers: mcpServers, log } = inProcessServer("older");
    const [calls = ""] = replies(["ask_later"]);
    const wait = { type: "wait", until: untilLogged(log, CANCELLED) } as const;
    const end = { type: "text", text: "Done." } as const;
    const { lines } = await land({ mcpServers, toolConfig, replies: [calls, [wait, end]] });
    expect(lines.slice(-3)).toEqual([
      "mcp.test.name.1 asks: name",
      'mcp.test.name.1 cancelled: "no_prompt_backend"',
      "message: Done.",
    ]);
  });

  test("is not recorded while two turns share the server: it may be about someone else", async () => {
    const strays: string[] = [];
    const onUnscopedQuestion = ({ message }: { readonly message: string }) => strays.push(message);
    const { servers: mcpServers, log } = inProcessServer("older", {
      context: { onUnscopedQuestion: (question) => void onUnscopedQuestion(question) },
    });
    const answered = untilLogged(log, CANCELLED);
    const ended = [
      { type: "wait", until: answered },
      { type: "text", text: "Done." },
    ] as const;
    const [calls = ""] = replies(["ask_later"]);
    const turns = await Promise.all([
      land({ mcpServers, toolConfig, replies: [calls, ended] }),
      land({ mcpServers, toolConfig, replies: [ended] }),
    ]);
    const recorded = turns.flatMap(({ lines }) => lines.filter((line) => line.includes("asks")));
    expect([recorded, strays]).toEqual([[], ["Which moon?"]]);
  });

  test("of a cancelled call is recorded in the turn of that call only", async () => {
    const clock = new FakeClock();
    const { servers: mcpServers, log } = inProcessServer("older", { context: { clock } });
    const answered = untilLogged(log, 'answered {"action":"cancel"}');
    const ended = [
      { type: "wait", until: answered },
      { type: "text", text: "Done." },
    ] as const;
    const [calls = ""] = replies(["ask_when_cancelled"]);
    const limited = { ...toolConfig, ask_when_cancelled: { timeout_secs: 10 } };
    const turns = Promise.all([
      land({ mcpServers, toolConfig: limited, replies: [calls, ended] }),
      land({ mcpServers, toolConfig, replies: [ended] }),
    ]);
    await until(() => log().includes("waiting"));
    clock.advance(10_000);
    const [asking, other] = (await turns).map(({ lines }) =>
      lines.filter((line) => line.includes("asks")),
    );
    expect([asking, other]).toEqual([["ask_when_cancelled.name.1 asks: name"], []]);
  });
});

describe("ask_user", () => {
  const form = {
    question: "Where to?",
    answer_type: "select",
    options: ["test", "live"],
    more: [{ question: "When?" }],
  };

  test("lets the assistant ask the person, with forms and notes", async () => {
    const answers: readonly ScriptedAnswer[] = [
      { answer: "test", note: "for now" },
      { answer: "today" },
    ];
    const prompter = new ScriptedPrompter({ answers }, "web");
    const options = { askUser: true, prompter, toolConfig: { "*": { run: "ask" } } } as const;
    const { lines, events } = await land({ ...options, replies: replies(["ask_user", form]) });
    expect(prompter.forms.map(({ fields }) => fields.map(({ label }) => label))).toEqual([
      ["Assistant", "Assistant"],
    ]);
    expect(events).toContainEqual(expect.objectContaining({ source: { source: "assistant" } }));
    expect(lines.at(-2)).toBe(
      'call_1 gives: {"answer_type":"select","answer":"test","note":"for now",' +
        '"more":[{"answer_type":"text","answer":"today"}]}',
    );
  });

  test("is offered only if the program says so", async () => {
    const { model } = await land({ tools: [deploy] });
    const { model: asking } = await land({ tools: [deploy], askUser: true });
    expect([offered(model), offered(asking)]).toEqual([["deploy"], ["deploy", "ask_user"]]);
  });

  test("has config like any other tool", async () => {
    const toolConfig = { ask_user: { questions: { answer: { answer: "live" } } } };
    const options = { askUser: true, toolConfig };
    const question = { question: "Where to?" };
    const { lines } = await land({ ...options, replies: replies(["ask_user", question]) });
    expect(lines).toContain('call_1.answer.1 answered: "live"');
  });
});

describe("a server given as config", () => {
  const toolConfig = { "*": { run: "unattended" } } as const;

  test.each([
    ["done", replies(["pid"])],
    ["failed", replies(["pid"]).slice(0, 1)],
  ])("is closed when its turn is %s", async (_end, given) => {
    const { mcpServers, pids } = program();
    const variables = process.env;
    const turn = land({ mcpServers, variables, toolConfig, replies: given });
    await turn.catch(() => undefined);
    expect(pids().map(isRunning)).toEqual([false]);
  });

  test("is closed when its turn is aborted before it has started", async () => {
    const { mcpServers, pids } = program("--mode=hang");
    const stop = new AbortController();
    const turn = land({ mcpServers, variables: process.env, signal: stop.signal });
    await until(() => pids().length === 1);
    stop.abort();
    expect((await turn).type).toBe("interrupted");
    expect(pids().map(isRunning)).toEqual([false]);
  });

  test("is closed when its turn is aborted", async () => {
    const { mcpServers, pids } = program();
    const held = holdPrompt<unknown, ScriptedAnswer>();
    const stop = new AbortController();
    const turn = land({
      mcpServers,
      variables: process.env,
      toolConfig,
      prompter: new ScriptedPrompter({ answers: [held.reply] }),
      signal: stop.signal,
      replies: replies(["ask"]),
    });
    await held.opened;
    expect(pids().map(isRunning)).toEqual([true]);
    stop.abort();
    expect((await turn).type).toBe("interrupted");
    expect(pids().map(isRunning)).toEqual([false]);
  });
});

describe("a set of servers that turns share", () => {
  test("stays open, and its servers start once", async () => {
    const { servers: mcpServers, log, get } = inProcessServer("newer");
    const toolConfig = { "*": { run: "unattended" } } as const;
    const first = await land({ mcpServers, toolConfig, replies: ECHO });
    const second = await land({ mcpServers, toolConfig, replies: ECHO });
    expect([first, second].map(({ lines }) => lines.at(-2))).toEqual([
      "call_1 gives: moon",
      "call_1 gives: moon",
    ]);
    expect((await call(await get(), "echo", { arguments: { text: "still" } })).content).toBe(
      "still",
    );
    expect(log().filter((line) => line === "connected")).toHaveLength(1);
  });

  test("tries again in the next turn if a server did not start", async () => {
    const port = await freePort();
    await using mcpServers = openMcpServers({ moon: { url: `http://127.0.0.1:${port}/mcp` } });
    await expect(land({ mcpServers })).rejects.toMatchObject({ code: "mcp_start_failed" });
    await served(port);
    expect(offered((await land({ mcpServers })).model, "echo")).toEqual(["echo"]);
  });

  test("has an error as the result of a call during which its server ends, and the turn goes on", async () => {
    await using mcpServers = openMcpServers(program().mcpServers, { variables: process.env });
    const toolConfig = { "*": { run: "unattended" } } as const;
    const { lines } = await land({ mcpServers, toolConfig, replies: replies(["crash"]) });
    expect(lines.slice(-2)).toEqual([
      expect.stringMatching(/^call_1 fails: The MCP server "moon" exited while it ran "crash": /),
      "message: Done.",
    ]);
  });

  test("restarts in the next turn a server that has crashed too often", async () => {
    await using mcpServers = openMcpServers(program().mcpServers, { variables: process.env });
    const options = { mcpServers, toolConfig: { "*": { run: "unattended" } } } as const;
    const crash = [...replies(["crash"]).slice(0, 1), ...replies(["crash"])];
    await land({ ...options, replies: crash });
    expect((await land({ ...options, replies: ECHO })).lines).toContain("call_1 gives: moon");
  });
});

/** The test server over HTTP, until the test ends. */
async function served(port = 0): Promise<string> {
  const server = await serveHttp({ port });
  onTestFinished(() => server.close());
  return server.url;
}

/** The config of the test server as a program. */
function program(...flags: readonly string[]) {
  const file = path.join(temporaryFolder(), "log");
  const command = process.execPath;
  const mcpServers = { moon: { command, arguments: [TEST_PROGRAM, `--log=${file}`, ...flags] } };
  const lines = () => (existsSync(file) ? readFileSync(file, "utf8").split("\n") : []);
  const pids = () =>
    lines().flatMap((line) => (line.startsWith("started ") ? [Number(line.slice(8))] : []));
  return { mcpServers, pids };
}
