/** Config in layers: higher layers win, and each value can be traced to the layers that set it. */
import type * as v from "valibot";
import { isJsonArray, isJsonObject, type Json, type JsonObject } from "../../util/index.ts";
import { configSchema, type PartialConfig } from "./schema/config-schema.ts";
import { findBehaviour, type Mergeable } from "./schema/node.ts";
import { mergePolicyLists, type PolicyList } from "./policy-list.ts";
import { findChild, nodeOf, ownValue, toJson, unwrap } from "./schema-node.ts";

/** The part of a config from one place. */
export interface Layer {
  /** A file, a variable, `defaults`, `conversation`, or a flag with its key. */
  readonly name: string;
  readonly config: PartialConfig;
  /** The SHA-256 of its file, as it was read. */
  readonly digest?: () => string;
  /** Keys that this layer resets, which removes the values of lower layers. */
  readonly cleared?: readonly (readonly string[])[];
  /** Entries for groups of tools, which `config` repeats for each of their tools. */
  readonly groups?: PartialConfig;
  /** Ships with jp, below everything a user sets; `inherit = false` does not remove it. */
  readonly isBase?: boolean;
  /** Its tools that only read: a workspace may configure them without trust. */
  readonly readOnlyTools?: readonly string[];
  /** Comes from the workspace's files or records, and so perhaps from a clone. */
  readonly isFromWorkspace?: boolean;
  /** Comes from an environment variable. */
  readonly isFromEnvironment?: boolean;
  /** Comes from the command line, and does not affect the next command. */
  readonly isTemporary?: boolean;
  /** The number of layers directly below that it extends: its `inherit = false` keeps them. */
  readonly extendedBelow?: number;
}

/** Merges layers, given from the lowest to the highest. */
export function foldLayers(layers: readonly Layer[]): PartialConfig {
  return effectiveLayers(layers).reduce<PartialConfig>(
    (lower, { config, cleared = [] }) => mergeConfig(omitPaths(lower, cleared), config),
    {},
  );
}

/** Drops the layers below one with `inherit = false`, except the base layers. */
export function effectiveLayers(layers: readonly Layer[]): readonly Layer[] {
  const starts = layers.map(({ config, extendedBelow = 0 }, index) =>
    config.inherit === false ? index - extendedBelow : 0,
  );
  const start = Math.max(0, ...starts);
  return layers.filter(({ isBase }, index) => isBase === true || index >= start);
}

/** A value and the layers that set it. */
export interface ExplainedValue {
  readonly path: readonly string[];
  /** The value in force. */
  readonly value: unknown;
  /** Must not be shown. */
  readonly isPrivate: boolean;
  /** The layers that set it, highest first. */
  readonly layers: readonly string[];
}

/** Every value in force, in the order of the schema, with the layers that set it. */
export function explainLayers(layers: readonly Layer[]): readonly ExplainedValue[] {
  const effective = effectiveLayers(layers).toReversed();
  return leavesOf(configSchema, foldLayers(layers), []).map((leaf) => ({
    ...leaf,
    layers: effective
      .filter(({ config }) => valueAt(config, leaf.path) !== undefined)
      .map(({ name }) => name),
  }));
}

function leavesOf(
  schema: v.GenericSchema,
  value: unknown,
  path: readonly string[],
): readonly Omit<ExplainedValue, "layers">[] {
  if (value === undefined) return [];
  const node = nodeOf(schema);
  if (node.kind === "leaf" || !isJsonObject(value)) {
    const { isPrivate = false } = findBehaviour(unwrap(schema));
    return [{ path, value: isPrivate ? undefined : toJson(schema, value, "shown"), isPrivate }];
  }
  // Keys in the order of the schema, then names and unknown keys in the order of the config.
  const known = node.kind === "group" ? Object.keys(node.entries) : [];
  const keys = new Set([
    ...known.filter((key) => Object.hasOwn(value, key)),
    ...Object.keys(value),
  ]);
  return [...keys].flatMap((key) => {
    const [child, member] = [findChild(node, key), ownValue(value, key)];
    return child === undefined
      ? [{ path: [...path, key], value: member, isPrivate: false }]
      : leavesOf(child, member, [...path, key]);
  });
}

/** Merges two layers. `upper` wins. Neither is changed. */
export function mergeConfig(lower: PartialConfig, upper: PartialConfig): PartialConfig {
  return merge(configSchema, lower, upper) as PartialConfig; // It has the same schema as its parts.
}

function merge(schema: v.GenericSchema, lower: unknown, upper: unknown): unknown {
  if (upper === undefined) return lower;
  if (lower === undefined) return upper;
  const node = nodeOf(schema);
  if (node.kind === "leaf") return mergeLeaf(schema, lower, upper);
  if (!isJsonObject(lower) || !isJsonObject(upper)) return upper;
  const result: Record<string, unknown> = { ...lower };
  for (const [key, value] of Object.entries(upper)) {
    const child = findChild(node, key);
    result[key] = child === undefined ? value : merge(child, ownValue(lower, key), value);
  }
  return result;
}

function mergeLeaf(schema: v.GenericSchema, lower: unknown, upper: unknown): unknown {
  const { merge: how } = findBehaviour(unwrap(schema));
  // Values with these behaviours have been parsed into these types.
  if (how === "fields") return { ...(lower as object), ...(upper as object) };
  if (how === "list") return mergeList(lower as Mergeable<unknown>, upper as Mergeable<unknown>);
  if (how === "rules") return mergePolicyLists(lower as PolicyList, upper as PolicyList);
  return upper;
}

function mergeList(lower: Mergeable<unknown>, upper: Mergeable<unknown>): Mergeable<unknown> {
  const { strategy } = upper;
  if (strategy === "replace") return upper;
  const [first, second] =
    strategy === "append" ? [lower.value, upper.value] : [upper.value, lower.value];
  const value =
    isJsonArray(first) && isJsonArray(second)
      ? [...first, ...second]
      : `${String(first)}\n\n${String(second)}`;
  return { value, strategy: lower.strategy };
}

/** A whole config as conversations store it, or as people write it, without private values. */
export function configToJson(config: PartialConfig, purpose?: "stored" | "shown"): JsonObject {
  return toJson(configSchema, config, purpose) as JsonObject; // A table gives an object.
}

/** The value at these keys; undefined if there is none. */
export function valueAt(config: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (isJsonObject(value) ? ownValue(value, key) : undefined),
    config,
  );
}

export interface Change {
  readonly keys: readonly string[];
  readonly value: Json;
}

/** A copy with the value at these keys. Replaces values on the way that are not tables. */
export function withValue(object: JsonObject, { keys, value }: Change): JsonObject {
  const [key = "", ...rest] = keys;
  if (rest.length === 0) return { ...object, [key]: value };
  const member = ownValue(object, key);
  const inner = isJsonObject(member) ? member : {};
  return { ...object, [key]: withValue(inner, { keys: rest, value }) };
}

/** A copy without the values at these paths. */
export function omitPaths<Config extends PartialConfig | JsonObject>(
  config: Config,
  paths: readonly (readonly string[])[],
): Config {
  return paths.reduce((rest, path) => omit(rest, path) as Config, config); // A subset of the config.
}

function omit(value: unknown, [key, ...rest]: readonly string[]): unknown {
  if (!isJsonObject(value) || key === undefined || !Object.hasOwn(value, key)) return value;
  const { [key]: member, ...others } = value;
  return rest.length === 0 ? others : { ...others, [key]: omit(member, rest) };
}
