/** The reference servers of the protocol that keep state, with replies of ten calls that ask, write and read. */
import { mkdtempSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  type McpServerConfig,
  MemoryConversationStore,
  runTurn,
  type ToolConfigs,
} from "../../src/index.ts";
import { temporaryFolder } from "../../src/stores/temporary-workspace.fixture.ts";
import { FakeClock, ScriptedModel, ScriptedPrompter } from "../../src/testing/index.ts";
import type { JsonObject } from "../../src/util/index.ts";
import { bridgeToHttp } from "./http-bridge.ts";
import { filesystemServer, memoryServer, type StdioProgram } from "./reference-servers.ts";

interface Started {
  readonly server: McpServerConfig;
  readonly variables: StdioProgram["variables"];
}

type Calls = readonly (readonly [string, JsonObject])[];

/** Runs a reply that makes these calls. Permission is asked for every tool in `asked`. */
async function run({ server, variables }: Started, calls: Calls, asked: readonly string[]) {
  const steps = calls.map(([name, given], index) => {
    return { type: "tool_call", id: `call_${index}`, name, arguments: given } as const;
  });
  const prompter = new ScriptedPrompter({ permissions: () => ({ type: "run" }) });
  const toolConfig: ToolConfigs = {
    "*": { run: "unattended" },
    ...Object.fromEntries(asked.map((name) => [name, { run: "ask" }])),
  };
  const { events } = await runTurn(
    {
      conversation: await new MemoryConversationStore(new FakeClock()).create({}),
      model: new ScriptedModel({ replies: [steps, "Done."] }),
      prompter,
      mcpServers: { server },
      variables,
      toolConfig,
    },
    "Go.",
  );
  const results = events.filter((event) => event.type === "tool_call_response");
  const contents = calls.map((_, index) => {
    const result = results.find(({ id }) => id === `call_${index}`);
    return result?.isError === false ? result.content : `failed: ${result?.content}`;
  });
  return { contents, askedFor: prompter.permissions.map(({ toolCallId }) => toolCallId) };
}

function addMoon(name: string): Calls[number] {
  return ["create_entities", { entities: [{ name, entityType: "moon", observations: [] }] }];
}

/** The ids of the calls of these tools. */
function callsOf(calls: Calls, tools: readonly string[]): readonly string[] {
  return calls.flatMap(([name], index) => (tools.includes(name) ? [`call_${index}`] : []));
}

describe.each(["stdio", "http"] as const)("a reply with ten calls over %s", (way) => {
  async function start(program: StdioProgram): Promise<Started> {
    const { variables, ...command } = program;
    if (way === "stdio") {
      return { server: { ...command, variables: Object.keys(variables) }, variables };
    }
    const { url, close } = await bridgeToHttp(program);
    onTestFinished(close);
    return { server: { url }, variables: {} };
  }

  test("asks the person about every write to the memory server, and every read sees the writes before it", async () => {
    const read = ["read_graph", {}] as const;
    const calls: Calls = [
      read,
      addMoon("Io"),
      read,
      addMoon("Europa"),
      addMoon("Ganymede"),
      read,
      ["delete_entities", { entityNames: ["Io"] }],
      ["search_nodes", { query: "moon" }],
      addMoon("Callisto"),
      read,
    ];
    const asked = ["create_entities", "delete_entities", "search_nodes"];
    const { contents, askedFor } = await run(await start(memoryServer()), calls, asked);
    const seen = [0, 2, 5, 7, 9].map((index) =>
      ["Io", "Europa", "Ganymede", "Callisto"].filter((name) => contents[index]?.includes(name)),
    );
    expect(seen).toEqual([
      [],
      ["Io"],
      ["Io", "Europa", "Ganymede"],
      ["Europa", "Ganymede"],
      ["Europa", "Ganymede", "Callisto"],
    ]);
    expect(askedFor).toEqual(callsOf(calls, asked));
    expect(contents.filter((content) => content.startsWith("failed"))).toEqual([]);
  });

  test("asks the person about every change of a file, and every read sees the writes before it", async () => {
    const folder = mkdtempSync(path.join(temporaryFolder(), "files-"));
    const file = path.join(folder, "moons.txt");
    const write = (content: string) => ["write_file", { path: file, content }] as const;
    const edit = (oldText: string, newText: string) =>
      ["edit_file", { path: file, edits: [{ oldText, newText }] }] as const;
    const read = ["read_text_file", { path: file }] as const;
    const moved = path.join(folder, "satellites.txt");
    const calls: Calls = [
      write("one\n"),
      read,
      edit("one", "two"),
      read,
      edit("two", "three"),
      edit("three", "four"),
      read,
      ["move_file", { source: file, destination: moved }],
      ["list_directory", { path: folder }],
      ["read_text_file", { path: moved }],
    ];
    const asked = ["write_file", "edit_file", "move_file", "list_directory"];
    const { contents, askedFor } = await run(await start(filesystemServer(folder)), calls, asked);
    const readBack = [1, 3, 6, 8, 9].map((index) => contents[index]);
    expect(readBack).toEqual([
      expect.stringContaining("one"),
      expect.stringContaining("two"),
      expect.stringContaining("four"),
      expect.stringContaining("satellites.txt"),
      expect.stringContaining("four"),
    ]);
    expect(askedFor).toEqual(callsOf(calls, asked));
    expect(contents.filter((content) => content.startsWith("failed"))).toEqual([]);
    expect(readFileSync(moved, "utf8")).toBe("four\n");
  });
});
