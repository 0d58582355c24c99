import { execFileSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { createAskUser, createDescribeTools, createFileTools } from "../src/executor/index.ts";
import { verifies } from "./conformance/manifest.ts";
import { readDocument } from "./support/documents.ts";
import { temporaryFolder } from "../src/storage/temporary-workspace.fixture.ts";

/** Each folder of src, and the folders it may import from. */
const RINGS: Readonly<Record<string, readonly string[]>> = {
  util: [],
  process: ["util"],
  tool: ["util"],
  config: ["util", "tool"],
  conversation: ["util", "tool"],
  "json-schema": ["util", "config"],
  storage: ["util", "process", "conversation"],
  render: ["util", "tool", "conversation"],
  "serve-tool": ["util", "tool"],
  mcp: ["util", "process", "tool", "config"],
  provider: ["util", "json-schema", "tool", "conversation"],
  inquiry: ["util", "tool", "config", "conversation", "provider"],
  executor: ["util", "process", "json-schema", "tool", "config", "mcp"],
  trust: ["util", "tool", "config", "storage"],
  agent: ["util", "tool", "config", "conversation", "storage", "provider", "executor", "inquiry"],
  runtime: [
    "util",
    "tool",
    "config",
    "conversation",
    "storage",
    "provider",
    "mcp",
    "executor",
    "inquiry",
    "agent",
  ],
  "serve-mcp": [
    "util",
    "tool",
    "config",
    "conversation",
    "storage",
    "render",
    "provider",
    "executor",
    "inquiry",
    "agent",
    "runtime",
  ],
  terminal: ["util", "process", "tool", "render", "storage", "agent"],
  cli: [
    "util",
    "process",
    "tool",
    "config",
    "conversation",
    "storage",
    "mcp",
    "render",
    "provider",
    "executor",
    "inquiry",
    "agent",
    "trust",
    "runtime",
    "serve-mcp",
    "terminal",
  ],
  testing: [
    "util",
    "tool",
    "config",
    "conversation",
    "storage",
    "mcp",
    "render",
    "provider",
    "executor",
    "inquiry",
    "agent",
  ],
};
/** src/index.ts: everything but what touches a terminal or the process. */
const LIBRARY = [
  "util",
  "tool",
  "config",
  "conversation",
  "storage",
  "mcp",
  "render",
  "provider",
  "executor",
  "inquiry",
  "agent",
  "runtime",
];

/** To follow a question from a local tool to a person and back. */
const MOST_FILES_FOR_A_QUESTION = 12;
const MOST_LINES = 400;
const MOST_TEST_LINES = 600;

interface SourceFile {
  readonly name: string;
  readonly folder: string;
  readonly text: string;
  readonly imports: readonly string[];
}

const files = globSync("src/**/*.ts").map(readSource);
/** What is shipped: neither tests nor fixtures, which only tests, benchmarks and other fixtures import. */
const sources = files.filter(({ name }) => !/\.(test|fixture)\.ts$/.test(name));

describe("imports", () => {
  test("go only from a folder to those it may know", () => {
    const wrong = sources.flatMap(({ name, folder, imports }) =>
      imports
        .map((target) => folderOf(target))
        .filter((target) => target !== folder && !allowed(folder).includes(target))
        .map((target) => `${name} imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  test("of another folder go through its index", () => {
    const wrong = sources.flatMap(({ name, folder, imports }) =>
      imports
        .filter((target) => folderOf(target) !== folder && !target.endsWith("/index.ts"))
        .map((target) => `${name} imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  test("of Node are absent from the tool protocol and the conversation", () => {
    const wrong = sources
      .filter(({ folder }) => folder === "tool" || folder === "conversation")
      .filter(({ text }) => /from "node:/.test(text))
      .map(({ name }) => name);
    expect(wrong).toEqual([]);
  });

  test("of fixtures are left to tests", () => {
    const wrong = sources.flatMap(({ name, imports }) =>
      imports
        .filter((target) => target.endsWith(".fixture.ts"))
        .map((target) => `${name} imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  test("never start from a folder that is not in the list of rings", () => {
    const folders = new Set(sources.map(({ folder }) => folder).filter((folder) => folder !== ""));
    expect([...folders].filter((folder) => RINGS[folder] === undefined)).toEqual([]);
  });
});

describe("files", () => {
  test("are short enough to hold one concept", () => {
    const long = files
      .filter(({ name, text }) => {
        const most = name.endsWith(".test.ts") ? MOST_TEST_LINES : MOST_LINES;
        return text.split("\n").length > most;
      })
      .map(({ name }) => name);
    expect(long).toEqual([]);
  });

  test("are few and whole: a reader should not have to open a dozen for one idea", () => {
    const lengths = sources.map(({ text }) => text.split("\n").length).toSorted((a, b) => a - b);
    expect(lengths.length).toBeLessThan(400);
    expect(lengths[lengths.length >> 1]).toBeGreaterThan(80);
  });

  test("have names in kebab case that say what they own", () => {
    const banned = /(^|-)(utils?|helpers?|common|manager|misc)(\.|-|$)/;
    const wrong = files
      .map(({ name }) => path.basename(name))
      .filter(
        (name) =>
          !/^[a-z0-9]+(-[a-z0-9]+)*(\.test|\.fixture|\.d)?\.ts$/.test(name) || banned.test(name),
      );
    expect(wrong).toEqual([]);
  });

  test("name everything they export", () => {
    const wrong = sources.filter(({ text }) => /^export \*/m.test(text)).map(({ name }) => name);
    expect(wrong).toEqual([]);
  });

  test("say in their first lines what they own", () => {
    const wrong = sources
      .filter(({ name }) => !name.endsWith("/index.ts") && !name.endsWith(".d.ts"))
      .filter(({ text }) => !/^(#!.*\n)?(import .*\n|\n)*\/\*\*/.test(text))
      .map(({ name }) => name);
    expect(wrong).toEqual([]);
  });
});

test("a question passes through at most twelve files, which docs/architecture.md names in order", () => {
  // The program's first lines say what counts. util is left out: it has nothing that is specific to jp.
  const program = path.join(import.meta.dirname, "support", "question-path-program.ts");
  const output = execFileSync(process.execPath, [program, temporaryFolder()], { encoding: "utf8" });
  const measured = (JSON.parse(output) as readonly string[])
    .filter((file) => folderOf(file) !== "util")
    .map((file) => file.replace(/^src\//, ""));
  const [, section = ""] =
    readDocument("docs/architecture.md").text.split("## Follow one question");
  const [list = ""] = section.split("\n## ");
  const named = [...list.matchAll(/^\d+\. `(?<file>[^`]+)`/gm)].map(
    ({ groups }) => groups?.["file"],
  );
  expect(measured.length).toBeLessThanOrEqual(MOST_FILES_FOR_A_QUESTION);
  expect(named).toEqual(measured);
});

test("nothing in the agent knows a tool by its name", () => {
  verifies("083/answer-config/no-tool-name-in-routing", "083/ask-user/coordinator-does-the-rest");
  const names = [
    createAskUser(),
    createDescribeTools(async () => undefined),
    ...createFileTools({ root: "." }),
  ].map(({ tool }) => tool.name);
  const named = new RegExp(`\\b(${names.join("|")})\\b|\\bfs_|[aA]skUser|[dD]escribeTools`);
  const wrong = sources
    .filter(({ folder, text }) => folder === "agent" && named.test(text))
    .map(({ name }) => name);
  expect([names.length > 2, wrong]).toEqual([true, []]);
});

test("the turn loop handles no inquiry events and asks no inquiry model", () => {
  verifies("028/goal/invisible-to-the-turn-loop");
  const knowing = sources
    .filter(({ folder }) => folder === "agent")
    .filter(({ text }) => /inquiry_(request|response)|\.inquire\(/.test(text))
    .map(({ name }) => posix(name));
  expect(knowing.toSorted()).toEqual(["src/agent/inquiry.ts", "src/agent/state.ts"]);
});

test("who asks is decided by the executor of each kind of tool, and nowhere else", () => {
  verifies("082/source/rule-in-one-place");
  const deciding = sources
    // The type itself, and its form in the record.
    .filter(({ name }) => !/(tool\/question|inquiry-codec)\.ts$/.test(name))
    .filter(({ text }) => /\bsource: "(tool|assistant|user|other)"/.test(text))
    .map(({ name }) => posix(name));
  expect(deciding.toSorted()).toEqual([
    "src/executor/builtin/ask-user.ts",
    "src/executor/local/local-executor.ts",
    "src/executor/mcp/mcp-executor.ts",
    "src/tool/define-tool.ts",
  ]);
});

describe("only the command line", () => {
  test("ends the process or reads its arguments", () => {
    const wrong = sources
      .filter(({ folder }) => folder !== "cli")
      .filter(({ text }) => /process\.(exit|argv|env|cwd)\b/.test(text))
      .map(({ name }) => name);
    expect(wrong).toEqual([]);
  });

  test("and the terminal write to the standard streams", () => {
    const wrong = sources
      // A tool that is a program of its own speaks through its own streams.
      .filter(({ folder }) => !["cli", "terminal", "serve-tool"].includes(folder))
      .filter(({ text }) => /process\.(stdout|stderr)|console\.\w/.test(text))
      .map(({ name }) => name);
    expect(wrong).toEqual([]);
  });
});

function readSource(name: string): SourceFile {
  const text = readFileSync(name, "utf8");
  const specifiers = [...text.matchAll(/(?:from|import\() ?"(\.[^"]+)"/g)].map(
    ([, found]) => found ?? "",
  );
  const imports = specifiers.map((target) =>
    path.posix.join(path.posix.dirname(posix(name)), target),
  );
  return { name, folder: folderOf(posix(name)), text, imports };
}

/** The folder directly below src; empty for src/index.ts itself. */
function folderOf(file: string): string {
  const [, folder = "", ...rest] = file.split("/");
  return rest.length === 0 ? "" : folder;
}

function allowed(folder: string): readonly string[] {
  return folder === "" ? LIBRARY : (RINGS[folder] ?? []);
}

function posix(name: string): string {
  return name.split(path.sep).join("/");
}
