/**
 * What a conversation records of a config, in two parts: what the Rust original knows stands where it
 * looks for it, everything else in an event of ours, which it keeps and does not read. What ships with
 * jp is not recorded, nor is `providers`: where models and servers are reached is up to each machine.
 */
import * as v from "valibot";
import { isJsonObject, type Json, type JsonObject } from "../util/index.ts";
import { DEFAULTS, TOOL_DEFAULTS } from "./defaults.ts";
import { configDelta } from "./delta.ts";
import { valueAt, without } from "./layer.ts";
import { mergeConfig } from "./merge.ts";
import { resolveModelId } from "./resolve-model-id.ts";
import type { PartialConfig } from "./schema/config-schema.ts";
import type { ModelId } from "./schema/model-id.ts";
import {
  sharedSchema,
  sharedToolDefaultsSchema,
  sharedToolSchemas,
} from "./schema/shared-schema.ts";
import { findChild, nodeOf, ownValue } from "./schema-node.ts";
import { withValue } from "./with-value.ts";

/** Absent where there is nothing to say. */
export interface RecordedConfig {
  /** What the Rust original knows: a base config, or a config delta. */
  readonly shared?: JsonObject;
  /** What only we know. It counts after `shared`. */
  readonly own?: JsonObject;
}

/** A config that a conversation is to go on with, and what it has recorded so far. */
export interface ConfigChange {
  /** What the tools that come with the program are by themselves. */
  readonly builtins: PartialConfig;
  /** What the conversation remembers; absent for a new one. */
  readonly remembered?: PartialConfig;
  /** In force from now on. */
  readonly config: PartialConfig;
}

/** What a conversation has to record to go on with this config. */
export function recordConfig({ builtins, remembered, config }: ConfigChange): RecordedConfig {
  const shipped = mergeConfig(DEFAULTS, builtins);
  const before = remembered === undefined ? shipped : mergeConfig(shipped, remembered);
  const after = inRecordedNotation(config);
  const delta = configDelta(without(before, UNRECORDED), without(after, UNRECORDED)) ?? {};
  const { "*": common = {}, ...tools } = tableAt(delta, TOOLS);
  const replaced = APPENDED.filter((keys) => isFilled(valueAt(remembered, keys)));
  return [
    split(sharedSchema, without(delta, [TOOLS, ...replaced])),
    ...replaced.map((keys) => within({ own: valueAt(delta, keys) as Json | undefined }, keys)), // Of JSON.
    within(split(sharedToolDefaultsSchema, common), [...TOOLS, "*"]),
    ...Object.entries(tools).map(([name, entry]) =>
      within(splitTool(entry, valueAt(after, [...TOOLS, name, "source"])), [...TOOLS, name]),
    ),
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

/** How files find each other ends with the files, and addresses belong to a machine. */
const UNRECORDED = [["inherit"], ["extends"], ["config_load_paths"], ["providers"]];

type Model = NonNullable<PartialConfig["assistant"]>["model"];

/** Models by provider and name, because aliases belong to a machine, too; reasoning in full. */
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

/** An alias that leads nowhere stays what it is. */
function findModelId(id: ModelId, aliases: Readonly<Record<string, ModelId>>): ModelId {
  try {
    return resolveModelId(id, aliases);
  } catch {
    return id;
  }
}

type Reasoning = NonNullable<NonNullable<NonNullable<Model>["parameters"]>["reasoning"]>;

/** The original has no shorthand for an effort, and adds to a table what an earlier one said. */
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

/** Key by key what the original knows, and the rest. */
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

/** The original has other builtins than we do, and needs to know of every tool where it comes from. */
function splitTool(entry: Json, source: unknown): Split {
  const [kind = ""] = String(source).split(".");
  if (kind !== "local" && kind !== "mcp") return { own: entry };
  const { shared, own } = split(sharedToolSchemas[kind], entry);
  if (!isJsonObject(shared)) return { own: entry };
  return { shared: { source: String(source), ...shared }, ...(own !== undefined && { own }) };
}

/** Without these the original does not load a base config. */
function requiredOf({ conversation }: PartialConfig): JsonObject {
  const run = conversation?.tools?.["*"]?.run ?? TOOL_DEFAULTS.run;
  return { conversation: { tools: { "*": { run } } } };
}

/** Lists to which the original adds what a delta says. With us it takes the place of the list. */
const APPENDED = [
  ["assistant", "model", "parameters", "stop_words"],
  ["editor", "envs"],
];

function isFilled(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0;
}

function tableAt(value: JsonObject, keys: readonly string[]): JsonObject {
  const table = valueAt(value, keys);
  return isJsonObject(table) ? table : {};
}

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
  const table = join(lower, upper);
  return isJsonObject(table) ? { [side]: table } : {};
}

function join(lower: Json | undefined, upper: Json | undefined): Json | undefined {
  if (!isJsonObject(lower) || !isJsonObject(upper)) return upper === undefined ? lower : upper;
  const entries = Object.entries(upper).map(([key, value]) => [
    key,
    join(ownValue(lower, key) as Json | undefined, value), // Of JSON.
  ]);
  return { ...lower, ...(Object.fromEntries(entries) as JsonObject) };
}
