import { mkdirSync, symlinkSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import type { PartialConfig } from "../settings/config/index.ts";
import { temporaryFolder } from "../stores/temporary-workspace.fixture.ts";
import { type FirstMessage, whyNotAsked } from "./decide-tools.ts";

const FIRST: FirstMessage = {
  isInteractive: true,
  flags: {},
  layers: [
    { name: "defaults", config: ofTool("*", { run: "ask" }), isBase: true },
    { name: "own", config: { user: { name: "Ada" } } },
  ],
  environment: { variables: {}, home: "/home/ada", platform: "linux" },
  root: "/home/ada/shop",
};

function ofTool(name: string, tool: object): PartialConfig {
  return { conversation: { tools: { [name]: tool } } };
}

function withLayer(config: PartialConfig, name = "own"): FirstMessage {
  return { ...FIRST, layers: [...FIRST.layers, { name, config }] };
}

function withVariable(CI: string): FirstMessage {
  return { ...FIRST, environment: { ...FIRST.environment, variables: { CI } } };
}

describe("what models may do in a folder", () => {
  test.each<readonly [string, FirstMessage]>([
    ["a person at a terminal", FIRST],
    ["text that is named as the format", { ...FIRST, flags: { format: "text", persist: true } }],
    ["an empty CI", withVariable("")],
    ["an entry for tools that is empty", withLayer(ofTool("*", {}))],
    [
      "a conversation that records the default",
      withLayer(ofTool("*", { run: "ask" }), "conversation"),
    ],
    ["a folder beside the home", { ...FIRST, root: "/home/adam" }],
  ])("is asked before the first message: %s", (_, first) => {
    expect(whyNotAsked(first)).toBeUndefined();
  });

  test.each<readonly [string, FirstMessage, string]>([
    ["a pipe", { ...FIRST, isInteractive: false }, "no_person"],
    ["--non-interactive or --defer", { ...FIRST, flags: { nonInteractive: true } }, "no_person"],
    ["CI", withVariable("true"), "no_person"],
    ["--format json", { ...FIRST, flags: { format: "json" } }, "no_person"],
    ["--schema", { ...FIRST, flags: { schema: {} } }, "no_person"],
    ["--no-persist", { ...FIRST, flags: { persist: false } }, "not_kept"],
    ["--enqueue", { ...FIRST, flags: { isForWorker: true } }, "not_kept"],
    ["-t", { ...FIRST, flags: { directives: [{ isEnabled: true }] } }, "decided"],
    ["-T fs", { ...FIRST, flags: { directives: [{ isEnabled: false, name: "fs" }] } }, "decided"],
    ["config of a tool", withLayer(ofTool("shell_run", { enable: { state: false } })), "decided"],
    ["config of all tools", withLayer(ofTool("*", { run: "ask" })), "decided"],
    ["a mode", withLayer({ conversation: { mode: "plan" } }), "decided"],
    ["tool_choice", withLayer({ assistant: { tool_choice: "none" } }), "decided"],
    [
      "a conversation that has a tool",
      withLayer(ofTool("fs_read_file", { enable: { state: true } }), "conversation"),
      "decided",
    ],
    ["the home folder", { ...FIRST, root: "/home/ada" }, "wide_folder"],
    ["a folder with the home in it", { ...FIRST, root: "/home" }, "wide_folder"],
    ["the root folder", { ...FIRST, root: "/" }, "wide_folder"],
  ])("is not asked: %s", (_, first, why) => {
    expect(whyNotAsked(first)).toBe(why);
  });

  test("is not asked in a folder that links to the home", () => {
    const folder = temporaryFolder();
    const home = path.join(folder, "home");
    mkdirSync(home);
    symlinkSync(home, path.join(folder, "link"));
    const environment = { ...FIRST.environment, home };
    expect(whyNotAsked({ ...FIRST, environment, root: path.join(folder, "link") })).toBe(
      "wide_folder",
    );
  });
});
