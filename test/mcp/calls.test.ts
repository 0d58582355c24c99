import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { McpServer, McpServers } from "../../src/reach/mcp/index.ts";
import { counters } from "../security/threats.ts";
import { ScriptedTransport } from "./scripted-server.ts";
import {
  call,
  GENERATIONS,
  getServer,
  never,
  openServers,
  programSettings,
  serversOf,
  TEST_PROGRAM,
  until,
} from "./support.ts";

describe("a result", () => {
  let servers: McpServers;
  let server: McpServer;

  beforeAll(async () => {
    servers = openServers([programSettings("test", [TEST_PROGRAM])]);
    server = await getServer(servers, "test");
  });

  afterAll(() => servers.close());

  test("is the text of all parts, with a note for binary content", async () => {
    const { content } = await call(server, "everything");
    expect(content.split("\n\n")).toEqual([
      "first",
      "[image, image/png, 20 bytes]",
      "[audio, audio/wav, 20 bytes]",
      "moon.txt (file:///moon.txt)",
      "file:///a.txt\n```\nembedded\n```",
      "[resource file:///a.bin, x/y, 20 bytes]",
      "last",
    ]);
  });

  test("is its structured content if there is no text", async () => {
    expect(await call(server, "structured")).toEqual({
      type: "success",
      content: '{"moon":"full"}',
    });
  });

  test("is accepted even if it does not match the output schema", async () => {
    await server.tools(never);
    expect(await call(server, "mismatched")).toEqual({ type: "success", content: "as text" });
  });

  test("is an error if the tool or the server reports one", async () => {
    expect(await Promise.all([call(server, "fail"), call(server, "refuse")])).toEqual([
      { type: "error", content: "the moon is in the wrong place" },
      {
        type: "error",
        content:
          'The MCP server "test" answered the call of "refuse" with an error: not on a full moon.',
      },
    ]);
  });

  test("of more than one mebibyte is truncated, with a note", async () => {
    const { content } = await call(server, "large", { arguments: { characters: 1_000_000 } });
    expect(content.slice(0, 3)).toBe("äää");
    expect(content.slice(-80)).toContain("ä\n[Truncated: 951424 of 2000000 bytes omitted.]");
  });

  test("of many mebibytes arrives complete", async () => {
    const { type } = await call(server, "large", { arguments: { characters: 6_000_000 } });
    expect(type).toBe("success");
  });
});

test.each<[string, unknown]>([
  ["has no content", { content: "done" }],
  ["has a block without a type", { content: [{ text: "done" }] }],
  [
    "has an unknown role for its audience",
    {
      content: [{ type: "text", text: "done", annotations: { audience: ["me"] } }],
    },
  ],
])("a call whose result is invalid is reported as run: it %s", async (_name, result) => {
  counters("T-MCP-6");
  const transport = new ScriptedTransport({ "tools/call": result });
  const link = {
    transport,
    endReason: undefined,
    lastLines: [],
    fail: () => undefined,
    close: () => transport.close(),
  };
  const servers = serversOf([programSettings("test", [])], { createLink: () => link });
  const { type, content } = await call(await getServer(servers, "test"), "pay");
  await servers.close();
  expect([type, content.split(": ")[0], content.split(". ").at(-1)]).toEqual([
    "error",
    'The MCP server "test" ran "pay", and its result is invalid',
    "Its effects may have taken place.",
  ]);
});

describe.each(GENERATIONS)("a call (%s protocol)", (mode) => {
  let folder: string;
  const log = () => path.join(folder, "log");
  const count = (line: string) => readFileSync(log(), "utf8").split(`${line}\n`).length - 1;
  let servers: McpServers;
  let server: McpServer;

  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), "jp-test-"));
    const flags = [`--mode=${mode}`, `--log=${log()}`];
    servers = openServers([programSettings("test", [TEST_PROGRAM, ...flags])]);
    server = await getServer(servers, "test");
  });

  afterAll(async () => {
    await servers.close();
    rmSync(folder, { recursive: true });
  });

  test("reports progress", async () => {
    const messages: string[] = [];
    const onProgress = (message: string) => messages.push(message);
    expect((await call(server, "progress", { onProgress })).content).toBe("finished");
    expect(messages).toEqual(["1 of 3", "halfway", "done"]);
  });

  test("sends its idempotency key beside what the protocol itself sends", async () => {
    const messages: string[] = [];
    const onProgress = (message: string) => messages.push(message);
    const { content } = await call(server, "meta", { idempotencyKey: "4f1b", onProgress });
    expect(JSON.parse(content)).toMatchObject({
      "jp-ts/idempotency-key": "4f1b",
      progressToken: expect.any(Number),
    });
  });

  test("is cancelled by abort, and the server keeps running", async () => {
    const [waiting, cancelled] = [count("waiting"), count("cancelled")];
    const controller = new AbortController();
    const result = call(server, "wait", { signal: controller.signal });
    await until(() => count("waiting") > waiting);
    const reason = new Error("never mind");
    controller.abort(reason);
    await expect(result).rejects.toBe(reason);
    await until(() => count("cancelled") > cancelled);
    expect((await call(server, "generation")).content).toBe(mode);
  });

  test("is not sent if it is already aborted", async () => {
    const waiting = count("waiting");
    const reason = new Error("never mind");
    await expect(call(server, "wait", { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    await call(server, "pid");
    expect(count("waiting")).toBe(waiting);
  });

  test("is cancelled at its time limit", async () => {
    const cancelled = count("cancelled");
    expect(await call(server, "wait", { timeoutMs: 200 })).toEqual({
      type: "error",
      content:
        'The MCP server "test" did not run "wait" within 0.2 s. It was cancelled. The limit is conversation.tools.wait.timeout_secs.',
    });
    await until(() => count("cancelled") > cancelled);
  });
});
