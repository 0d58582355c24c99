/** A workspace for `jp query`: its model server and tools, the command, and the record it leaves. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { text } from "node:stream/consumers";
import { inject } from "vitest";
import { decodeText } from "../../src/record/conversation/encoded-strings.ts";
import { parseEvent } from "../../src/record/conversation/index.ts";
import { problemsOf } from "../../src/record/conversation/record-rules.fixture.ts";
import { isJsonObject, type Json, type JsonObject } from "../../src/util/index.ts";
import { type HostOptions, runCommand } from "../support/command-host.ts";
import { ChildProgram } from "../support/child-program.ts";
import type { ModelServer } from "./model-server.ts";
import { type Finished, JP, Project } from "./support.ts";

/** A local tool: a small Node program with the call in `tool`. It prints the value of `program`. */
export interface ScriptedTool {
  readonly name: string;
  /** Asked one after the other before the program runs. */
  readonly questions?: readonly JsonObject[];
  /** A JavaScript expression. */
  readonly program?: string;
  /** Config lines. The default lets it run without asking. */
  readonly settings?: string;
}

export interface QueryProjectOptions {
  readonly server?: ModelServer;
  readonly config?: string;
  readonly tools?: readonly ScriptedTool[];
  readonly files?: Readonly<Record<string, string>>;
  /** The workspace to set up; a new one by default. */
  readonly project?: Project;
}

export function queryProject(options: QueryProjectOptions): Project {
  const { server, config = "", tools = [], files = {}, project = new Project() } = options;
  const toolConfigs = tools.map(
    ({ name, settings = 'run = "unattended"' }) =>
      `[conversation.tools.${name}]\nsource = "local"\ncommand = "node ${name}.cjs"\n${settings}\n`,
  );
  const all = [server?.config ?? "", config, ...toolConfigs].join("\n");
  writeFileSync(path.join(project.root, ".jp", "config.toml"), all);
  // As if they had run before: it takes half a second to hash the hundred megabytes of Node.
  if (tools.length > 0) copyDigests(project.data);
  for (const tool of tools) {
    writeFileSync(path.join(project.root, `${tool.name}.cjs`), scriptOf(tool));
  }
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(project.root, name)), { recursive: true });
    writeFileSync(path.join(project.root, name), content);
  }
  return project;
}

function copyDigests(data: string): void {
  const name = "file-digests.json";
  cpSync(path.join(inject("programs"), name), path.join(data, name));
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

/** The same in a separate process and session, without a terminal. */
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
  child.stdin.on("error", () => {}).end(input); // The command may not read it.
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

/** Starts a process that holds the lock of the only conversation until it is told to release it. */
export async function holdConversation(project: Project): Promise<ChildProgram> {
  const { id } = recordOf(project);
  const program = "hold-conversation-program.ts";
  const holder = ChildProgram.ofTests(program, project.root, project.data, id);
  await holder.nextJson();
  holder.tell("open");
  const reply = await holder.nextLine();
  if (reply !== '{"type":"opened"}') throw new Error(reply);
  return holder;
}

export interface QueryRecord {
  readonly id: string;
  readonly folder: string;
  readonly title: Json | undefined;
  readonly baseConfig: JsonObject;
  /** Without timestamps and subjects, and decoded. */
  readonly entries: readonly JsonObject[];
}

/** Every conversation of the workspace, oldest first. */
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

/** The record of the only conversation. */
export function recordOf(project: Project): QueryRecord {
  const [record, ...others] = recordsOf(project);
  if (record === undefined || others.length > 0) {
    throw new Error(`there are ${others.length + (record === undefined ? 0 : 1)} conversations`);
  }
  return record;
}

/** How the stored record violates its documented rules. */
export function problemsIn(project: Project): readonly string[] {
  const file = path.join(recordOf(project).folder, "events.json");
  const stored = JSON.parse(readFileSync(file, "utf8")) as JsonObject[];
  return problemsOf(stored.map((json) => parseEvent(json)));
}

export function kindsOf({ entries }: QueryRecord): readonly string[] {
  return entries.map(({ type }) => type as string); // Every entry has one.
}

export function entriesOf(record: QueryRecord, type: string): readonly JsonObject[] {
  return record.entries.filter((entry) => entry["type"] === type);
}

/** A copy of the object without these keys. */
export function without(entry: JsonObject, ...keys: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(entry).filter(([key]) => !keys.includes(key)));
}

/** The digests of what is decided, and where the tool comes from: they differ on every machine. */
export const SUBJECT = ["digest", "subject_version", "subject_parts", "origin", "folder"];

/** The event without its timestamp and subject, and decoded. */
function plain(entry: JsonObject): JsonObject {
  const { type, content, arguments: args, metadata } = entry;
  // Metadata for the Rust version repeats fields of the event.
  const isMirror = isJsonObject(metadata) && Object.keys(metadata).join() === "jp_ts";
  const rest = without(entry, "timestamp", ...SUBJECT, ...(isMirror ? ["metadata"] : []));
  if (type === "tool_call_response") return { ...rest, content: decoded(content ?? "") };
  return args === undefined ? rest : { ...rest, arguments: decoded(args) };
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
  if (typeof value === "string") return decodeText(value);
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
