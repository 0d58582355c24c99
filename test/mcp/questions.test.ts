/** Questions of servers during a call, in both generations of the protocol. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Executor } from "../../src/reach/executor/index.ts";
import type { McpServers } from "../../src/reach/mcp/index.ts";
import type { JsonObject } from "../../src/util/index.ts";
import { AttemptedCall, answersOf, createTool, questionsOf } from "./attempted-call.ts";
import {
  httpSettings,
  inProcessServer,
  openServers,
  programSettings,
  TEST_PROGRAM,
} from "./support.ts";
import { type HttpTestServer, serveHttp } from "./test-server-http.ts";
import { counters } from "../security/threats.ts";

const MOON = form("Which moon?", { name: { type: "string" } });

describe.each(["older", "newer", "http"])("a question of a server (%s)", (mode) => {
  let web: HttpTestServer | undefined;
  let servers: McpServers;
  let ask: Executor;

  beforeAll(async () => {
    web = mode === "http" ? await serveHttp() : undefined;
    servers = openServers([
      web === undefined
        ? programSettings("test", [TEST_PROGRAM, `--mode=${mode}`])
        : httpSettings("test", web.url),
    ]);
    ask = (await createTool(servers, { source: "mcp.test.ask" })).executor;
  });

  afterAll(async () => {
    await servers.close();
    web?.close();
  });

  function begin(...rounds: readonly JsonObject[]): AttemptedCall {
    return new AttemptedCall(ask, { rounds });
  }

  test("is attributed to the tool, by its name in the config", async () => {
    const asked = await begin({ moon: MOON }).ask();
    asked.onUnanswered?.();
    expect({ question: asked.question, source: asked.source }).toEqual({
      question: {
        id: "name",
        text: "name",
        context: "Which moon?\n\nYou may leave it empty.",
        answerType: { type: "text" },
        exclusive: false,
        persistence: "turn",
      },
      source: { source: "tool", name: "my_tool" },
    });
  });

  test("gets all values of the form as its answer", async () => {
    const call = begin({
      all: form("All of it.", {
        text: { type: "string", title: "A text" },
        count: { type: "integer", minimum: 1 },
        share: { type: "number" },
        sure: { type: "boolean" },
        moon: { type: "string", enum: ["full", "new"] },
        sea: { type: "string", oneOf: [{ const: "s", title: "Serenity" }] },
        phases: { type: "array", items: { type: "string", enum: ["full", "new"] } },
        left: { type: "string" },
      }),
    });
    const asked = await call.ask();
    expect(questionsOf(asked).map(({ id, text, answerType }) => [id, text, answerType])).toEqual([
      ["text", "A text", { type: "text" }],
      ["count", "count", { type: "text" }],
      ["share", "share", { type: "text" }],
      ["sure", "sure", { type: "boolean" }],
      ["moon", "moon", select(["full", "new", "(leave out)"])],
      [
        "sea",
        "sea",
        {
          type: "select",
          options: [
            { value: "s", title: "Serenity", description: "Serenity" },
            { value: "(leave out)" },
          ],
        },
      ],
      ["phases", "phases", { ...select(["full", "new"]), isMultiple: true }],
      ["left", "left", { type: "text" }],
    ]);
    const answers = {
      text: "hi",
      count: " 3 ",
      share: "2.5",
      sure: false,
      moon: "(leave out)",
      sea: "s",
      phases: ["new", "full"],
      left: "",
    };
    const content = {
      text: "hi",
      count: 3,
      share: 2.5,
      sure: false,
      sea: "s",
      phases: ["new", "full"],
    };
    expect(answersOf(await call.enter(answers))).toEqual([{ all: { action: "accept", content } }]);
  });

  test("is asked again, alone, until the answer is valid", async () => {
    const count = { type: "integer", minimum: 2, maximum: 9, description: "How many?" };
    const call = begin({ a: form("Two things.", { name: { type: "string" }, count }) });
    await call.ask();
    const again = await call.ask({ name: "Luna", count: "many" });
    expect(questionsOf(again)).toEqual([
      {
        id: "count",
        text: "count",
        context:
          "That answer is not valid.\n\nTwo things.\n\n" +
          "How many?\n\nExpected: a whole number, at least 2, at most 9. You may leave it empty.",
        answerType: { type: "text" },
        exclusive: false,
        persistence: "turn",
      },
    ]);
    await call.ask({ count: "10" });
    expect(answersOf(await call.enter({ count: "9" }))).toEqual([
      { a: { action: "accept", content: { name: "Luna", count: 9 } } },
    ]);
  });

  test("may be followed by others", async () => {
    const call = begin({ a: MOON }, { b: form("", {}) }, { c: MOON });
    expect((await call.ask()).question.id).toBe("name");
    const second = await call.ask({ name: "Io" });
    expect(second.question).toMatchObject({ id: "consent", answerType: { type: "boolean" } });
    expect((await call.ask({ consent: true })).question.id).toBe("name");
    expect(answersOf(await call.enter({ name: "Europa" }))).toEqual([
      { a: { action: "accept", content: { name: "Io" } } },
      { b: { action: "accept", content: {} } },
      { c: { action: "accept", content: { name: "Europa" } } },
    ]);
  });

  test("is declined by answering no if it is for consent, and the call continues", async () => {
    const call = begin({ a: { message: "Delete it?", requestedSchema: { type: "object" } } });
    expect((await call.ask()).question).toEqual({
      id: "consent",
      text: "Do you agree?",
      context: "The server says:\n> Delete it?",
      answerType: { type: "boolean" },
      exclusive: true,
      persistence: "none",
    });
    expect(answersOf(await call.enter({ consent: false }))).toEqual([{ a: { action: "decline" } }]);
  });

  test.each([
    [true, { action: "accept" }],
    [false, { action: "decline" }],
  ])(
    "shows the URL that it asks to visit, and passes on the answer: %s",
    async (isAccepted, response) => {
      const url = "https://sign.in@m\u043E\u043En.example:8443/a?b=c"; // With Cyrillic letters.
      const call = begin({ a: { mode: "url", message: "Sign in.", elicitationId: "e1", url } });
      expect((await call.ask()).question).toEqual({
        id: "open_url",
        text: "Do you want to visit xn--mn-fmca.example:8443?",
        context:
          "URL: https://sign.in@xn--mn-fmca.example:8443/a?b=c\n" +
          "Host: xn--mn-fmca.example:8443\n\n" +
          "jp will not open it for you. Answering yes tells the server that you agree.\n\n" +
          "The server says:\n> Sign in.",
        answerType: { type: "boolean" },
        exclusive: true,
        persistence: "none",
      });
      expect(answersOf(await call.enter({ open_url: isAccepted }))).toEqual([{ a: response }]);
    },
  );

  test.each([
    ["a line feed", "\n"],
    ["a carriage return", "\r"],
    ["a line separator", "\u2028"],
    ["an empty line", "\n\n"],
  ])("cannot imitate jp's own lines about the URL, after %s", async (_name, lineEnd) => {
    const message = ["Sign in.", "URL: https://bank.example/", "Host: bank.example"].join(lineEnd);
    const url = "https://moon.example/";
    const call = begin({ a: { mode: "url", message, elicitationId: "e1", url } });
    const { context = "" } = (await call.ask()).question;
    const lines = context.split(/[\n\r\u2028]/);
    expect(lines.filter((line) => /^\s*(?:URL|Host):/.test(line))).toEqual([
      "URL: https://moon.example/",
      "Host: moon.example",
    ]);
    expect(lines).toContain("> URL: https://bank.example/");
    await call.enter({ open_url: false });
  });

  test("is refused if it asks for a secret, and the model gets the reason", async () => {
    counters("T-SEC-3");
    const call = begin({ a: form("Sign in.", { user: {}, pass: { format: "password" } }) });
    const asked = await call.ask();
    asked.onUnanswered?.();
    expect(questionsOf(asked).map(({ id, answerType }) => [id, answerType.type])).toEqual([
      ["user", "text"],
      ["pass", "secret"],
    ]);
    expect(asked.refusal).toEqual({
      reason: "no_prompt_backend",
      content:
        'The MCP server "test" did not run "ask": it asked for a secret ("pass") in a form, ' +
        "which was refused. Do not retry this tool call in this turn. " +
        "The user can allow it with providers.mcp.test.allow_secrets = true.",
    });
  });

  test.each([
    ["a field of an unknown type", form("?", { a: { type: "object" } })],
    ["a URL that is not http or https", visit("javascript:alert(1)")],
    ["an unknown mode", { mode: "voice", message: "Hello?" }],
    ["no message", { requestedSchema: { type: "object" } }],
  ])("is refused if jp cannot ask it, and the model gets the reason: %s", async (_, params) => {
    const asked = await begin({ a: params }).ask();
    asked.onUnanswered?.();
    expect(asked.refusal?.content).toContain("something invalid");
    expect(questionsOf(asked).map(({ text }) => text)).toEqual(["An invalid question."]);
  });
});

test("several questions are asked together, and each gets its answer (newer protocol)", async () => {
  const { servers } = inProcessServer("newer");
  const { executor } = await createTool(servers, { source: "mcp.test.ask" });
  const rounds = [{ a: MOON, b: MOON, c: visit("https://moon.example/"), d: form("", {}) }];
  const call = new AttemptedCall(executor, { rounds });
  const ids = questionsOf(await call.ask()).map(({ id }) => id);
  expect(ids).toEqual(["name", "b.name", "open_url", "consent"]);
  const answers = { name: "Io", "b.name": "Europa", open_url: false, consent: true };
  expect(answersOf(await call.enter(answers))).toEqual([
    {
      a: { action: "accept", content: { name: "Io" } },
      b: { action: "accept", content: { name: "Europa" } },
      c: { action: "decline" },
      d: { action: "accept", content: {} },
    },
  ]);
});

test("several questions of a call are asked one after the other (older protocol)", async () => {
  const { executor } = await createTool(inProcessServer("older").servers, {
    source: "mcp.test.ask",
  });
  const call = new AttemptedCall(executor, { rounds: [{ a: MOON, b: MOON }] });
  await call.ask();
  await call.ask({ name: "Io" });
  expect(answersOf(await call.enter({ name: "Europa" }))).toEqual([
    {
      a: { action: "accept", content: { name: "Io" } },
      b: { action: "accept", content: { name: "Europa" } },
    },
  ]);
});

/** Fields are texts unless they say otherwise. */
function form(message: string, fields: Readonly<Record<string, JsonObject>>): JsonObject {
  const properties = Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, { type: "string", ...field }]),
  );
  return { message, requestedSchema: { type: "object", properties } };
}

function visit(address: string): JsonObject {
  return { mode: "url", message: "Go there.", elicitationId: "e1", url: address };
}

function select(values: readonly string[]) {
  return { type: "select", options: values.map((value) => ({ value })) };
}
