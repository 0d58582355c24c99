/** Servers that never respond, and servers that never stop sending. */
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import type { AttemptResult } from "../../src/reach/executor/index.ts";
import type { McpServers, UnscopedQuestion } from "../../src/reach/mcp/index.ts";
import { FakeClock } from "../../src/testing/index.ts";
import type { JsonObject } from "../../src/util/index.ts";
import { counters } from "../security/threats.ts";
import { createTool } from "./attempted-call.ts";
import { serveScriptedHttp } from "./scripted-server.ts";
import {
  call,
  GENERATIONS,
  getServer,
  httpSettings,
  inProcessServer,
  isRunning,
  never,
  serversOf,
  type TestServer,
  testServer,
  until,
} from "./support.ts";

const FIVE_MINUTES = 300_000;

const PROGRESS = {
  jsonrpc: "2.0",
  method: "notifications/progress",
  params: { progressToken: "TOKEN", progress: 1, message: "x".repeat(5000) },
};

describe.each(GENERATIONS)("a call (%s protocol)", (generation) => {
  test("ends after five minutes by default if it gets no response", async () => {
    counters("T-MCP-1");
    const clock = new FakeClock();
    const server = inProcessServer(generation, { context: { clock } });
    const result = attempt(server, "wait");
    await until(() => server.log().includes("waiting"));
    clock.advance(FIVE_MINUTES - 1);
    expect(await Promise.race([result, until(() => clock.sleepers === 1)])).toBeUndefined();
    clock.advance(1);
    expect(await result).toEqual({ type: "error", content: timedOut("wait") });
    await until(() => server.log().includes("cancelled"));
  });

  test("ends as well if it only reports progress, and shows only a few lines of it", async () => {
    counters("T-MCP-1");
    counters("T-MCP-2");
    const clock = new FakeClock();
    const server = testServer([`--mode=${generation}`], { context: { clock } });
    const shown: string[] = [];
    const begun = Promise.withResolvers<void>();
    const result = attempt(server, "flood", { line: PROGRESS }, (message) => {
      shown.push(message);
      if (shown.length === 20) begun.resolve();
    });
    await begun.promise;
    for (let minute = 0; minute < 5; minute += 1) clock.advance(60_000);
    expect(await result).toEqual({ type: "error", content: timedOut("flood") });
    expect(shown.length).toBeLessThan(20 * 6 + 1);
    expect(Math.max(...shown.map(({ length }) => length))).toBe(1000);
  });
});

test("a server that does not read replies is treated as crashed", async () => {
  counters("T-MCP-2");
  const server = testServer(["--mode=older"]);
  const line = { jsonrpc: "2.0", id: "COUNT", method: "ping" };
  expect(await attempt(server, "flood", { line })).toEqual({
    type: "error",
    content:
      'The MCP server "test" exited while it ran "flood": it sent requests without waiting for ' +
      "the replies. The next call restarts it.",
  });
  await until(() => !server.pids().some(isRunning));
});

test("a server that keeps asking outside of calls is ended after fifty questions", async () => {
  counters("T-MCP-2");
  const unscoped: UnscopedQuestion[] = [];
  const context = { onUnscopedQuestion: (question: UnscopedQuestion) => unscoped.push(question) };
  const server = testServer(["--mode=older"], { context });
  const requestedSchema = { type: "object", properties: { name: { type: "string" } } };
  const params = { message: "Well?", requestedSchema };
  const line = { jsonrpc: "2.0", id: "COUNT", method: "elicitation/create", params };
  const controller = new AbortController();
  const options = { arguments: { line }, signal: controller.signal };
  const waiting = call(await server.get(), "flood_when_cancelled", options);
  await until(() => server.log().includes("waiting"));
  controller.abort(new Error("never mind"));
  await expect(waiting).rejects.toThrow("never mind");
  await until(() => !server.pids().some(isRunning));
  expect(unscoped).toHaveLength(50);
  expect((await call(await server.get(), "pid")).type).toBe("success");
  expect(server.pids()).toHaveLength(2);
});

describe("a server over HTTP", () => {
  test.each([
    ["a result", 200, "application/json", " "],
    ["an event", 200, "text/event-stream", "data: x\n"],
    ["an error", 500, "text/plain", "x"],
  ])("is disconnected if it sends something endlessly: %s", async (_, status, type, piece) => {
    counters("T-MCP-2");
    const web = await scriptedServers((response) => {
      response.writeHead(status, { "content-type": type });
      sendForever(response, piece.repeat(100_000));
    });
    const { content } = await call(await getServer(web, "web"), "flood");
    expect(content).toBe(
      'The MCP server "web" disconnected while it ran "flood": it sent a message of more than 32 MiB. ' +
        "The next call reconnects.",
    );
  });

  test("is disconnected when its call is cancelled", async () => {
    counters("T-MCP-2");
    const called = Promise.withResolvers<ServerResponse>();
    const web = await scriptedServers((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
      called.resolve(response);
    });
    const controller = new AbortController();
    const waiting = call(await getServer(web, "web"), "wait", { signal: controller.signal });
    const response = await called.promise;
    controller.abort(new Error("never mind"));
    await expect(waiting).rejects.toThrow("never mind");
    await once(response, "close");
  });
});

/** A server that the callback responds for when a tool is called. */
async function scriptedServers(onCall: (response: ServerResponse) => void): Promise<McpServers> {
  const { url, close } = await serveScriptedHttp(onCall);
  onTestFinished(close);
  return serversOf([httpSettings("web", url)]);
}

function sendForever(response: ServerResponse, piece: string): void {
  const write = () => {
    while (!response.destroyed && response.write(piece));
    response.once("drain", write);
  };
  response.on("error", () => undefined);
  write();
}

async function attempt(
  { servers }: TestServer,
  tool: string,
  given: JsonObject = {},
  onProgress?: (message: string) => void,
): Promise<AttemptResult> {
  const { executor } = await createTool(servers, { source: `mcp.test.${tool}` });
  return executor.attempt({
    call: {},
    arguments: given,
    answers: {},
    secretAnswers: [],
    notes: {},
    signal: never,
    ...(onProgress !== undefined && { onProgress }),
  });
}

function timedOut(tool: string): string {
  return (
    `The MCP server "test" did not run "${tool}" within 300 s. It was cancelled. ` +
    "The limit is conversation.tools.my_tool.timeout_secs."
  );
}
