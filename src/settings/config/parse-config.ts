/** Parses unknown JSON into a layer of config, and reports all problems. */
import * as v from "valibot";
import { findClosest, isJsonObject, isTooDeep, pathToText } from "../../util/index.ts";
import { configError, type ConfigIssue } from "./config-error.ts";
import { resolveMcpServers } from "./mcp-settings.ts";
import type { ModelId } from "./model-id.ts";
import {
  findItem,
  findWrittenChild,
  unwrap,
  type WrittenTable,
  writtenTables,
} from "./schema-node.ts";
import { configSchema, type PartialConfig } from "./schema/config-schema.ts";
import { missingKeyOf } from "./tool-settings.ts";
import { mergeConfig } from "./layers.ts";
import { modelIdSchema } from "./schema/model-id-schema.ts";
import { findBehaviour } from "./schema/node.ts";

/** A parsed config and its problems. */
export interface ParsedConfig {
  /** Empty if there are errors. */
  readonly config: PartialConfig;
  readonly errors: readonly ConfigIssue[];
  readonly warnings: readonly ConfigIssue[];
}

/** The YAML parser's limit, and deeper than any key. */
const MAX_LEVELS = 100;

/** Never throws: problems are part of the result. */
export function parseConfig(value: unknown): ParsedConfig {
  if (isTooDeep(value, MAX_LEVELS)) {
    const message = `nested deeper than ${MAX_LEVELS} levels`;
    return { config: {}, errors: [{ path: [], message }], warnings: [] };
  }
  const found = findStructureIssues(configSchema, value, []);
  const [wrong, unknown] = [found.filter(isError), found.filter((issue) => !isError(issue))];
  const warnings = unknown.map(toConfigIssue);
  const result = v.safeParse(configSchema, value, { abortPipeEarly: true });
  if (result.success && wrong.length === 0)
    return { errors: [], ...switchOff(result.output, warnings) };
  // Our own messages about these places are more helpful than the library's.
  const reported = new Set(wrong.map(({ path }) => pathToText(path)));
  const isReported = ({ path }: ConfigIssue) =>
    [...path.keys(), path.length].some((depth) => reported.has(pathToText(path.slice(0, depth))));
  const invalid = (result.issues ?? []).flatMap(toIssues).filter((issue) => !isReported(issue));
  return { config: {}, errors: [...invalid, ...wrong.map(toConfigIssue)], warnings };
}

/** A tool is off if its definition has a key that jp does not know: it may be what makes the tool safe. */
function switchOff(
  config: PartialConfig,
  warnings: readonly ConfigIssue[],
): Pick<ParsedConfig, "config" | "warnings"> {
  const { tools = {} } = config.conversation ?? {};
  const isMistaken = ({ path: [first, second, name = "", ...key], isUnsupported }: ConfigIssue) =>
    first === "conversation" &&
    second === "tools" &&
    key.length === 1 &&
    isUnsupported !== true &&
    tools[name] !== undefined &&
    "source" in tools[name] &&
    tools[name].source !== undefined;
  const names = warnings.filter(isMistaken).map(({ path: [, , name = ""] }) => name);
  if (names.length === 0) return { config, warnings };
  const enable = { state: false, allow_toggle: "never" } as const;
  const off = Object.fromEntries(names.map((name) => [name, { enable }]));
  return {
    config: mergeConfig(config, { conversation: { tools: off } }),
    warnings: warnings.map((issue) =>
      isMistaken(issue) ? { ...issue, message: withEffect(issue) } : issue,
    ),
  };
}

function withEffect({ message }: ConfigIssue): string {
  return message.endsWith("?") ? `${message} The tool is off.` : `${message}; the tool is off`;
}

/** Used for flags and library callers, where an unknown key is an error too. Throws `config_invalid`. */
export function parseConfigOrThrow(where: string, value: unknown): PartialConfig {
  const { config, errors, warnings } = parseConfig(value);
  const issues = [...errors, ...warnings];
  if (issues.length > 0) throw configError(where, ...issues);
  return config;
}

/** Finds entries that are valid but cannot be used. Checks all layers together: one may complete another. */
export function findUnusable(config: PartialConfig): readonly ConfigIssue[] {
  const { "*": _defaults, ...tools } = config.conversation?.tools ?? {};
  const usable = resolveMcpServers(config);
  return [
    ...Object.entries(tools)
      .map(([name, tool]) => ({ name, key: missingKeyOf(tool) }))
      .filter(({ key }) => key !== undefined)
      .map(({ name, key = "" }) => ({
        path: ["conversation", "tools", name, key],
        message: `${key} is missing, so the tool cannot be used`,
      })),
    ...Object.entries(config.providers?.mcp ?? {})
      .filter(([name]) => !usable.has(name))
      .map(([name, { type }]) => {
        const key = type === "http" ? "url" : "command";
        const message = `${key} is missing, so the server cannot be used`;
        return { path: ["providers", "mcp", name, key], message };
      }),
  ];
}

interface StructureIssue extends ConfigIssue {
  readonly severity: "error" | "warning";
}

function isError({ severity }: StructureIssue): boolean {
  return severity === "error";
}

function toConfigIssue({ severity: _severity, ...issue }: StructureIssue): ConfigIssue {
  return issue;
}

/** The schema library silently drops these keys, and with them any restriction they set. */
const RESERVED: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

/** Finds unknown keys, reserved keys, and lists in place of tables, which the schema library treats as objects. */
function findStructureIssues(
  schema: v.GenericSchema,
  value: unknown,
  path: readonly string[],
): readonly StructureIssue[] {
  const tables = writtenTables(schema);
  if (Array.isArray(value)) {
    const item = findItem(schema);
    if (item !== undefined) {
      return value.flatMap((member, index) => {
        const inside = [...path, String(index)];
        const isMisread = tables.length > 0 && v.is(schema, value) && !v.is(item, member);
        return isMisread
          ? findItemIssues(item, member, inside)
          : findStructureIssues(item, member, inside);
      });
    }
    if (tables.length === 0) return [];
    const message = `expected ${readable(unwrap(schema).expects)}, got a list`;
    return [{ path, message, severity: "error" }];
  }
  if (!isJsonObject(value) || tables.length === 0) return [];
  return Object.entries(value).flatMap(([key, member]) => {
    const child = findWrittenChild(schema, key);
    const inside = [...path, key];
    if (RESERVED.has(key)) {
      return [{ path: inside, message: "this name cannot be used", severity: "warning" }];
    }
    if (child !== undefined) {
      const { unsupported } = findBehaviour(unwrap(child));
      const why = typeof unsupported === "function" ? unsupported(member) : unsupported;
      const below = findStructureIssues(child, member, inside);
      if (why === undefined) return below;
      const message = `not supported: ${why}`;
      return [...below, { path: inside, message, severity: "warning", isUnsupported: true }];
    }
    const meant = findMeant(tables, inside, member);
    return [
      {
        path: inside,
        message:
          meant === undefined ? "unknown key" : `unknown key; did you mean ${pathToText(meant)}?`,
        severity: tables.some(({ isStrict }) => isStrict === true) ? "error" : "warning",
      },
    ];
  });
}

/**
 * The full key that was probably meant: another key of these tables, a key of the same name further below, or one below a
 * name that the user chose, such as `conversation.tools.fs.enable` for `fs.enable`.
 */
function findMeant(
  tables: readonly WrittenTable[],
  path: readonly string[],
  member: unknown,
): readonly string[] | undefined {
  const [parent, key] = [path.slice(0, -1), path.at(-1) ?? ""];
  const entries = tables.flatMap((table) => Object.entries(table.entries));
  const [synonym] =
    entries.find(([, child]) => findBehaviour(unwrap(child)).synonyms?.includes(key)) ?? [];
  const names = entries.map(([name]) => name);
  const closest = synonym ?? findClosest(key, names);
  const isBelow = (known: readonly string[]) => parent.every((name, at) => known[at] === name);
  const typed = onlyKeys(member);
  const meant =
    closest === undefined ? keysNamed(key).find(isBelow) : ([...parent, closest] as const);
  if (meant === undefined && typed.length > 0) {
    const named = knownKeys().map((known) => [...known, key, ...typed]);
    return named.filter(isBelow).find(isDeclared);
  }
  const whole = meant && [...meant, ...typed];
  return whole !== undefined && isKnown(whole) ? whole : meant;
}

/** The keys down to a single value: the ones typed after this one. */
function onlyKeys(value: unknown): readonly string[] {
  const [only, ...others] = isJsonObject(value) ? Object.entries(value) : [];
  return only === undefined || others.length > 0 ? [] : [only[0], ...onlyKeys(only[1])];
}

function isKnown(path: readonly string[]): boolean {
  return findSchema(path) !== undefined;
}

/** Excludes keys of tables that accept any. */
function isDeclared(path: readonly string[]): boolean {
  const above = findSchema(path.slice(0, -1));
  const tables = above === undefined ? [] : writtenTables(above);
  return tables.some(({ entries }) => Object.hasOwn(entries, path.at(-1) ?? ""));
}

function findSchema(path: readonly string[]): v.GenericSchema | undefined {
  let schema: v.GenericSchema | undefined = configSchema;
  for (const key of path) schema = schema && findWrittenChild(schema, key);
  return schema;
}

/** The maximum depth of a key to look up by name: `assistant.model.parameters.top_p`. */
const MAX_DEPTH = 4;

let keysByName: Map<string, readonly (readonly string[])[]> | undefined;

/** Every key with this name that is not below a name the user chose, shortest first. */
function keysNamed(name: string): readonly (readonly string[])[] {
  keysByName ??= Map.groupBy(knownKeys(), (path) => path.at(-1) ?? "");
  return keysByName.get(name) ?? [];
}

let allKeys: readonly (readonly string[])[] | undefined;

function knownKeys(): readonly (readonly string[])[] {
  if (allKeys !== undefined) return allKeys;
  const all = childrenOf(configSchema, []);
  // Grows during iteration, level by level.
  for (const { schema, path } of all)
    if (path.length < MAX_DEPTH) all.push(...childrenOf(schema, path));
  return (allKeys = all.map(({ path }) => path));
}

function childrenOf(schema: v.GenericSchema, path: readonly string[]) {
  return writtenTables(schema).flatMap(({ entries }) =>
    Object.entries(entries).map(([key, child]) => ({ schema: child, path: [...path, key] })),
  );
}

/** A model id as written in a config. */
export interface WrittenModelId {
  readonly path: readonly string[];
  readonly id: ModelId;
}

/** The model ids of a valid config, as written. */
export function findModelIds(value: unknown): readonly WrittenModelId[] {
  return modelIdsIn(configSchema, value, []);
}

function modelIdsIn(
  schema: v.GenericSchema,
  value: unknown,
  path: readonly string[],
): readonly WrittenModelId[] {
  if (findBehaviour(unwrap(schema)).isModelId === true) {
    const { success, output } = v.safeParse(modelIdSchema, value);
    return success ? [{ path, id: output }] : [];
  }
  const members = Array.isArray(value) || isJsonObject(value) ? Object.entries(value) : [];
  return members.flatMap(([key, member]) => {
    const child = Array.isArray(value) ? findItem(schema) : findWrittenChild(schema, key);
    return child === undefined ? [] : modelIdsIn(child, member, [...path, key]);
  });
}

/** Finds the issues of an item that were missed because the list passed for a table. */
function findItemIssues(
  item: v.GenericSchema,
  member: unknown,
  path: readonly string[],
): readonly StructureIssue[] {
  const { issues = [] } = v.safeParse(item, member);
  return issues
    .flatMap(toIssues)
    .map((issue) => ({ ...issue, path: [...path, ...issue.path], severity: "error" }));
}

/** If several forms are allowed and one of them is a table, reports all problems inside the table. */
function toIssues(issue: v.GenericIssue): readonly ConfigIssue[] {
  const path = (issue.path ?? []).map(({ key }) => String(key));
  const inside = (issue.issues ?? [])
    .filter((inner) => !isListReadAsTable(inner))
    .flatMap(toIssues)
    .filter((inner) => inner.path.length > 0);
  if (inside.length > 0) {
    return inside.map((inner) => ({ path: [...path, ...inner.path], message: inner.message }));
  }
  return [{ path, message: describe(issue, path.at(-1)) }];
}

function isListReadAsTable({ path }: v.GenericIssue): boolean {
  const first = path?.[0];
  return first?.type === "object" && Array.isArray(first.input);
}

function describe(issue: v.GenericIssue, key: string | undefined): string {
  if (issue.kind !== "schema" || issue.expected === null) return issue.message;
  if (issue.expected === "never") return "unknown key";
  if (issue.input === undefined && key !== undefined) return `${key} is missing`;
  return `expected ${readable(issue.expected)}, got ${describeInput(issue)}`;
}

/** Never quotes the value: the file may be a link to a private one. */
function describeInput({ input, expected }: v.GenericIssue): string {
  if (Array.isArray(input)) return "a list";
  if (input === null) return "null";
  if (typeof input === "object") return "a table";
  // If only some strings are allowed, they are listed in quotes.
  return `${typeof input === "string" && expected?.includes('"') ? "another" : "a"} ${typeof input}`;
}

/** Rewords the library's notation, such as `("ask" | "skip")`. */
function readable(expected: string): string {
  // Quoted words are values and stay unchanged.
  return expected.replaceAll(/"[^"]*"|[()]| \| |\bObject\b|\bArray\b/g, (part) => {
    const words: Readonly<Record<string, string>> = WORDS;
    return words[part] ?? part;
  });
}

const WORDS = { "(": "", ")": "", " | ": " or ", Object: "a table", Array: "a list" };
