/** The source of an MCP tool: what a person permits, and what makes it another tool. */
import { describe, expect, test } from "vitest";
import type { McpServerSettings } from "../../src/settings/config/index.ts";
import { changedParts } from "../../src/reach/executor/changed-parts.fixture.ts";
import type { RunnableTool } from "../../src/reach/executor/index.ts";
import type { ServerLink } from "../../src/reach/mcp/index.ts";
import type { JsonObject } from "../../src/util/index.ts";
import { counters } from "../security/threats.ts";
import { createTool } from "./attempted-call.ts";
import { ScriptedTransport } from "./scripted-server.ts";
import {
  call,
  GENERATIONS,
  httpSettings,
  inProcessServer,
  programSettings,
  serversOf,
} from "./support.ts";

const MOON: JsonObject = {
  name: "moon",
  description: "Looks at the moon.",
  inputSchema: { type: "object", properties: { phase: { type: "string" } } },
  annotations: { readOnlyHint: true, title: "Moon" },
};

interface Scene {
  readonly tool: RunnableTool;
  /** The server lists its tool differently from now on, and says so. */
  readonly list: (...tools: readonly JsonObject[]) => void;
}

async function scene(
  settings: McpServerSettings = programSettings("sky", ["a b"]),
): Promise<Scene> {
  let tools: readonly JsonObject[] = [MOON];
  const transport = new ScriptedTransport({
    get "tools/list"() {
      return { tools };
    },
  });
  const link: ServerLink = {
    transport,
    endReason: undefined,
    lastLines: [],
    fail: () => undefined,
    close: () => transport.close(),
  };
  const servers = serversOf([settings], { createLink: () => link });
  return {
    tool: await createTool(servers, { source: "mcp.sky.moon" }),
    list: (...listed) => {
      tools = listed;
      const method = "notifications/tools/list_changed";
      transport.onmessage?.({ jsonrpc: "2.0", method });
    },
  };
}

test("a tool of a server is described by its server, its own name there, and its definition", async () => {
  const { tool } = await scene();
  const { name: _name, ...definition } = MOON;
  expect([tool.description.name, await tool.describeSource({})]).toEqual([
    "my_tool",
    {
      origin: {
        type: "mcp",
        server: "sky",
        tool: "moon",
        command: `${process.execPath} 'a b'`,
      },
      identity: { command: process.execPath, arguments: ["a b"] },
      definition,
    },
  ]);
});

test("the address of a server is shown without credentials, query and fragment", async () => {
  const url = "https://me:geheim@sky.example:8443/mcp?key=geheim#geheim";
  const { tool } = await scene(httpSettings("sky", url, { Authorization: "geheim" }));
  expect(await tool.describeSource({})).toMatchObject({
    origin: { server: "sky", command: "https://sky.example:8443/mcp" },
    identity: { url },
  });
  expect(JSON.stringify(await tool.describeSource({}))).not.toContain("Authorization");
});

test("the word of a server that its tool only reads does not make it a tool that reads", async () => {
  counters("T-MODE-1");
  const { tool } = await scene();
  expect(tool.effect).toBeUndefined();
});

describe("the definition of a tool", () => {
  test.each<readonly [what: string, change: JsonObject]>([
    ["description", { description: "Looks at the moon, and sells it." }],
    ["input schema", { inputSchema: { type: "object", properties: {} } }],
    ["annotations", { annotations: { readOnlyHint: false, title: "Moon" } }],
  ])("is another one if this changes: %s", async (_, change) => {
    counters("T-MCP-3");
    const { tool, list } = await scene();
    const before = await tool.describeSource({});
    list({ ...MOON, ...change });
    expect(changedParts(before, await tool.describeSource({}))).toEqual(["definition"]);
  });

  test("stays the same if only its metadata or icons, or another tool, change", async () => {
    const { tool, list } = await scene();
    const before = await tool.describeSource({});
    const icons = [{ src: "https://sky.example/moon.png" }];
    list({ ...MOON, _meta: { seen: 1 }, icons }, { ...MOON, name: "sun" });
    expect(changedParts(before, await tool.describeSource({}))).toEqual([]);
  });

  test("says so if the server no longer lists the tool", async () => {
    const { tool, list } = await scene();
    list();
    expect((await tool.describeSource({})).definition).toEqual({ missing: true });
  });

  test("says so if the server is unavailable", async () => {
    const { servers } = inProcessServer("newer");
    const tool = await createTool(servers, { source: "mcp.test.echo" });
    await servers.close();
    expect((await tool.describeSource({})).definition).toEqual({ unavailable: true });
  });

  test.each(GENERATIONS)("is listed again after a change (%s protocol)", async (generation) => {
    const { servers, get, log } = inProcessServer(generation);
    const tool = await createTool(servers, { source: "mcp.test.echo" });
    const before = await tool.describeSource({});
    await call(await get(), "grow");
    const after = await tool.describeSource({});
    const listings = log().filter((line) => line.startsWith("listed"));
    expect([changedParts(before, after), listings]).toMatchObject([[], { length: 2 }]);
  });
});
