/** The reference server of the protocol, over both ways to reach it. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { McpServerSettings } from "../../src/config/index.ts";
import type { McpServer, McpServers } from "../../src/mcp/index.ts";
import { type HttpProgram, startEverything } from "./http-programs.ts";
import { call, EVERYTHING, getServer, never, openServers, programSettings } from "./support.ts";

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

  test("offers nothing that asks, because nobody would answer", async () => {
    const names = (await server.tools(never)).map(({ name }) => name);
    expect(names.filter((name) => /elicitation|sampling|roots/.test(name))).toEqual([]);
  });

  test("runs a tool", async () => {
    expect(await call(server, "get-sum", { arguments: { a: 2, b: 3 } })).toEqual({
      type: "success",
      content: "The sum of 2 and 3 is 5.",
    });
  });

  test("refuses arguments that do not fit", async () => {
    const { type, content } = await call(server, "get-sum", { arguments: { a: "two" } });
    expect(type).toBe("error");
    expect(content).toContain("expected number");
  });

  test("refuses a tool that it does not have", async () => {
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
    expect(image?.content).toMatch(/\[image, image\/png, \d+ bytes; not shown\]/);
    expect(links?.content).toMatch(/\S \(demo:\/\/resource\/\S+\)/);
    expect(JSON.parse(weather?.content ?? "")).toHaveProperty("temperature");
  });

  test("tells of its progress", async () => {
    const messages: string[] = [];
    const { content } = await call(server, "trigger-long-running-operation", {
      arguments: { duration: 0.3, steps: 3 },
      onProgress: (message) => messages.push(message),
    });
    expect(content).toContain("operation completed");
    expect(messages).toEqual(["1 of 3", "2 of 3", "3 of 3"]);
  });

  test("is not waited for after an abort, and works afterwards", async () => {
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

function settingsOf(program: HttpProgram | undefined): McpServerSettings {
  const settings = programSettings("everything", [EVERYTHING, "stdio"]);
  if (program === undefined) return settings;
  const { name, isOptional, startupTimeoutMs } = settings;
  const { url, headers } = program;
  return { type: "http", name, isOptional, startupTimeoutMs, url, headers };
}
