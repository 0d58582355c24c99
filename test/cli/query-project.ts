/** A workspace for `jp query`: its model server and tools, the command, and what it leaves behind. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { text } from "node:stream/consumers";
import { isJsonObject, type Json, type JsonObject } from "../../src/util/index.ts";
import { type HostOptions, runCommand } from "../support/command-host.ts";
import { ChildProgram } from "../support/child-program.ts";
import type { ModelServer } from "./model-server.ts";
import { type Finished, JP, Project } from "./support.ts";

/** A local tool, a small program of Node that has the call in `tool`. Its value is printed. */
export interface ScriptedTool {
  readonly name: string;
  /** Asked one after the other before the program runs. */
  readonly questions?: readonly JsonObject[];
  /** An expression. */
  readonly program?: string;
  /** More lines of its config. Without any, it runs without permission. */
  readonly settings?: string;
}

export interface QueryProjectOptions {
  readonly server?: ModelServer;
  readonly config?: string;
  readonly tools?: readonly ScriptedTool[];
  readonly files?: Readonly<Record<string, string>>;
}

export function queryProject(options: QueryProjectOptions): Project {
  const { server, config = "", tools = [], files = {} } = options;
  const project = new Project();
  const toolConfigs = tools.map(
    ({ name, settings = 'run = "unattended"' }) =>
      `[conversation.tools.${name}]\nsource = "local"\ncommand = "node ${name}.cjs"\n${settings}\n`,
  );
  const all = [server?.config ?? "", config, ...toolConfigs].join("\n");
  writeFileSync(path.join(project.root, ".jp", "config.toml"), all);
  for (const tool of tools) {
    writeFileSync(path.join(project.root, `${tool.name}.cjs`), scriptOf(tool));
  }
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(project.root, name)), { recursive: true });
    writeFileSync(path.join(project.root, name), content);
  }
  return project;
}

function scriptOf({ questions = [], program = "JSON.stringify(tool.answers)" }: ScriptedTool) {
  return `
const { tool } = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const question = ${JSON.stringify(questions)}.find(({ id }) => !(id in tool.answers));
if (question !== undefined) console.log(JSON.stringify({ type: "needs_input", question }));
else process.stdout.write(${program});
`;
}

export type QueryOptions = Omit<HostOptions, "cwd">;

/** `jp query` without a terminal. */
export function query(
  project: Project,
  words: readonly string[],
  { variables = {}, ...options }: QueryOptions = {},
): Promise<Finished> {
  const { root } = project;
  const all = { ...project.variables, ...variables };
  return runCommand(["query", ...words], { ...options, cwd: root, variables: all });
}

/** The same in a process of its own, in a session of its own: it has no terminal. */
export async function queryProcess(
  project: Project,
  words: readonly string[],
  { input = "", variables = {}, onNotice = () => {} }: QueryOptions = {},
): Promise<Finished> {
  const child = spawn(process.execPath, [JP, "query", ...words], {
    cwd: project.root,
    env: { ...project.variables, ...variables },
    detached: true,
  });
  child.stdin.on("error", () => {}).end(input); // Not everybody reads it.
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (piece: string) => {
    stderr += piece;
    onNotice(piece);
  });
  const [stdout, [status]] = await Promise.all([
    text(child.stdout),
    once(child, "close") as Promise<[number | null]>,
  ]);
  return { status, stdout, stderr };
}

/** Another process that writes to the only conversation, until it is told to release it. */
export async function holdConversation(project: Project): Promise<ChildProgram> {
  const { id } = recordOf(project);
  const program = "hold-conversation-program.ts";
  const holder = ChildProgram.ofTests(program, project.root, project.data, id);
  await holder.nextJson();
  holder.tell("open");
  const said = await holder.nextLine();
  if (said !== '{"type":"opened"}') throw new Error(said);
  return holder;
}

export interface QueryRecord {
  readonly id: string;
  readonly folder: string;
  readonly title: Json | undefined;
  readonly baseConfig: JsonObject;
  /** Without their times, and with nothing encoded. */
  readonly entries: readonly JsonObject[];
}

/** Every conversation of the workspace, in the order of their beginning. */
export function recordsOf(project: Project): readonly QueryRecord[] {
  const parents = [path.join(project.root, ".jp"), project.userFolder];
  const folders = parents.flatMap((parent) => {
    const conversations = path.join(parent, "conversations");
    return foldersIn(conversations).map((name) => path.join(conversations, name));
  });
  return folders
    .toSorted((one, other) => (path.basename(one) < path.basename(other) ? -1 : 1))
    .map(readRecord);
}

/** The only one. */
export function recordOf(project: Project): QueryRecord {
  const [record, ...others] = recordsOf(project);
  if (record === undefined || others.length > 0) {
    throw new Error(`there are ${others.length + (record === undefined ? 0 : 1)} conversations`);
  }
  return record;
}

export function kindsOf({ entries }: QueryRecord): readonly string[] {
  return entries.map(({ type }) => type as string); // Every entry has one.
}

export function entriesOf(record: QueryRecord, type: string): readonly JsonObject[] {
  return record.entries.filter((entry) => entry["type"] === type);
}

/** An entry, or anything like it, with fewer fields. */
export function without(entry: JsonObject, ...keys: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(entry).filter(([key]) => !keys.includes(key)));
}

/** What an event says, apart from when. */
function plain(entry: JsonObject): JsonObject {
  const { type, content, arguments: given, metadata } = entry;
  // What an inquiry keeps there for the Rust original, it says itself too.
  const isMirror = isJsonObject(metadata) && Object.keys(metadata).join() === "jp_ts";
  const said = without(entry, "timestamp", ...(isMirror ? ["metadata"] : []));
  if (type === "tool_call_response") return { ...said, content: decoded(content ?? "") };
  return given === undefined ? said : { ...said, arguments: decoded(given) };
}

function readRecord(folder: string): QueryRecord {
  const read = (name: string) => JSON.parse(readFileSync(path.join(folder, name), "utf8")) as Json;
  return {
    id: `jp-c${path.basename(folder).split("-")[0]}`,
    folder,
    title: (read("metadata.json") as JsonObject)["title"],
    baseConfig: read("base_config.json") as JsonObject,
    entries: (read("events.json") as JsonObject[]).map(plain),
  };
}

function decoded(value: Json): Json {
  if (typeof value === "string") return Buffer.from(value, "base64").toString();
  if (Array.isArray(value)) return value.map(decoded);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, decoded(inner)]));
}

function foldersIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => /^\d/.test(name));
  } catch {
    return [];
  }
}
