/** A tool of each kind, on a real disk, and what may happen to everything that it depends on. */
import {
  appendFileSync,
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { mergeConfig, parseConfigOrThrow } from "../../src/settings/config/index.ts";
import type { ConversationEvent, ConversationId } from "../../src/record/conversation/index.ts";
import { createOwnToolbox, openTools, shippedConfig } from "../../src/assemble/index.ts";
import { booleanQuestion, defineTool, type Tool } from "../../src/record/tool/index.ts";
import { type JsonObject, systemClock } from "../../src/util/index.ts";
import type { OpenedTools, SceneOptions } from "./void-scene.ts";

/** A tool, and everything that it depends on. */
export interface World extends Pick<SceneOptions, "call" | "open"> {
  /** How often the tool has done its work. */
  readonly effects: (events: readonly ConversationEvent[]) => number;
  /** Whether it asks a question before it does its work. */
  readonly asks: boolean;
  /** Whether it runs again without being decided about if it may have run already. */
  readonly isIdempotent?: true;
  /** Whether it asks again if it runs again: to a server, that is a new call. */
  readonly asksAnew?: true;
  readonly changes: Readonly<Record<string, Change>>;
}

export interface Change {
  readonly apply: () => void;
  readonly outcome: Consequence;
}

/** What becomes of a yes that was given before the change. */
export type Consequence =
  /** It still counts. */
  | { readonly type: "counts" }
  /** It is void, and asked again. `isLost`: the tool then finds that it cannot do its work. */
  | { readonly type: "void"; readonly parts: readonly string[]; readonly isLost?: true }
  /** The tool asks another question. */
  | { readonly type: "asks" }
  /** The tool does not do its work, and says so. */
  | { readonly type: "fails" };

/** What a world is made of. */
export interface Place {
  /** The workspace. */
  readonly root: string;
  /** Beside it. */
  readonly outside: string;
  /** The bundled MCP server. */
  readonly server: string;
}

export interface Manner {
  /** Whether a person has to permit the call. */
  readonly run: "ask" | "unattended";
  /** Whether a tool asks that need not. */
  readonly asks: boolean;
}

type MakeWorld = (place: Place, manner: Manner) => World;

const COUNTS: Consequence = { type: "counts" };
const FAILS: Consequence = { type: "fails" };
const BINDING: Consequence = { type: "void", parts: ["binding"] };

const makesVoid = (...parts: readonly string[]): Consequence => ({ type: "void", parts });

export type ToolKind = "builtin" | "local" | "mcp" | "program";

/** The worlds of each kind of tool. */
export const WORLDS: Readonly<Record<ToolKind, readonly MakeWorld[]>> = {
  builtin: [createdFile, overwrittenFile, modifiedFile, deletedFile, askedUser],
  local: [script, nodeScript, shellCommand, programInPath],
  mcp: [serverTool],
  program: [ownTool],
};

/** Nothing that any tool depends on. */
function unrelated({ root }: Place): Readonly<Record<string, Change>> {
  return {
    nothing: { apply: () => undefined, outcome: COUNTS },
    "another file": {
      apply: () => writeFileSync(path.join(root, "other.txt"), "new"),
      outcome: COUNTS,
    },
  };
}

/** Changes of a file that leave its path and content as they are. */
function sameContent(file: string): Readonly<Record<string, Change>> {
  return {
    touched: { apply: () => utimesSync(file, new Date(), new Date(0)), outcome: COUNTS },
    "written again": {
      apply: () => replaceFile(file, readFileSync(file, "utf8")),
      outcome: COUNTS,
    },
  };
}

/** As editors save: the path has another file afterwards. */
function replaceFile(file: string, content: string): void {
  const temporary = `${file}.new`;
  writeFileSync(temporary, content, { mode: 0o755 });
  renameSync(temporary, file);
}

/** The same content at another path. */
function replaceWithLink(
  file: string,
  to = path.join(path.dirname(file), `moved-${path.basename(file)}`),
): void {
  renameSync(file, to);
  symlinkSync(to, file);
}

export function openConfigured(
  { root }: Pick<Place, "root">,
  config: JsonObject,
  variables: Readonly<Record<string, string | undefined>> = process.env,
) {
  return (conversation: ConversationId): OpenedTools => {
    const own = parseConfigOrThrow("the test", config);
    const machine = {
      root,
      workspaceId: "abc12",
      variables,
      version: "0",
      clock: systemClock,
      onWarning: () => undefined,
    };
    const tools = openTools(machine, mergeConfig(shippedConfig().builtins, own), { conversation });
    return {
      parts: { toolbox: tools.toolbox },
      [Symbol.asyncDispose]: () => tools[Symbol.asyncDispose](),
    };
  };
}

/** A tool that ships with jp. Its file is `docs/notes.txt`. */
function builtinWorld(
  place: Place,
  { run }: Manner,
  { name, arguments: args = {}, before, ...world }: BuiltinTool,
): World {
  const file = path.join(place.root, "docs", "notes.txt");
  mkdirSync(path.dirname(file));
  if (before !== undefined) writeFileSync(file, before);
  return {
    call: { name, arguments: { path: "docs/notes.txt", ...args } },
    open: openConfigured(place, { conversation: { tools: { [name]: { enable: true, run } } } }),
    asks: true,
    effects: () => world.effects(file),
    changes: { ...unrelated(place), ...world.changes(file) },
  };
}

interface BuiltinTool {
  readonly name: string;
  readonly arguments?: JsonObject;
  /** The content of the file. Absent if there is none. */
  readonly before?: string;
  readonly effects: (file: string) => number;
  readonly changes: (file: string) => Readonly<Record<string, Change>>;
}

function createdFile(place: Place, manner: Manner): World {
  return builtinWorld(place, manner, {
    name: "fs_create_file",
    arguments: { content: "new" },
    effects: (file) => (existsSync(file) && readFileSync(file, "utf8") === "new" ? 1 : 0),
    changes: (file) => ({
      "a file in its place": {
        apply: () => writeFileSync(file, "someone else's"),
        outcome: { type: "asks" },
      },
      "a link in its place": { apply: () => symlinkSync("elsewhere.txt", file), outcome: FAILS },
      "another folder": {
        apply: () => replaceWithLink(path.dirname(file), path.join(place.root, "archive")),
        outcome: BINDING,
      },
    }),
  });
}

function overwrittenFile(place: Place, manner: Manner): World {
  return builtinWorld(place, manner, {
    name: "fs_create_file",
    arguments: { content: "new" },
    before: "old",
    effects: (file) => (existsSync(file) && readFileSync(file, "utf8") === "new" ? 1 : 0),
    changes: (file) => ({
      ...sameContent(file),
      content: { apply: () => appendFileSync(file, " and more"), outcome: BINDING },
      "another folder": {
        apply: () => replaceWithLink(path.dirname(file), path.join(place.root, "archive")),
        outcome: BINDING,
      },
      deleted: { apply: () => rmSync(file), outcome: { type: "asks" } },
      "a link": { apply: () => replaceWithLink(file), outcome: BINDING },
      "a hard link": { apply: () => linkSync(file, `${file}.too`), outcome: FAILS },
    }),
  });
}

function modifiedFile(place: Place, manner: Manner): World {
  return builtinWorld(place, manner, {
    name: "fs_modify_file",
    arguments: { patterns: [{ old: "line\n", new: "line\nline\n", replace_all: true }] },
    before: "line\n",
    // Twice as many after each time.
    effects: (file) => (existsSync(file) ? Math.log2(linesOf(file)) : 0),
    changes: (file) => ({
      ...sameContent(file),
      content: { apply: () => appendFileSync(file, "another"), outcome: BINDING },
      "without the text": { apply: () => writeFileSync(file, "another\n"), outcome: FAILS },
      deleted: { apply: () => rmSync(file), outcome: FAILS },
      "a link": { apply: () => replaceWithLink(file), outcome: BINDING },
    }),
  });
}

function linesOf(file: string): number {
  return Math.max(1, readFileSync(file, "utf8").split("line\n").length - 1);
}

function deletedFile(place: Place, manner: Manner): World {
  let isGone = false;
  return builtinWorld(place, manner, {
    name: "fs_delete_file",
    before: "old",
    effects: (file) => (existsSync(file) || isGone ? 0 : 1),
    changes: (file) => ({
      ...sameContent(file),
      content: { apply: () => appendFileSync(file, " and more"), outcome: BINDING },
      "a hard link": { apply: () => linkSync(file, `${file}.too`), outcome: BINDING },
      "a link": { apply: () => replaceWithLink(file), outcome: FAILS },
      deleted: {
        apply: () => {
          isGone = true;
          rmSync(file);
        },
        outcome: FAILS,
      },
    }),
  });
}

function askedUser(place: Place, { run }: Manner): World {
  return {
    call: { name: "ask_user", arguments: { question: "Who are you?" } },
    open: openConfigured(place, { conversation: { tools: { ask_user: { run } } } }),
    asks: true,
    isIdempotent: true,
    effects: (events) =>
      events.filter(
        (event) => event.type === "tool_call_response" && event.content.includes('"Ada"'),
      ).length,
    changes: unrelated(place),
  };
}

/** A tool of the user's: a command that names files. */
function localWorld(place: Place, { run, asks }: Manner, tool: LocalTool): World {
  const { root, outside } = place;
  const variables = { ...process.env, PATH: searchPath(outside, process.env["PATH"] ?? "") };
  let { command } = tool;
  let mode = "one";
  writeFileSync(path.join(root, "target.txt"), "old");
  const open = (conversation: ConversationId) => {
    const parameters = { mode: { type: "string", default: mode } };
    const deploy = { source: "local", run, command, parameters };
    return openConfigured(place, { conversation: { tools: { deploy } } }, variables)(conversation);
  };
  return {
    call: { name: "deploy", arguments: {} },
    open,
    asks,
    effects: () => effectsIn(root),
    changes: {
      ...unrelated(place),
      ...tool.changes,
      default: { apply: () => (mode = "all"), outcome: makesVoid("arguments") },
      command: {
        apply: () => (command = { ...command, args: [...command.args, "--force"] }),
        outcome: makesVoid("source"),
      },
      "another program in PATH": {
        apply: () => writeFileSync(path.join(outside, "first", "unused"), "", { mode: 0o755 }),
        outcome: COUNTS,
      },
      ...(asks && targetChanges(root)),
    },
  };
}

interface LocalTool {
  readonly command: { program: string; args: readonly string[]; shell: boolean };
  readonly changes: Readonly<Record<string, Change>>;
}

/** Two folders before the usual ones. */
function searchPath(outside: string, others: string): string {
  const folders = ["first", "second"].map((name) => path.join(outside, name));
  for (const folder of folders) mkdirSync(folder, { recursive: true });
  return [...folders, others].join(path.delimiter);
}

function effectsIn(root: string): number {
  const file = path.join(root, "effects");
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").length - 1 : 0;
}

/** What the question of a tool is about. */
function targetChanges(root: string): Readonly<Record<string, Change>> {
  const file = path.join(root, "target.txt");
  return {
    ...Object.fromEntries(
      Object.entries(sameContent(file)).map(([name, change]) => [`target ${name}`, change]),
    ),
    target: { apply: () => appendFileSync(file, " and more"), outcome: BINDING },
  };
}

/** What changes if the file of a tool does. `part` is the part of the subject that has it. */
function fileChanges(file: string, part: string): Readonly<Record<string, Change>> {
  const outcome = makesVoid(part);
  return {
    ...sameContent(file),
    content: { apply: () => appendFileSync(file, "\n"), outcome },
    replaced: { apply: () => replaceFile(file, `${readFileSync(file, "utf8")}\n`), outcome },
    "a link": { apply: () => replaceWithLink(file), outcome },
    removed: { apply: () => rmSync(file), outcome: { type: "void", parts: [part], isLost: true } },
  };
}

/** A file that the command names, and that the script does not need. */
function settingsChanges(file: string): Readonly<Record<string, Change>> {
  const outcome = makesVoid("file");
  const changes = { ...fileChanges(file, "file"), removed: { apply: () => rmSync(file), outcome } };
  return Object.fromEntries(
    Object.entries(changes).map(([name, change]) => [`settings ${name}`, change]),
  );
}

/** Another program of the same name comes first. */
function shadowed({ outside }: Place, name: string): Change {
  const file = path.join(outside, "first", name);
  const real = path.join("/bin", name);
  const text = existsSync(real) ? `#!/bin/sh\nexec ${real} "$@"\n` : shellScript(true);
  return { apply: () => writeExecutable(file, text), outcome: makesVoid("program") };
}

function writeExecutable(file: string, text: string): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
  chmodSync(file, 0o755);
}

function script(place: Place, manner: Manner): World {
  const file = path.join(place.root, "tools", "deploy.sh");
  writeExecutable(file, shellScript(manner.asks));
  const settings = path.join(place.root, "tools", "settings.txt");
  writeFileSync(settings, "all");
  const args = ["tools/deploy.sh", "tools/settings.txt", "{{ tool.arguments.mode }}"];
  return localWorld(place, manner, {
    command: { program: "sh", args, shell: false },
    changes: {
      ...fileChanges(file, "file"),
      ...settingsChanges(settings),
      shadowed: shadowed(place, "sh"),
    },
  });
}

/** Long programs are compared by size and time: only touch what is short. */
function nodeScript(place: Place, manner: Manner): World {
  const file = path.join(place.root, "deploy.mjs");
  writeExecutable(file, javaScript(manner.asks));
  return localWorld(place, manner, {
    command: { program: process.execPath, args: ["deploy.mjs"], shell: false },
    changes: fileChanges(file, "file"),
  });
}

function shellCommand(place: Place, manner: Manner): World {
  const file = path.join(place.root, "tools", "deploy.sh");
  writeExecutable(file, shellScript(manner.asks));
  const settings = path.join(place.root, "settings.txt");
  writeFileSync(settings, "all");
  return localWorld(place, manner, {
    command: { program: "exec 'tools/deploy.sh' <&0 settings.txt", args: [], shell: true },
    changes: { ...fileChanges(file, "file"), ...settingsChanges(settings) },
  });
}

/** Found through `PATH`, where it is a link to one of its versions. */
function programInPath(place: Place, manner: Manner): World {
  const { outside } = place;
  const versions = ["1", "2"].map((version) => path.join(outside, "versions", version, "ship"));
  for (const file of versions) writeExecutable(file, shellScript(manner.asks));
  const link = path.join(outside, "second", "ship");
  mkdirSync(path.dirname(link));
  const [first = "", second = ""] = versions;
  symlinkSync(first, link);
  const swap = () => {
    rmSync(link);
    symlinkSync(second, link);
  };
  return localWorld(place, manner, {
    command: { program: "ship", args: [], shell: false },
    changes: {
      ...fileChanges(first, "program"),
      "another version": { apply: swap, outcome: makesVoid("program") },
      shadowed: {
        apply: () => writeExecutable(path.join(outside, "first", "ship"), shellScript(manner.asks)),
        outcome: makesVoid("program"),
      },
    },
  });
}

const ASKING_SHELL = `
binding=$(cksum <target.txt)
case $document in
  *'"answers":{"sure":true}'*"\\"bindings\\":{\\"sure\\":\\"$binding\\"}"*) ;;
  *) printf '{"type":"needs_input","question":{"id":"sure","text":"Sure?","answer_type":"Boolean","binding":"%s"}}' "$binding"
     exit ;;
esac`;

function shellScript(asks: boolean): string {
  return `#!/bin/sh
read -r document${asks ? ASKING_SHELL : ""}
echo deployed >>effects
echo deployed
`;
}

const ASKING_JAVASCRIPT = `
const { answers, bindings = {} } = JSON.parse(readFileSync(0, "utf8")).tool;
const binding = readFileSync("target.txt", "utf8");
if (answers.sure !== true || bindings.sure !== binding) {
  const question = { id: "sure", text: "Sure?", answer_type: "Boolean", exclusive: true, binding };
  console.log(JSON.stringify({ type: "needs_input", question }));
  process.exit();
}`;

function javaScript(asks: boolean): string {
  return `import { appendFileSync, readFileSync } from "node:fs";${asks ? ASKING_JAVASCRIPT : ""}
appendFileSync("effects", "deployed\\n");
console.log("deployed");
`;
}

/** Makes the server start faster after the first time. */
const NODE_COMPILE_CACHE = path.join(import.meta.dirname, "../../node_modules/.cache/node-compile");

const DEFINITION = {
  name: "deploy",
  description: "Deploys it.",
  inputSchema: {
    type: "object",
    properties: { mode: { type: "string", default: "one" }, tag: { type: "string" } },
  },
  annotations: { readOnlyHint: false, idempotentHint: false },
};

/** A tool of an MCP server, whose process starts anew for each process of the turn. */
function serverTool(place: Place, { run, asks }: Manner): World {
  const { root, outside, server } = place;
  const [definitions, target] = [path.join(outside, "tools.json"), path.join(root, "target.txt")];
  const define = (...tools: readonly JsonObject[]) =>
    writeFileSync(definitions, JSON.stringify(tools));
  define(DEFINITION);
  writeFileSync(target, "old");
  const args = [server, definitions, path.join(root, "effects"), asks ? "asks" : "", target];
  let more: readonly string[] = [];
  const open = (conversation: ConversationId) => {
    const ops = {
      command: process.execPath,
      arguments: [...args, ...more],
      variables: ["NODE_COMPILE_CACHE"],
      optional: true, // Or the turn could not go on without its tool.
    };
    const config = {
      conversation: { tools: { deploy: { source: "mcp.ops.deploy", run } } },
      providers: { mcp: { ops } },
    };
    return openConfigured(place, config, { ...process.env, NODE_COMPILE_CACHE })(conversation);
  };
  return {
    call: { name: "deploy", arguments: {} },
    open,
    asks,
    asksAnew: true,
    effects: () => effectsIn(root),
    changes: {
      ...unrelated(place),
      ...definitionChanges(define),
      command: { apply: () => (more = ["--force"]), outcome: makesVoid("source") },
      ...(asks && targetChanges(root)),
    },
  };
}

function definitionChanges(
  define: (...tools: readonly JsonObject[]) => void,
): Readonly<Record<string, Change>> {
  const { description, inputSchema, annotations } = DEFINITION;
  const { properties } = inputSchema;
  const changed = (tool: JsonObject, outcome: Consequence): Change => ({
    apply: () => define({ ...DEFINITION, ...tool }),
    outcome,
  });
  const withMode = (mode: JsonObject) => ({
    inputSchema: { ...inputSchema, properties: { ...properties, mode } },
  });
  const isVoid = makesVoid("definition");
  return {
    description: changed({ description: `${description} Also on Fridays.` }, isVoid),
    annotations: changed({ annotations: { ...annotations, destructiveHint: true } }, isVoid),
    "no annotations": {
      apply: () => define({ name: "deploy", description, inputSchema }),
      outcome: isVoid,
    },
    default: changed(
      withMode({ type: "string", default: "all" }),
      makesVoid("arguments", "definition"),
    ),
    "no default": changed(withMode({ type: "string" }), makesVoid("arguments", "definition")),
    parameter: changed(
      { inputSchema: { ...inputSchema, properties: { ...properties, when: { type: "string" } } } },
      isVoid,
    ),
    meta: changed({ _meta: { build: "2" }, title: "Deploy" }, COUNTS),
    order: {
      apply: () =>
        define({
          annotations,
          inputSchema: { properties, type: "object" },
          description,
          name: "deploy",
        }),
      outcome: COUNTS,
    },
    "another tool": {
      apply: () => define({ ...DEFINITION, name: "other" }, DEFINITION),
      outcome: COUNTS,
    },
    removed: { apply: () => define({ ...DEFINITION, name: "other" }), outcome: FAILS },
  };
}

/** A tool of the program that embeds jp. */
function ownTool(place: Place, { run, asks }: Manner): World {
  const { root } = place;
  const target = path.join(root, "target.txt");
  writeFileSync(target, "old");
  let [mode, description] = ["one", "Deploys it."];
  const deploy = (): Tool =>
    defineTool({
      name: "deploy",
      description,
      parameters: { type: "object", properties: { mode: { type: "string", default: mode } } },
      run: async (_args, { ask }) => {
        const binding = readFileSync(target, "utf8");
        if (asks && !(await ask(booleanQuestion("sure", "Sure?", { binding })))) return "declined";
        appendFileSync(path.join(root, "effects"), "deployed\n");
        return "deployed";
      },
    });
  return {
    call: { name: "deploy", arguments: {} },
    open: async () => ({
      parts: {
        toolbox: await createOwnToolbox({ tools: [deploy()], toolConfig: { deploy: { run } } }),
      },
      [Symbol.asyncDispose]: async () => undefined,
    }),
    asks,
    effects: () => effectsIn(root),
    changes: {
      ...unrelated(place),
      default: { apply: () => (mode = "all"), outcome: makesVoid("arguments") },
      description: { apply: () => (description = "Deploys it all."), outcome: COUNTS },
      ...(asks && targetChanges(root)),
    },
  };
}
