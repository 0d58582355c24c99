/** Servers that offer all of their tools, and tools of the same name among them. */
import { expect, test } from "vitest";
import { parseConfigOrThrow } from "../../src/settings/config/index.ts";
import { openTools, switchServerTools } from "../../src/assemble/index.ts";
import { type JsonObject, systemClock } from "../../src/util/index.ts";
import { counters } from "../security/threats.ts";
import { ScriptedTransport } from "./scripted-server.ts";
import { never, programSettings, serversOf } from "./support.ts";

const machine = {
  root: import.meta.dirname,
  workspaceId: "",
  variables: {},
  version: "0",
  clock: systemClock,
  onWarning: () => undefined,
};

/** Two servers, `a` and `b`, each with the tools that it has been given. */
function scene(tools: Record<string, readonly string[]>) {
  const transports = new Map<string, ScriptedTransport>();
  const servers = serversOf(
    Object.keys(tools).map((name) => programSettings(name, [])),
    {
      createLink: ({ name }) => {
        const transport = new ScriptedTransport({
          get "tools/list"() {
            const inputSchema = { type: "object" };
            return { tools: tools[name]?.map((tool) => ({ name: tool, inputSchema })) };
          },
        });
        transports.set(name, transport);
        return {
          transport,
          endReason: undefined,
          lastLines: [],
          fail: () => undefined,
          close: () => transport.close(),
        };
      },
    },
  );
  const configOf = (toolConfig: JsonObject = {}) =>
    parseConfigOrThrow("a test", {
      providers: {
        mcp: Object.fromEntries(
          Object.keys(tools).map((name) => [name, { command: name, all_tools: true }]),
        ),
      },
      conversation: { tools: toolConfig },
    });
  const warnings: string[] = [];
  const onWarning = (message: string) => void warnings.push(message);
  return {
    servers,
    configOf,
    warnings,
    /** Opened anew, as for each turn. */
    open: (toolConfig?: JsonObject) =>
      openTools({ ...machine, onWarning }, configOf(toolConfig), { servers }),
    /** The server has these tools from now on, and says so. */
    list: (name: string, ...listed: readonly string[]) => {
      tools[name] = listed;
      const method = "notifications/tools/list_changed";
      transports.get(name)?.onmessage?.({ jsonrpc: "2.0", method });
    },
  };
}

const CLASH = {
  code: "tool_name_clash",
  message: 'Two tools are named echo: one of the MCP server "a", and one of the MCP server "b".',
  hint:
    'Set providers.mcp.b.all_tools to a prefix, for example "b_". Or choose one: ' +
    'set conversation.tools.echo.source to "mcp.a.echo" or "mcp.b.echo".',
};

test("two servers that offer tools of the same name lose these two, with the reason, and no others", async () => {
  counters("T-MCP-4");
  const { open, warnings } = scene({ a: ["echo"], b: ["moon", "echo"] });
  const tools = open();
  expect((await tools.toolbox.schemas(never)).map(({ name }) => name)).toEqual(["moon"]);
  expect(warnings).toEqual([`${CLASH.message} Neither is available. ${CLASH.hint}`]);
  expect(await tools.toolbox.find("moon", never)).toBeDefined();
  await expect(tools.toolbox.find("echo", never)).rejects.toMatchObject(CLASH);
  expect((await tools.open("moon", never)).description.name).toBe("moon");
  await expect(tools.open("echo", never)).rejects.toMatchObject(CLASH);
});

test("one server that offers two tools of the same name loses both", async () => {
  const { toolbox } = scene({ a: ["the.moon", "the_moon", "sun"] }).open();
  expect((await toolbox.schemas(never)).map(({ name }) => name)).toEqual(["sun"]);
  await expect(toolbox.find("the_moon", never)).rejects.toMatchObject({
    code: "tool_name_clash",
    message: 'Two tools of the MCP server "a" are named the_moon.',
  });
});

test("config that says whose tool has the name decides", async () => {
  const { toolbox } = scene({ a: ["echo"], b: ["echo"] }).open({ echo: { source: "mcp.b.echo" } });
  const tool = await toolbox.find("echo", never);
  expect([
    (await toolbox.schemas(never)).map(({ name }) => name),
    await tool?.describeSource({}),
  ]).toMatchObject([["echo"], { origin: { server: "b" } }]);
});

test("a server that starts to offer another one's tool does not get its calls, in the next turn either", async () => {
  counters("T-MCP-4");
  const { open, list } = scene({ a: ["echo"], b: ["moon"] });
  const { toolbox } = open();
  await toolbox.schemas(never);
  list("b", "moon", "echo");
  const tool = await toolbox.find("echo", never);
  expect(await tool?.describeSource({})).toMatchObject({ origin: { server: "a" } });
  await expect(open().toolbox.find("echo", never)).rejects.toMatchObject(CLASH);
});

test("-t and -T that name a tool of several servers are an error, and others work", async () => {
  const { servers, configOf } = scene({ a: ["echo"], b: ["moon", "echo"] });
  const switched = (name?: string) => {
    const directives = [{ isEnabled: false, ...(name !== undefined && { name }) }];
    return switchServerTools(configOf(), { directives, servers });
  };
  await expect(switched("echo")).rejects.toMatchObject(CLASH);
  expect((await switched("moon")).conversation?.tools).toHaveProperty("moon");
  expect((await switched()).conversation?.tools).not.toHaveProperty("echo");
});
