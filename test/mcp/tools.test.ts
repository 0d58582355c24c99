/** MCP tools, from their config to calls on their server. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createMcpTool } from "../../src/reach/executor/mcp/create-mcp-tool.ts";
import type { AttemptRequest, Executor } from "../../src/reach/executor/index.ts";
import type { McpServers } from "../../src/reach/mcp/index.ts";
import { createTool, settingsOf } from "./attempted-call.ts";
import {
  errorOf,
  never,
  openServers,
  programSettings,
  TEST_PROGRAM,
  testServer,
} from "./support.ts";

let servers: McpServers;

beforeAll(() => {
  servers = openServers([
    programSettings("test", [TEST_PROGRAM]),
    { ...programSettings("broken", [TEST_PROGRAM, "--mode=exit"]), isOptional: true },
  ]);
});

afterAll(() => servers.close());

describe("a tool of a server", () => {
  test("is described by its server", async () => {
    const { description } = await createTool(servers, { source: "mcp.test" }, "echo");
    expect(description).toEqual({
      name: "echo",
      summary: "Does echo.",
      description: "It is only there for tests.",
      parameters: {
        type: "object",
        properties: { text: { type: "string", description: "What to say." } },
        required: ["text"],
      },
    });
  });

  test("uses the name and the texts of the config", async () => {
    const { description } = await createTool(servers, {
      source: "mcp.test.echo",
      summary: "Says it again.",
      description: "Mind the echo. {{description}}",
      examples: "echo(text: hello)",
      parameters: { text: { enum: ["hello"], description: "{{description}} Once." } },
    });
    expect(description).toEqual({
      name: "my_tool",
      summary: "Says it again.",
      description: "Mind the echo. Does echo. It is only there for tests.",
      examples: "echo(text: hello)",
      parameters: {
        type: "object",
        properties: {
          text: { type: "string", enum: ["hello"], description: "What to say. Once." },
        },
        required: ["text"],
      },
    });
  });

  test("runs on its server", async () => {
    const { executor } = await createTool(servers, { source: "mcp.test.echo" });
    const result = await attempt(executor, { arguments: { text: "hello" } });
    expect(result).toEqual({ type: "success", content: "hello" });
  });

  test("reports progress", async () => {
    const { executor } = await createTool(servers, { source: "mcp.test.progress" });
    const messages: string[] = [];
    await attempt(executor, { onProgress: (message) => messages.push(message) });
    expect(messages).toEqual(["1 of 3", "halfway", "done"]);
  });

  test("returns an error to the model", async () => {
    const { executor } = await createTool(servers, { source: "mcp.test.fail" });
    expect(await attempt(executor)).toEqual({
      type: "error",
      content: "the moon is in the wrong place",
    });
  });

  test("is cancelled by abort", async () => {
    const { executor } = await createTool(servers, { source: "mcp.test.wait" });
    const controller = new AbortController();
    const waiting = attempt(executor, { signal: controller.signal });
    controller.abort();
    expect(await waiting).toEqual({ type: "cancelled" });
    expect(await attempt(executor, { signal: AbortSignal.abort() })).toEqual({ type: "cancelled" });
  });

  test("has the configured time limit", async () => {
    const { executor } = await createTool(servers, { source: "mcp.test.wait", timeout_secs: 0.1 });
    expect(await attempt(executor)).toEqual({
      type: "error",
      content:
        'The MCP server "test" did not run "wait" within 0.1 s. It was cancelled. The limit is conversation.tools.my_tool.timeout_secs.',
    });
  });
});

describe("an unavailable tool", () => {
  test("is an error that lists similar tools of the server", async () => {
    const error = await errorOf(createTool(servers, { source: "mcp.test.ecko" }));
    expect(error.code).toBe("mcp_unknown_tool");
    expect(error.message).toBe('The MCP server "test" has no tool "ecko".');
    expect(error.hint).toMatch(/^Its most similar tools: echo, /);
  });

  test("is an error if its server does not start", async () => {
    const error = await errorOf(createTool(servers, { source: "mcp.moon.echo" }));
    expect(error.code).toBe("mcp_unknown_server");
  });

  test("is a warning if its server is optional and does not start", async () => {
    const settings = settingsOf({ source: "mcp.broken.echo" }, "my_tool");
    const absent = await createMcpTool({ settings, servers, signal: never });
    expect(absent).toMatchObject({ warning: { code: "mcp_start_failed" } });
  });

  test("stops waiting on abort", async () => {
    const settings = settingsOf({ source: "mcp.test.echo" }, "my_tool");
    const { servers: starting } = testServer(["--mode=hang"]);
    const controller = new AbortController();
    const waiting = createMcpTool({ settings, servers: starting, signal: controller.signal });
    controller.abort(new Error("never mind"));
    await expect(waiting).rejects.toThrow("never mind");
  });
});

function attempt(executor: Executor, request: Partial<AttemptRequest> = {}) {
  const defaults = {
    arguments: {},
    answers: {},
    secretAnswers: [],
    notes: {},
    call: {},
    signal: never,
  };
  return executor.attempt({ ...defaults, ...request });
}
