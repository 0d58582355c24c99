import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import {
  createAskUser,
  createDescribeTools,
  createFileTools,
} from "../src/reach/executor/index.ts";
import { verifies } from "./conformance/manifest.ts";

/** The wings of src, from the ground up, and their rooms. A wing without rooms is one itself. */
const WINGS: Readonly<Record<string, readonly string[]>> = {
  util: [],
  record: ["conversation", "tool"],
  stores: [],
  settings: ["config", "trust", "people"],
  reach: [
    "provider",
    "mcp",
    "login",
    "executor",
    "shell",
    "web",
    "files",
    "undo",
    "process",
    "attachment",
    "json-schema",
  ],
  core: ["agent", "policy", "answer-model"],
  assemble: ["telemetry"],
  surfaces: ["terminal", "render", "desk", "serve-mcp", "serve-tool", "notify", "ai-sdk"],
  proof: [],
  cli: ["replay"],
  testing: [],
};
/** Neither imports the other. */
const SIBLINGS = new Set(["surfaces", "proof"]);

/** The values that `core` may import from these wings. The list only shrinks: a new one is a port or a type. */
const VALUES_FOR_CORE: Readonly<Record<string, readonly string[]>> = {
  "reach/executor": ["checkArguments", "checkData"],
  "reach/provider": [
    "INVALID_ARGUMENTS",
    "ProviderError",
    "RetryCounter",
    "collectReply",
    "isNews",
    "lengthLimitError",
    "watchStream",
  ],
  "reach/shell": ["isFoundIn", "isPrefixOf", "optionsFrom", "parseCommandLine", "partsForRefusal"],
  stores: ["PrivateFile", "StorageError", "securePrivateFolder"],
};

/** Each room of src, and the rooms it may import from. */
const ALLOWED_IMPORTS: Readonly<Record<string, readonly string[]>> = {
  util: [],
  process: ["util"],
  tool: ["util"],
  conversation: ["util", "tool"],
  config: ["util", "tool", "conversation"],
  "json-schema": ["util"],
  files: ["util"],
  web: ["util", "files"],
  shell: ["util", "process", "files"],
  stores: ["util", "conversation"],
  people: ["util", "conversation", "stores"],
  render: ["util", "tool", "conversation"],
  "serve-tool": ["util", "tool"],
  mcp: ["util", "process", "tool", "config"],
  login: ["util", "stores", "mcp"],
  provider: ["util", "json-schema", "tool", "conversation"],
  "answer-model": ["util", "tool", "config", "conversation", "provider"],
  undo: ["util", "process", "files"],
  executor: [
    "util",
    "process",
    "json-schema",
    "files",
    "web",
    "shell",
    "undo",
    "tool",
    "config",
    "mcp",
  ],
  attachment: ["util", "process", "files", "web", "config", "conversation", "mcp"],
  policy: ["util", "tool", "config", "conversation", "stores", "executor", "shell"],
  "ai-sdk": ["util", "tool", "executor"],
  trust: ["util", "tool", "config", "stores"],
  notify: ["util", "process", "config", "render"],
  agent: [
    "util",
    "tool",
    "config",
    "conversation",
    "stores",
    "provider",
    "executor",
    "policy",
    "answer-model",
  ],
  telemetry: ["util", "conversation", "stores", "provider", "executor", "answer-model", "agent"],
  assemble: [
    "util",
    "process",
    "files",
    "tool",
    "config",
    "trust",
    "people",
    "conversation",
    "stores",
    "provider",
    "mcp",
    "login",
    "undo",
    "attachment",
    "executor",
    "policy",
    "answer-model",
    "agent",
    "telemetry",
  ],
  replay: [
    "util",
    "config",
    "tool",
    "conversation",
    "stores",
    "provider",
    "executor",
    "policy",
    "answer-model",
    "agent",
    "assemble",
  ],
  "serve-mcp": [
    "util",
    "tool",
    "config",
    "conversation",
    "stores",
    "render",
    "provider",
    "executor",
    "answer-model",
    "agent",
    "assemble",
  ],
  proof: ["util", "process", "config", "conversation", "stores", "people"],
  desk: [
    "util",
    "tool",
    "config",
    "conversation",
    "stores",
    "people",
    "render",
    "agent",
    "assemble",
  ],
  terminal: ["util", "process", "tool", "conversation", "render", "stores", "agent"],
  cli: [
    "util",
    "process",
    "files",
    "shell",
    "tool",
    "config",
    "conversation",
    "stores",
    "people",
    "mcp",
    "login",
    "render",
    "provider",
    "undo",
    "executor",
    "policy",
    "answer-model",
    "agent",
    "trust",
    "notify",
    "attachment",
    "telemetry",
    "assemble",
    "replay",
    "serve-mcp",
    "proof",
    "desk",
    "terminal",
  ],
  testing: [
    "util",
    "tool",
    "config",
    "conversation",
    "stores",
    "mcp",
    "render",
    "provider",
    "executor",
    "answer-model",
    "agent",
  ],
};
/** For src/index.ts: everything but what needs a terminal or the process. */
const LIBRARY = [
  "util",
  "tool",
  "config",
  "conversation",
  "stores",
  "mcp",
  "render",
  "provider",
  "executor",
  "policy",
  "answer-model",
  "attachment",
  "agent",
  "assemble",
];

/**
 * An `import()` of something else than Node itself, which is not replaced while it runs. `loaderOf`, `run` and
 * `loadDefinition` pass what they are given to `loadModule`.
 */
const BARE_IMPORT =
  /(?<!(?:loadModule|loaderOf)\( ?\(\) => |(?:run|loadDefinition): async \(\) => \(await )\bimport\((?!"node:)/;
/** Files that load parts without `loadModule`, and why they may. */
const BARE_IMPORTS: Readonly<Record<string, string>> = {
  "src/stores/postgres/database.ts":
    "The driver is not a part of jp, and whoever lacks it is told so.",
  "src/surfaces/render/highlight.ts": "Code is shown without colours if the highlighter is gone.",
};

/** Files that name who asks a question, without deciding it. */
const UNDECIDED_SOURCES =
  /(tool\/question|inquiry-codec|decision-json-types|testing\/store\/records)\.ts$/;

interface SourceFile {
  readonly name: string;
  readonly wing: string;
  readonly room: string;
  readonly text: string;
  readonly imports: readonly string[];
}

const files = globSync("src/**/*.{ts,tsx}").map(readSource);
/** What is shipped: neither tests nor fixtures, which only tests, benchmarks and other fixtures import. */
const sources = files.filter(({ name }) => !/\.(test|fixture)\.ts$/.test(name));

describe("imports", () => {
  test("go only to wings below", () => {
    const order = Object.keys(WINGS);
    const wrong = sources
      .filter(({ wing }) => wing !== "")
      .flatMap(({ name, wing, imports }) =>
        imports
          .filter((target) => {
            const other = wingOf(target);
            if (other === wing) return false;
            const areSiblings = [wing, other].every((each) => SIBLINGS.has(each));
            return areSiblings || order.indexOf(other) >= order.indexOf(wing);
          })
          .map((target) => `${name} imports ${target}`),
      );
    expect(wrong).toEqual([]);
  });

  test("go only to rooms in the list", () => {
    const wrong = sources.flatMap(({ name, room, imports }) =>
      imports
        .map((target) => roomOf(target))
        .filter((target) => target !== room && !allowed(room).includes(target))
        .map((target) => `${name} imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  test("of core from reach and stores are types, but for a short list of values", () => {
    const found = new Map<string, Set<string>>();
    for (const { name, text } of sources.filter(({ wing }) => wing === "core")) {
      for (const [, names = "", target = ""] of text.matchAll(
        /^import \{([^}]*)\} from "(\.[^"]+)";$/gm,
      )) {
        const folder = path.posix.join(path.posix.dirname(posix(name)), path.posix.dirname(target));
        if (!/^src\/(?:reach|stores)/.test(folder)) continue;
        const values = names.split(",").map((each) => each.trim());
        const from = found.get(folder.slice("src/".length)) ?? new Set();
        for (const value of values) if (!/^(?:type |$)/.test(value)) from.add(value);
        if (from.size > 0) found.set(folder.slice("src/".length), from);
      }
    }
    const listed = [...found].map(([from, values]) => [from, [...values].toSorted()] as const);
    expect(Object.fromEntries(listed)).toEqual(VALUES_FOR_CORE);
  });

  test("from another room go through its index", () => {
    const wrong = sources.flatMap(({ name, room, imports }) =>
      imports
        .filter((target) => roomOf(target) !== room && !target.endsWith("/index.ts"))
        .map((target) => `${name} imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  test("never lead back to where they started, not even those of types", () => {
    const cyclic = findCircles(new Map(files.map(({ name, imports }) => [posix(name), imports])));
    expect(cyclic).toEqual([]);
  });

  test("from Node are absent in the record", () => {
    const wrong = sources
      .filter(({ wing }) => wing === "record")
      .filter(({ text }) => /from "node:/.test(text))
      .map(({ name }) => name);
    expect(wrong).toEqual([]);
  });

  test("of `open` for file handles are in one place, because those of Yarn cannot be disposed", () => {
    const wrong = sources
      .filter(({ text }) => /import \{[^}]*\bopen\b[^}]*\} from "node:fs\/promises"/.test(text))
      .map(({ name }) => posix(name));
    expect(wrong).toEqual(["src/util/open-handle.ts"]);
  });

  test("of fixtures are only in tests", () => {
    const wrong = sources.flatMap(({ name, imports }) =>
      imports
        .filter((target) => target.endsWith(".fixture.ts"))
        .map((target) => `${name} imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  test("of the desk's page are types of the desk, its client, and what runs in a browser", () => {
    const page = "src/surfaces/desk/page/";
    const imports = sources
      .filter(({ name }) => posix(name).startsWith(page))
      .flatMap(({ text }) => [...text.matchAll(/^import ([^;]*?)from "([^"]+)";$/gm)])
      .filter(([, what = "", target = ""]) => !what.startsWith("type ") && !target.startsWith("./"))
      .map(([, , target = ""]) => target.replace(/^(preact|highlight\.js|lean-qr)\/.*/, "$1"));
    expect([...new Set(imports)].toSorted()).toEqual([
      "../../../record/conversation/index.ts",
      "../../../record/tool/index.ts",
      "../../../util/index.ts",
      "../../render/index.ts",
      "../client.ts",
      "../wire.ts",
      "highlight.js",
      "lean-qr",
      "marked",
      "preact",
    ]);
  });

  test("are listed for every room, and every wing has its place", () => {
    const rooms = new Set(sources.map(({ room }) => room).filter((room) => room !== ""));
    const wings = new Set(sources.map(({ wing }) => wing).filter((wing) => wing !== ""));
    expect([...rooms].filter((room) => ALLOWED_IMPORTS[room] === undefined)).toEqual([]);
    expect([...wings].toSorted()).toEqual(Object.keys(WINGS).toSorted());
  });
});

test("parts of jp are loaded by loadModule, which tells a part that is gone from everything else that fails", () => {
  const loadedBare = sources
    .filter(({ name }) => !posix(name).startsWith("src/surfaces/desk/page/")) // In a browser, the server answers.
    .filter(({ text }) => BARE_IMPORT.test(text.replaceAll(/\s+/g, " ")))
    .map(({ name }) => posix(name));
  expect(loadedBare.toSorted()).toEqual(Object.keys(BARE_IMPORTS));
});

describe("files", () => {
  test("have descriptive names in kebab case", () => {
    const banned = /(^|-)(utils?|helpers?|common|manager|misc)(\.|-|$)/;
    const wrong = files
      .map(({ name }) => path.basename(name))
      .filter(
        (name) =>
          !/^[a-z0-9]+(-[a-z0-9]+)*(\.test|\.fixture|\.d)?\.tsx?$/.test(name) || banned.test(name),
      );
    expect(wrong).toEqual([]);
  });

  test("export by name", () => {
    const wrong = sources.filter(({ text }) => /^export \*/m.test(text)).map(({ name }) => name);
    expect(wrong).toEqual([]);
  });

  test("start with a comment on their purpose", () => {
    const wrong = sources
      .filter(({ name }) => !name.endsWith("/index.ts") && !name.endsWith(".d.ts"))
      .filter(({ text }) => !/^(#!.*\n)?(import .*\n|\n)*\/\*\*/.test(text))
      .map(({ name }) => name);
    expect(wrong).toEqual([]);
  });
});

test("the agent knows no tool by name", () => {
  verifies("083/answer-config/no-tool-name-in-routing", "083/ask-user/coordinator-does-the-rest");
  const names = [
    createAskUser(),
    createDescribeTools(async () => undefined),
    ...createFileTools({ root: "." }),
  ].map(({ tool }) => tool.name);
  const named = new RegExp(`\\b(${names.join("|")})\\b|\\bfs_|[aA]skUser|[dD]escribeTools`);
  const wrong = sources
    .filter(({ room, text }) => room === "agent" && named.test(text))
    .map(({ name }) => name);
  expect([names.length > 2, wrong]).toEqual([true, []]);
});

test("the turn loop handles no inquiry events and asks no inquiry model", () => {
  verifies("028/goal/invisible-to-the-turn-loop");
  const found = sources
    .filter(({ room }) => room === "agent")
    .filter(({ text }) => /inquiry_(request|response)|\.inquire\(/.test(text))
    .map(({ name }) => posix(name));
  expect(found.toSorted()).toEqual([
    "src/core/agent/ask-model.ts",
    "src/core/agent/closing.ts",
    "src/core/agent/decide/decide.ts",
    "src/core/agent/decide/kinds.ts",
    "src/core/agent/decide/settle.ts",
    "src/core/agent/memory.ts",
    "src/core/agent/prompts.ts",
    "src/core/agent/unnamed-questions.ts",
  ]);
});

test("only the executors decide who asks a question, and one function who asks about a call", () => {
  verifies("082/source/rule-in-one-place");
  const deciding = sources
    // The type itself, its codec, its JSON, and what tests record.
    .filter(({ name }) => !UNDECIDED_SOURCES.test(name))
    .filter(({ text }) => /\bsource: "(tool|assistant|user|other)"/.test(text))
    .map(({ name }) => posix(name));
  expect(deciding.toSorted()).toEqual([
    "src/reach/executor/builtin/ask-user.ts",
    "src/reach/executor/local/local-executor.ts",
    "src/reach/executor/mcp/mcp-executor.ts",
    "src/record/conversation/decision.ts",
    "src/record/tool/define-tool.ts",
  ]);
});

describe("outside cli", () => {
  test("nothing exits the process or reads its arguments, environment or folder", () => {
    const wrong = sources
      .filter(({ room }) => room !== "cli")
      .filter(({ text }) => /process\.(exit|argv|env|cwd)\b/.test(text))
      .map(({ name }) => name);
    expect(wrong).toEqual([]);
  });

  test("only terminal and serve-tool write to the standard streams", () => {
    const wrong = sources
      .filter(({ room }) => !["cli", "terminal", "serve-tool"].includes(room))
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
  return { name, wing: wingOf(posix(name)), room: roomOf(posix(name)), text, imports };
}

/** One line for each import that closes a circle, with the files on the way around. */
function findCircles(imports: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const circles: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, way: readonly string[]) => {
    if (way.includes(file)) circles.push([...way.slice(way.indexOf(file)), file].join(" → "));
    if (way.includes(file) || done.has(file)) return;
    for (const target of imports.get(file) ?? []) visit(target, [...way, file]);
    done.add(file);
  };
  for (const file of imports.keys()) visit(file, []);
  return circles;
}

/** The folder directly below src; empty for src/index.ts itself. */
function wingOf(file: string): string {
  const [, wing = "", ...rest] = file.split("/");
  return rest.length === 0 ? "" : wing;
}

/** The folder of the wing, or the wing itself. */
function roomOf(file: string): string {
  const wing = wingOf(file);
  const [, , room = ""] = file.split("/");
  return WINGS[wing]?.includes(room) === true ? room : wing;
}

function allowed(room: string): readonly string[] {
  return room === "" ? LIBRARY : (ALLOWED_IMPORTS[room] ?? []);
}

function posix(name: string): string {
  return name.split(path.sep).join("/");
}

test("what an error says to programs names no commands of jp and no terminal", () => {
  const library = globSync("src/**/*.ts", { cwd: "." }).filter(
    (file) =>
      !/\.(?:test|fixture)\.ts$|^src\/(?:cli|surfaces\/(?:terminal|desk|serve-mcp))\//.test(file),
  );
  const wrong = library.flatMap((file) => {
    const text = readFileSync(file, "utf8");
    const hints = [...text.matchAll(/\bhint(?:: | = )(?<hint>[^;]*?)(?:,\n|;|\})/g)];
    return hints
      .map(({ groups }) => groups?.["hint"] ?? "")
      .filter((hint) => /\bjp [a-z]+ (?:ls|rm|set|path|add)\b|`jp |\bterminal\b/.test(hint))
      .map((hint) => `${file}: ${hint}`);
  });
  expect(wrong).toEqual([]);
});
