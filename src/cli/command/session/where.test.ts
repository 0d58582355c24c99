import { describe, expect, test } from "vitest";
import { mergeConfig, type Mode, type PartialConfig } from "../../../settings/config/index.ts";
import { shippedConfig } from "../../../assemble/index.ts";
import { textWidth } from "../../../surfaces/render/index.ts";
import { describeAllowed, describeWhere } from "./where.ts";

const MODEL = {
  assistant: { model: { id: { provider: "anthropic", name: "claude-sonnet-4-5" } } },
};
const READING = ["fs_read_file", "fs_list_files", "fs_grep_files"];
const EDITING = ["fs_create_file", "fs_modify_file", "fs_edit", "fs_delete_file"];
const ALL = [...READING, ...EDITING, "shell_run"];

function withTools(names: readonly string[], more: PartialConfig = {}): PartialConfig {
  const on = names.map((name) => [name, { enable: { state: true } }]);
  const enabled = { conversation: { tools: Object.fromEntries(on) } };
  return [MODEL, enabled, more].reduce<PartialConfig>(mergeConfig, shippedConfig().builtins);
}

function where(folder: string, given: Partial<Parameters<typeof describeWhere>[0]> = {}) {
  const parts = { folder, home: "/home/ana", config: withTools(ALL), mode: "ask" as const };
  return describeWhere({ ...parts, isUndecided: false, ...given }, 80);
}

describe("the first line of a session", () => {
  test("has the folder, the model, the mode, and what models may do", () => {
    expect(where("/home/ana/shop", { config: withTools(READING) })).toBe(
      "~/shop · anthropic/claude-sonnet-4-5 · mode ask: reads files",
    );
  });

  test("leaves out the provider, and keeps the end of the folder, to fit the screen", () => {
    const line = where("/home/ana/code/clients/acme/web-shop");
    expect([line, textWidth(line) <= 80]).toEqual([
      "…/acme/web-shop · claude-sonnet-4-5 · mode ask: reads files, asks to edit or run",
      true,
    ]);
  });

  test("shortens names without a break, and shows control characters", () => {
    const name = `claude-${"long-".repeat(20)}\u001b[2J`;
    const id = { provider: "openrouter", name };
    const config = mergeConfig(withTools(ALL), { assistant: { model: { id } } });
    const line = where(`/srv/${"folder".repeat(20)}`, { config });
    expect(line).toMatch(
      /^…\/folder.*… · claude-long-.*… · mode ask: reads files, asks to edit or run$/,
    );
    expect([textWidth(line), line.includes("\u001b")]).toEqual([80, false]);
  });

  test("says that no model is chosen, and that jp asks what models may do", () => {
    const config = shippedConfig().builtins;
    expect(where("/home/ana", { config, isUndecided: true })).toBe(
      "~ · no model chosen · mode ask: jp asks first what it may do",
    );
  });
});

describe("what models may do", () => {
  test.each<[Mode, readonly string[], string]>([
    ["ask", [], "no tools for files or commands"],
    ["ask", READING, "reads files"],
    ["ask", [...READING, ...EDITING], "reads files, asks to edit"],
    ["ask", [...READING, "shell_run"], "reads files, asks to run commands"],
    ["ask", ALL, "reads files, asks to edit or run"],
    ["plan", ALL, "only reads files"],
    ["plan", ["shell_run"], "changes nothing"],
    ["edits", [...READING, ...EDITING], "edits files"],
    ["edits", ALL, "edits files, asks to run commands"],
    ["sandbox", ALL, "runs commands, asks to edit"],
  ])("in mode %s with %j is said in a few words: %s", (mode, names, words) => {
    expect(describeAllowed(withTools(names), mode)).toBe(words);
  });

  test("does not ask about what the config allows", () => {
    const config = withTools(ALL, {
      conversation: { tools: { shell_run: { run: "unattended" } } },
    });
    expect(describeAllowed(config, "ask")).toBe("runs commands, asks to edit");
  });
});
