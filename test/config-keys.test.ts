/** No key of the config is without effect: each is read by the code named here, or refused by name. */
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { configSchema } from "../src/settings/config/schema/config-schema.ts";
import { findBehaviour } from "../src/settings/config/schema/node.ts";
import { unwrap, writtenTables } from "../src/settings/config/schema-node.ts";
import { ROOT } from "./support/documents.ts";
import type { GenericSchema } from "valibot";

/** Where keys are read, by the longest beginning of their path. `x` stands for any name. */
const READERS: Readonly<Record<string, string>> = {
  inherit: "src/settings/config/layers.ts",
  extends: "src/settings/config/load-config.ts",
  config_load_paths: "src/settings/config/load-config.ts",
  assistant: "src/settings/config/assistant-settings.ts",
  "conversation.title": "src/cli/command/query/title.ts",
  "conversation.tools": "src/settings/config/tool-settings.ts",
  "conversation.attachments": "src/settings/config/attachments.ts",
  "conversation.compaction": "src/settings/config/compaction-settings.ts",
  usage: "src/settings/config/usage-settings.ts",
  "conversation.inquiry.schema": "src/assemble/inquiry-models.ts",
  "conversation.inquiry.max_parallel": "src/assemble/inquiry-models.ts",
  "conversation.inquiry.assistant": "src/settings/config/assistant-settings.ts",
  "conversation.limits": "src/settings/config/tool-settings.ts",
  "conversation.surroundings": "src/assemble/surroundings.ts",
  "conversation.start_local": "src/assemble/open-conversation.ts",
  "conversation.default_id": "src/cli/command/query/conversation.ts",
  "conversation.max_cycles": "src/assemble/open-turn.ts",
  style: "src/cli/command/query/view-settings.ts",
  "style.lock_wait": "src/cli/command/query/conversation.ts",
  "style.prompt": "src/cli/host.ts",
  "style.notification": "src/cli/prompter.ts",
  editor: "src/cli/editor.ts",
  interrupt: "src/cli/command/query/interrupt.ts",
  user: "src/assemble/open-turn.ts",
  "providers.llm": "src/assemble/providers.ts",
  "providers.llm.aliases": "src/settings/config/assistant-settings.ts",
  "providers.llm.anthropic.chain_on_max_tokens": "src/assemble/open-turn.ts",
  "providers.mcp": "src/settings/config/mcp-settings.ts",
  notify: "src/settings/config/notify-settings.ts",
  shell: "src/settings/config/shell-settings.ts",
  undo: "src/assemble/changes.ts",
  proof: "src/settings/config/anchor-settings.ts",
  people: "src/assemble/directory.ts",
  storage: "src/cli/load-database.ts",
  web: "src/assemble/tools.ts",
  "conversation.mode": "src/assemble/tools.ts",
};

/** Keys that are passed on whole, so that the code does not name them. */
const PASSED_ON = [
  /^conversation\.tools\.x\.parameters\./, // JSON Schema.
  /\.target\b/, // The same as `assistant`.
  /^(?:conversation\.inquiry\.)?assistant\.(?:system_prompt_sections|instructions)\./,
  /\.checksum\./,
  /\.command\.(?:program|args|shell)$/,
  /\.style\.parameters\./, // Refused by value.
  /^conversation\.compaction\.auto\.rule\.summary\.model\.id\./, // The same as `assistant`.
  /\.(?:rules|attachments)\.(?:strategy|separator|discard_when_merged)$/, // How lists merge.
  /\.system_prompt\.(?:separator|discard_when_merged)$/, // Other versions record them with a text.
];

test("every key of the config has an effect, or is refused by name", () => {
  const keys = leavesOf(configSchema, []);
  expect(keys.length).toBeGreaterThan(120);
  const forgotten = keys.filter(({ isRefused, path: keyPath }) => {
    const key = keyPath.join(".");
    if (isRefused || PASSED_ON.some((pattern) => pattern.test(key))) return false;
    const reader = readerOf(keyPath);
    return reader === undefined || !mentions(reader, keyPath.at(-1) ?? "");
  });
  expect(forgotten.map(({ path: keyPath }) => keyPath.join("."))).toEqual([]);
});

test("every file that is named here exists", () => {
  const files = new Set(globSync("src/**/*.ts", { cwd: ROOT }));
  const named = Object.values(READERS);
  expect(named.filter((file) => !files.has(file))).toEqual([]);
});

function readerOf(keyPath: readonly string[]): string | undefined {
  for (let length = keyPath.length; length > 0; length -= 1) {
    const reader = READERS[keyPath.slice(0, length).join(".")];
    if (reader !== undefined) return reader;
  }
  return undefined;
}

function mentions(file: string, key: string): boolean {
  const text = readFileSync(path.join(ROOT, file), "utf8");
  return new RegExp(`\\b${key}\\b`).test(text);
}

interface Leaf {
  readonly path: readonly string[];
  readonly isRefused: boolean;
}

/** Every key that holds a value, with `x` for names. A table inside of itself is not followed. */
function leavesOf(schema: GenericSchema, keyPath: readonly string[]): readonly Leaf[] {
  const { unsupported } = findBehaviour(unwrap(schema));
  if (typeof unsupported === "string") return [{ path: keyPath, isRefused: true }];
  const tables = keyPath.length > 9 ? [] : writtenTables(schema);
  const inside = tables.flatMap(({ entries, rest }) => [
    ...Object.entries(entries).flatMap(([key, member]) => leavesOf(member, [...keyPath, key])),
    ...(rest === undefined ? [] : leavesOf(rest, [...keyPath, "x"])),
  ]);
  const isNamed = tables.some(({ rest }) => rest !== undefined);
  const own = inside.length > 0 && !isNamed ? [] : [{ path: keyPath, isRefused: false }];
  return [...own, ...inside].filter((leaf) => leaf.path.at(-1) !== "x");
}
