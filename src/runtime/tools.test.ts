import { expect, test } from "vitest";
import { mergeConfig, parseConfigOrThrow } from "../config/index.ts";
import { defineTool } from "../tool/index.ts";
import { type JsonObject, systemClock } from "../util/index.ts";
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
  ["fs_modify_file", {}, false],
  ["fs_delete_file", {}, false],
  ["make", { source: "local", command: "make" }, false],
  ["make", { source: "local", command: "make", idempotent: true }, true],
  ["fs_read_file", { idempotent: false }, false],
])("running %s with the config %j twice does no harm: %s", async (name, config, expected) => {
  expect(await isIdempotent(name, config)).toBe(expected);
});

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
    const found = await createOwnToolbox({ tools: [tool], toolConfig: { moon: config } }).find(
      "moon",
      signal,
    );
    expect(found?.isIdempotent).toBe(expected);
  },
);
