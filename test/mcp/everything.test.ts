/** The reference server of the protocol, over both transports. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { McpServerSettings } from "../../src/settings/config/index.ts";
import type { AttemptResult } from "../../src/reach/executor/index.ts";
import type { McpServer, McpServers } from "../../src/reach/mcp/index.ts";
import type { JsonObject } from "../../src/util/index.ts";
import { AttemptedCall, createTool, questionsOf } from "./attempted-call.ts";
import { type HttpProgram, startEverything } from "./http-programs.ts";
import {
  call,
  EVERYTHING,
  getServer,
  httpSettings,
  never,
  openServers,
  programSettings,
} from "./support.ts";

describe.each(["stdio", "http"] as const)("the reference server over %s", (way) => {
  let servers: McpServers;
  let server: McpServer;
  let program: HttpProgram | undefined;

  beforeAll(async () => {
    program = way === "http" ? await startEverything() : undefined;
    servers = openServers([settingsOf(program)]);
    server = await getServer(servers, "everything");
  });

  afterAll(async () => {
    await servers.close();
    await program?.stop();
  });

  test("lists its tools", async () => {
    const tools = await server.tools(never);
    const sum = tools.find(({ name }) => name === "get-sum");
    expect(sum).toMatchObject({
      description: expect.stringContaining("sum of two numbers"),
      inputSchema: { type: "object", required: ["a", "b"] },
    });
  });

  test("has resources, in text and in bytes", async () => {
    const [text] = await servers.readResource(
      "Everything",
      "demo://resource/dynamic/text/1",
      never,
    );
    const [blob] = await servers.readResource(
      "everything",
      "demo://resource/dynamic/blob/1",
      never,
    );
    expect([text, blob]).toEqual([
      { type: "text", text: expect.stringContaining("Resource 1") },
      { type: "bytes", data: expect.any(String) },
    ]);
    await expect(servers.readResource("everything", "demo://none", never)).rejects.toThrow(
      /"everything" could not read demo:\/\/none: /,
    );
    await expect(servers.readResource("other", "x:y", never)).rejects.toThrow(
      'Unknown MCP server "other".',
    );
  });

  test("offers tools that ask the user, but none that need sampling or roots", async () => {
    const names = (await server.tools(never)).map(({ name }) => name);
    expect(names.filter((name) => /elicitation|sampling|roots/.test(name))).toEqual([
      "trigger-elicitation-request",
      "trigger-url-elicitation",
    ]);
  });

  test("asks with every kind of field", async () => {
    const form = await begin("trigger-elicitation-request");
    const questions = questionsOf(await form.ask());
    const suggested = Object.fromEntries(
      questions.map(({ id, default: value }) => [id, value ?? null]),
    );
    expect(suggested).toEqual({
      name: null,
      check: null,
      firstLine: "It was a dark and stormy night.",
      email: null,
      homepage: null,
      birthdate: null,
      integer: "42",
      number: "3.14",
      untitledSingleSelectEnum: "Monica",
      untitledMultipleSelectEnum: ["Guitar"],
      titledSingleSelectEnum: "hero-1",
      titledMultipleSelectEnum: ["fish-1"],
      legacyTitledEnum: "pet-1",
    });
    const wrong = { name: "", check: true, email: "me", homepage: "moon", birthdate: "1.1.70" };
    const again = await form.ask({ ...suggested, ...wrong, integer: "101", number: "0x10" });
    expect(questionsOf(again).map(({ id }) => id)).toEqual([
      "name",
      "email",
      "homepage",
      "birthdate",
      "integer",
      "number",
    ]);
    const result = await form.enter({
      name: "Neil",
      email: "neil@moon.example",
      homepage: "https://moon.example/",
      birthdate: "1930-08-05",
      integer: "100",
      number: "-0",
    });
    expect(rawResultOf(result)).toEqual({
      action: "accept",
      content: {
        name: "Neil",
        check: true,
        firstLine: "It was a dark and stormy night.",
        email: "neil@moon.example",
        homepage: "https://moon.example/",
        birthdate: "1930-08-05",
        integer: 100,
        number: 0,
        untitledSingleSelectEnum: "Monica",
        untitledMultipleSelectEnum: ["Guitar"],
        titledSingleSelectEnum: "hero-1",
        titledMultipleSelectEnum: ["fish-1"],
        legacyTitledEnum: "pet-1",
      },
    });
  });

  test("asks to visit a URL, and gets the answer", async () => {
    const visit = await begin("trigger-url-elicitation", { url: "https://moon.example/a" });
    const { question } = await visit.ask();
    expect([question.id, question.exclusive, question.persistence]).toEqual([
      "open_url",
      true,
      "none",
    ]);
    expect(rawResultOf(await visit.enter({ open_url: false }))).toEqual({ action: "decline" });
  });

  test("requires a visit to a URL, and is called again after it", async () => {
    const given = { url: `https://moon.example/${way}`, errorPath: true };
    const visit = await begin("trigger-url-elicitation", given);
    const before = await visit.ask();
    expect(before.question).toMatchObject({ text: "Have you visited modelcontextprotocol.io?" });
    const after = await visit.ask({ open_url: true });
    expect(after.question).toMatchObject({ text: "Do you want to visit moon.example?" });
    expect(rawResultOf(await visit.enter({ open_url: true }))).toEqual({ action: "accept" });
  });

  test("fails if the user declines to visit the URL", async () => {
    const given = { url: `https://moon.example/${way}/no`, errorPath: true };
    const visit = await begin("trigger-url-elicitation", given);
    await visit.ask();
    expect(await visit.enter({ open_url: false })).toEqual({
      type: "error",
      content:
        'The MCP server "everything" did not run "trigger-url-elicitation": ' +
        "the user declined to visit the URL it requires.",
    });
  });

  async function begin(tool: string, given: JsonObject = {}): Promise<AttemptedCall> {
    const { executor } = await createTool(servers, { source: `mcp.everything.${tool}` });
    return new AttemptedCall(executor, given);
  }

  test("runs a tool", async () => {
    expect(await call(server, "get-sum", { arguments: { a: 2, b: 3 } })).toEqual({
      type: "success",
      content: "The sum of 2 and 3 is 5.",
    });
  });

  test("runs a tool that the server has only as a task, and passes on its question", async () => {
    const research = await begin("simulate-research-query", { topic: "python", ambiguous: true });
    const { question } = await research.ask();
    expect(question).toMatchObject({ id: "interpretation", answerType: { type: "select" } });
    expect(await research.enter({ interpretation: "snake" })).toMatchObject({
      type: "success",
      content: expect.stringContaining("# Research Report: python (snake)"),
    });
  });

  test("rejects invalid arguments", async () => {
    const { type, content } = await call(server, "get-sum", { arguments: { a: "two" } });
    expect(type).toBe("error");
    expect(content).toContain("expected number");
  });

  test("rejects an unknown tool", async () => {
    const { type, content } = await call(server, "get-moon");
    expect(type).toBe("error");
    expect(content).toContain("get-moon");
  });

  test("sends a picture, links and structured content", async () => {
    const [image, links, weather] = await Promise.all([
      call(server, "get-tiny-image"),
      call(server, "get-resource-links", { arguments: { count: 2 } }),
      call(server, "get-structured-content", { arguments: { location: "Chicago" } }),
    ]);
    expect(image?.content).toMatch(/\[image, image\/png, \d+ bytes\]/);
    expect(links?.content).toMatch(/\S \(demo:\/\/resource\/\S+\)/);
    expect(JSON.parse(weather?.content ?? "")).toHaveProperty("temperature");
  });

  test("reports progress", async () => {
    const messages: string[] = [];
    const { content } = await call(server, "trigger-long-running-operation", {
      arguments: { duration: 0.3, steps: 3 },
      onProgress: (message) => messages.push(message),
    });
    expect(content).toContain("operation completed");
    expect(messages).toEqual(["1 of 3", "2 of 3", "3 of 3"]);
  });

  test("can be aborted, and works afterwards", async () => {
    const controller = new AbortController();
    const waiting = call(server, "trigger-long-running-operation", {
      arguments: { duration: 60, steps: 600 },
      signal: controller.signal,
      onProgress: () => controller.abort(new Error("never mind")),
    });
    await expect(waiting).rejects.toThrow("never mind");
    expect((await call(server, "echo", { arguments: { message: "hi" } })).content).toBe("Echo: hi");
  });
});

/** The response that the server got, from its own report. */
function rawResultOf(result: AttemptResult): unknown {
  if (result.type !== "success") throw new Error(`unexpected result ${JSON.stringify(result)}`);
  return JSON.parse(result.content.replace(/^.*Raw result: /s, ""));
}

function settingsOf(program: HttpProgram | undefined): McpServerSettings {
  return program === undefined
    ? programSettings("everything", [EVERYTHING, "stdio"])
    : httpSettings("everything", program.url);
}
