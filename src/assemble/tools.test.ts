import { existsSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Toolbox } from "../core/agent/index.ts";
import { mergeConfig, parseConfigOrThrow } from "../settings/config/index.ts";
import { temporaryFolder } from "../stores/temporary-workspace.fixture.ts";
import { defineTool } from "../record/tool/index.ts";
import { type JsonObject, systemClock } from "../util/index.ts";
import { servePages } from "../reach/web/serve-pages.fixture.ts";
import { shippedConfig } from "./shipped-tools.ts";
import { createOwnToolbox } from "./own-tools.ts";
import { openTools } from "./tools.ts";

const { signal } = new AbortController();

const machine = {
  root: import.meta.dirname,
  workspaceId: "",
  variables: {},
  version: "0",
  clock: systemClock,
  onWarning: () => undefined,
};

async function isIdempotent(name: string, config: JsonObject) {
  const own = parseConfigOrThrow("test", {
    conversation: { tools: { [name]: { enable: true, ...config } } },
  });
  await using tools = openTools(machine, mergeConfig(shippedConfig().builtins, own));
  return (await tools.toolbox.find(name, signal))?.isIdempotent;
}

test.each([
  ["fs_read_file", {}, true],
  ["fs_list_files", {}, true],
  ["fs_grep_files", {}, true],
  ["describe_tools", {}, true],
  ["ask_user", {}, true],
  ["web_fetch", {}, true],
  ["fs_modify_file", {}, false],
  ["fs_delete_file", {}, false],
  ["make", { source: "local", command: "make" }, false],
  ["make", { source: "local", command: "make", idempotent: true }, true],
  ["fs_read_file", { idempotent: false }, false],
])("running %s with the config %j twice does no harm: %s", async (name, config, expected) => {
  expect(await isIdempotent(name, config)).toBe(expected);
});

test.each([
  [{}, false],
  [{ check: true }, true],
])("a local tool with the config %j checks its calls in doubt: %s", async (config, expected) => {
  const make = { enable: true, source: "local", command: "make", ...config };
  const own = parseConfigOrThrow("test", { conversation: { tools: { make } } });
  await using tools = openTools(machine, mergeConfig(shippedConfig().builtins, own));
  const found = await tools.toolbox.find("make", signal);
  expect(found?.executor.check !== undefined).toBe(expected);
});

test.each([
  [true, {}, true],
  [true, { check: false }, false],
  [false, {}, false],
  [false, { check: true }, false],
])(
  "a program's tool that can check its calls (%s) does so with the config %j: %s",
  async (canCheck, config, expected) => {
    const tool = defineTool({
      name: "moon",
      description: "Looks at the moon.",
      parameters: { type: "object" },
      run: () => "full",
      ...(canCheck && { check: () => ({ type: "unknown" as const }) }),
    });
    const toolbox = await createOwnToolbox({ tools: [tool], toolConfig: { moon: config } });
    const found = await toolbox.find("moon", signal);
    expect(found?.executor.check !== undefined).toBe(expected);
  },
);

test.each([
  [true, {}, true],
  [undefined, {}, false],
  [undefined, { idempotent: true }, true],
  [true, { idempotent: false }, false],
])(
  "a program's tool that says %s, with the config %j: %s",
  async (isHarmless, config, expected) => {
    const tool = defineTool({
      name: "moon",
      description: "Looks at the moon.",
      parameters: { type: "object" },
      run: () => "full",
      ...(isHarmless !== undefined && { isIdempotent: isHarmless }),
    });
    const toolbox = await createOwnToolbox({ tools: [tool], toolConfig: { moon: config } });
    const found = await toolbox.find("moon", signal);
    expect(found?.isIdempotent).toBe(expected);
  },
);

async function sourceOf(toolbox: Toolbox, name: string) {
  return (await toolbox.find(name, signal))?.describeSource({});
}

test.each([
  ["deploy", { source: "local", command: "cat big.bin" }],
  ["shell_run", {}],
])("a tool keeps the digests of long files in the user's data folder: %s", async (name, config) => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 60_000 }); // The file was not written just now.
  onTestFinished(() => void vi.useRealTimers());
  const [root, dataFolder] = [temporaryFolder(), temporaryFolder()];
  writeFileSync(path.join(root, "big.bin"), Buffer.alloc(1024 ** 2 + 1));
  const own = parseConfigOrThrow("test", {
    conversation: { tools: { [name]: { ...config, enable: true } } },
  });
  const place = { ...machine, root, dataFolder, variables: { JP_USER_DATA_DIR: dataFolder } };
  await using tools = openTools(place, mergeConfig(shippedConfig().builtins, own));
  const found = await tools.toolbox.find(name, signal);
  await found?.describeSource({ command: "cat big.bin" });
  expect(existsSync(path.join(dataFolder, "file-digests.json"))).toBe(true);
});

test("a tool says where it comes from: jp, the program, or a command", async () => {
  const tool = defineTool({ name: "moon", description: "", parameters: {}, run: () => "full" });
  const own = await createOwnToolbox({ tools: [tool], askUser: true });
  const config = parseConfigOrThrow("test", {
    conversation: {
      tools: {
        fs_read_file: { enable: true },
        read: { source: "builtin.fs_read_file" },
        make: { source: "local", command: "make all" },
      },
    },
  });
  await using tools = openTools(machine, mergeConfig(shippedConfig().builtins, config));
  expect([
    await sourceOf(own, "moon"),
    await sourceOf(own, "ask_user"),
    await sourceOf(tools.toolbox, "fs_read_file"),
    await sourceOf(tools.toolbox, "read"),
    await sourceOf(tools.toolbox, "make"),
  ]).toEqual([
    { origin: { type: "program" } },
    { origin: { type: "builtin" } },
    { origin: { type: "builtin" } },
    { origin: { type: "builtin" }, identity: "fs_read_file" },
    expect.objectContaining({ origin: { type: "local", command: "make all" } }),
  ]);
});

test("a call says which files outside the workspace it names, also through links and where no one can tell", async () => {
  const [root, elsewhere] = [temporaryFolder(), temporaryFolder()];
  symlinkSync(elsewhere, path.join(root, "link"));
  const convert = {
    enable: true,
    source: "local",
    command: "convert",
    parameters: { paths: { type: "array", items: { type: "path" } }, note: { type: "string" } },
  };
  const own = parseConfigOrThrow("test", { conversation: { tools: { convert } } });
  await using tools = openTools({ ...machine, root }, mergeConfig(shippedConfig().builtins, own));
  const found = await tools.toolbox.find("convert", signal);
  const outside = async (...paths: readonly string[]) =>
    (await found?.describeSource({ paths, note: "/etc/hosts" }))?.outside;
  expect([
    await outside("a.txt", "./b/c.txt"),
    await outside("/etc/hosts", "../x", "a.txt"),
    await outside("link/a.txt"),
    await outside("~/a.txt"),
  ]).toEqual([
    [],
    ["/etc/hosts", path.join(path.dirname(root), "x")],
    [path.join(elsewhere, "a.txt")],
    ["~/a.txt"],
  ]);
});

test("web_fetch reaches the private hosts that the config names", async () => {
  await using server = await servePages((_path, response) => response.end("inside"));
  const own = parseConfigOrThrow("test", {
    web: { private_hosts: [server.host] },
    conversation: { tools: { web_fetch: { enable: true } } },
  });
  await using tools = openTools(machine, mergeConfig(shippedConfig().builtins, own));
  const tool = await tools.toolbox.find("web_fetch", signal);
  const outcome = await tool?.executor.attempt({
    call: {},
    arguments: { url: server.url },
    answers: {},
    secretAnswers: [],
    notes: {},
    signal,
  });
  expect(outcome).toMatchObject({ content: expect.stringMatching(/inside$/) });
});

test("a tool of a server that is not asked has the part of its source that config says", () => {
  const config = parseConfigOrThrow("test", {
    providers: { mcp: { sky: { url: "https://me:geheim@sky.example/mcp?key=1" } } },
    conversation: { tools: { look: { source: "mcp.sky.moon" } } },
  });
  const tools = openTools(machine, config);
  const found = tools.findOffline("look");
  expect(found && tools.describeOffline(found)).toEqual({
    origin: { type: "mcp", server: "sky", tool: "moon", command: "https://sky.example/mcp" },
    identity: { url: "https://me:geheim@sky.example/mcp?key=1" },
  });
});
