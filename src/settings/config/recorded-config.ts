/**
 * The part of its config that a conversation records, in two halves: `shared` is for the Rust original, `own` is an event
 * of ours that it keeps and ignores. Defaults are not recorded, nor are `providers` and what the schema says belongs to a
 * machine, such as addresses and prices.
 */
import * as v from "valibot";
import { isDeepEqual, isJsonObject, type Json, type JsonObject } from "../../util/index.ts";
import { DEFAULTS, TOOL_DEFAULTS } from "./defaults.ts";
import { mergeConfig, omitPaths, valueAt, withValue } from "./layers.ts";
import { type ModelId, resolveModelId } from "./model-id.ts";
import { findChild, nodeOf, ownValue, toJson, unwrap } from "./schema-node.ts";
import { configSchema, type PartialConfig } from "./schema/config-schema.ts";
import { findBehaviour } from "./schema/node.ts";
import {
  sharedSchema,
  sharedToolDefaultsSchema,
  sharedToolSchemas,
} from "./schema/shared-schema.ts";

/** A part with nothing to record is absent. */
export interface RecordedConfig {
  /** The part the Rust original knows: a base config, or a config delta. */
  readonly shared?: JsonObject;
  /** The part only jp-ts knows. It applies after `shared`. */
  readonly own?: JsonObject;
}

/** A conversation's new config, and the one recorded before. */
export interface ConfigChange {
  /** The config of the builtin tools, before any user config. */
  readonly builtins: PartialConfig;
  /** The recorded config; absent for a new conversation. */
  readonly remembered?: PartialConfig;
  /** The config in force from now on. */
  readonly config: PartialConfig;
}

/** Finds the changes to record so that a conversation continues with this config. */
export function recordConfig({ builtins, remembered, config }: ConfigChange): RecordedConfig {
  const shipped = mergeConfig(DEFAULTS, builtins);
  const before = remembered === undefined ? shipped : mergeConfig(shipped, remembered);
  const after = inRecordedNotation(config);
  const delta = configDelta(withoutProviders(before), withoutProviders(after)) ?? {};
  const tables = valueAt(delta, TOOLS);
  const { "*": defaults = {}, ...tools } = isJsonObject(tables) ? tables : {};
  const replaced = APPENDED.filter((keys) => {
    const list = valueAt(remembered, keys);
    return Array.isArray(list) && list.length > 0;
  });
  // Merged one by one, ten thousand tools would be copied ten thousand times.
  const toolParts = Object.entries(tools).map(([key, entry]) => ({
    key,
    ...splitTool(entry, valueAt(after, [...TOOLS, key, "source"])),
  }));
  return [
    split(sharedSchema, omitPaths(delta, [TOOLS, ...replaced])),
    ...replaced.map((keys) => within({ own: valueAt(delta, keys) as Json | undefined }, keys)), // JSON.
    within(split(sharedToolDefaultsSchema, defaults), [...TOOLS, "*"]),
    within({ ...collect(toolParts, "shared"), ...collect(toolParts, "own") }, TOOLS),
    ...(remembered === undefined ? [{ shared: requiredOf(after) }] : []),
  ].reduce<RecordedConfig>(
    (recorded, { shared, own }) => ({
      ...joined("shared", recorded.shared, shared),
      ...joined("own", recorded.own, own),
    }),
    {},
  );
}

const TOOLS = ["conversation", "tools"];

/** Models are recorded in full, without the aliases and addresses of providers. */
function withoutProviders(config: PartialConfig): PartialConfig {
  return omitPaths(config, [["providers"]]);
}

type Model = NonNullable<PartialConfig["assistant"]>["model"];

/** Writes models as provider and name, because aliases belong to a machine, and reasoning in full. */
function inRecordedNotation(config: PartialConfig): PartialConfig {
  const { assistant, conversation, providers } = config;
  const aliases = providers?.llm?.aliases ?? {};
  const title = conversation?.title?.generate?.model?.id;
  return mergeConfig(config, {
    assistant: { model: modelInFull(assistant?.model, aliases) },
    conversation: {
      inquiry: {
        assistant: { model: modelInFull(conversation?.inquiry?.assistant?.model, aliases) },
      },
      title: { generate: { model: modelInFull(title && { id: title }, aliases) } },
    },
  });
}

function modelInFull(model: Model, aliases: Readonly<Record<string, ModelId>>): NonNullable<Model> {
  const { id, parameters: { reasoning } = {} } = model ?? {};
  return {
    ...(id !== undefined && { id: findModelId(id, aliases) }),
    ...(reasoning !== undefined && { parameters: { reasoning: reasoningInFull(reasoning) } }),
  };
}

/** An unknown alias stays as it is. */
function findModelId(id: ModelId, aliases: Readonly<Record<string, ModelId>>): ModelId {
  try {
    return resolveModelId(id, aliases);
  } catch {
    return id;
  }
}

type Reasoning = NonNullable<NonNullable<NonNullable<Model>["parameters"]>["reasoning"]>;

/** The original has no shorthand for an effort, and merges one table into another. */
function reasoningInFull(reasoning: Reasoning): Reasoning {
  if (typeof reasoning === "object") {
    const { effort = "auto", exclude = false } = reasoning;
    return { effort, exclude };
  }
  if (reasoning === true || reasoning === "auto") return "auto";
  if (reasoning === false || reasoning === "off") return "off";
  return { effort: reasoning, exclude: false };
}

interface Split {
  readonly shared?: Json | undefined;
  readonly own?: Json | undefined;
}

/** Separates the keys that the original knows from the rest. */
function split(schema: v.GenericSchema, value: Json): Split {
  const node = nodeOf(schema);
  if (node.kind === "leaf" || !isJsonObject(value)) {
    return v.is(schema, value) ? { shared: value } : { own: value };
  }
  const parts = Object.entries(value).map(([key, member]) => {
    const child = findChild(node, key);
    return { key, ...(child === undefined ? { own: member } : split(child, member)) };
  });
  return { ...collect(parts, "shared"), ...collect(parts, "own") };
}

function collect(
  parts: readonly (Split & { readonly key: string })[],
  side: keyof Split,
): { readonly [side in keyof Split]?: JsonObject } {
  const entries = parts.flatMap(({ key, [side]: value }) =>
    value === undefined ? [] : [[key, value] as const],
  );
  return entries.length === 0 ? {} : { [side]: Object.fromEntries(entries) };
}

/** The original has other builtin tools, and requires the source of every tool. */
function splitTool(entry: Json, source: unknown): Split {
  const [kind = ""] = String(source).split(".");
  if (kind !== "local" && kind !== "mcp") return { own: entry };
  const { shared, own } = split(sharedToolSchemas[kind], entry);
  if (!isJsonObject(shared)) return { own: entry };
  return { shared: { source: String(source), ...shared }, ...(own !== undefined && { own }) };
}

/** The original does not load a base config without these. */
function requiredOf({ conversation }: PartialConfig): JsonObject {
  const run = conversation?.tools?.["*"]?.run ?? TOOL_DEFAULTS.run;
  return { conversation: { tools: { "*": { run } } } };
}

/** Lists that a delta appends to in the original, but replaces in jp-ts. */
const APPENDED = [
  ["assistant", "model", "parameters", "stop_words"],
  ["editor", "envs"],
];

function within({ shared, own }: Split, keys: readonly string[]): Split {
  return {
    ...(shared !== undefined && { shared: withValue({}, { keys, value: shared }) }),
    ...(own !== undefined && { own: withValue({}, { keys, value: own }) }),
  };
}

function joined(
  side: keyof Split,
  lower: Json | undefined,
  upper: Json | undefined,
): RecordedConfig {
  const table = mergeJson(lower, upper);
  return isJsonObject(table) ? { [side]: table } : {};
}

function mergeJson(lower: Json | undefined, upper: Json | undefined): Json | undefined {
  if (!isJsonObject(lower) || !isJsonObject(upper)) return upper === undefined ? lower : upper;
  const entries = Object.entries(upper).map(([key, value]) => [
    key,
    mergeJson(ownValue(lower, key) as Json | undefined, value), // JSON.
  ]);
  return { ...lower, ...(Object.fromEntries(entries) as JsonObject) };
}

/**
 * The change as stored by a conversation; undefined if nothing changed. A delta adds and replaces but cannot remove, and
 * never contains private values, or those that belong to a machine.
 */
export function configDelta(before: PartialConfig, after: PartialConfig): JsonObject | undefined {
  const delta = difference(configSchema, before, after);
  return isJsonObject(delta) ? delta : undefined;
}

/** Undefined if they are equal. An empty table is not a difference, but any other empty value is. */
function difference(schema: v.GenericSchema, before: unknown, after: unknown): Json | undefined {
  if (before === after) return undefined;
  if (findBehaviour(unwrap(schema)).isMachineSpecific === true) return undefined;
  const node = nodeOf(schema);
  if (node.kind === "leaf" || !isJsonObject(after)) {
    const [old, current] = [toJson(schema, before), toJson(schema, after)];
    return isDeepEqual(old, current) ? undefined : current;
  }
  const lower = isJsonObject(before) ? before : {};
  const entries = Object.entries(after).flatMap(([key, value]) => {
    // A key that only an open table allows may be any JSON.
    const child = findChild(node, key) ?? v.unknown();
    const changed = difference(child, ownValue(lower, key), value);
    return changed === undefined ? [] : [[key, changed] as const];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
