/** Config in layers: each says something, the upper ones win, and it stays known who said what. */
import type * as v from "valibot";
import { isJsonObject, type JsonObject } from "../util/index.ts";
import { mergeConfig } from "./merge.ts";
import { findBehaviour } from "./schema/behaviour.ts";
import { configSchema, type PartialConfig } from "./schema/config-schema.ts";
import { toJson } from "./schema-json.ts";
import { findChild, nodeOf, ownValue, type SchemaNode, unwrap } from "./schema-node.ts";

/** What one place says of the config. */
export interface Layer {
  /** A file, a variable, `defaults`, `conversation`, or the words of the command line. */
  readonly name: string;
  readonly config: PartialConfig;
  /** Keys of which lower layers are not heard. */
  readonly cleared?: readonly (readonly string[])[];
  /** Ours, below everything a user says; `inherit = false` does not silence it. */
  readonly isBase?: boolean;
  /** Of the tools in it, those that only read: what a workspace says of them needs no trust. */
  readonly readOnlyTools?: readonly string[];
  /** From a file that came with the workspace, its records among them: perhaps with a clone. */
  readonly isOfWorkspace?: boolean;
  /** From the command line: the next command knows nothing of it. */
  readonly isForOnce?: boolean;
  /** How many layers directly below it are files it extends: its `inherit = false` spares them. */
  readonly extendedBelow?: number;
}

/** From the lowest to the highest. A layer with `inherit = false` is the lowest that counts. */
export function foldLayers(layers: readonly Layer[]): PartialConfig {
  return audible(layers).reduce<PartialConfig>(
    (lower, { config, cleared = [] }) => mergeConfig(without(lower, cleared), config),
    {},
  );
}

/** A value, and the layers it comes from. */
export interface ExplainedValue {
  readonly path: readonly string[];
  /** As it is in force. */
  readonly value: unknown;
  /** Not to be shown, whatever it is. */
  readonly isPrivate: boolean;
  /** The layers that say something of it, the highest first. */
  readonly layers: readonly string[];
}

/** Every value in force, in the order of the schema, with where it comes from. */
export function explainLayers(layers: readonly Layer[]): readonly ExplainedValue[] {
  const heard = audible(layers).toReversed();
  return leavesOf(configSchema, foldLayers(layers), []).map(({ path, value, isPrivate }) => ({
    path,
    value,
    isPrivate,
    layers: heard
      .filter(({ config }) => valueAt(config, path) !== undefined)
      .map(({ name }) => name),
  }));
}

/** The value under these keys; undefined if there is none. */
export function valueAt(config: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (isJsonObject(value) ? ownValue(value, key) : undefined),
    config,
  );
}

/** Those that count: a layer with `inherit = false` silences what is below it, but not ours. */
export function audible(layers: readonly Layer[]): readonly Layer[] {
  const starts = layers.map(({ config, extendedBelow = 0 }, index) =>
    config.inherit === false ? index - extendedBelow : 0,
  );
  const start = Math.max(0, ...starts);
  return layers.filter(({ isBase }, index) => isBase === true || index >= start);
}

export function without<Config extends PartialConfig | JsonObject>(
  config: Config,
  paths: readonly (readonly string[])[],
): Config {
  return paths.reduce((rest, path) => omit(rest, path) as Config, config); // Only less of it.
}

function omit(value: unknown, [key, ...rest]: readonly string[]): unknown {
  if (!isJsonObject(value) || key === undefined || !Object.hasOwn(value, key)) return value;
  const { [key]: member, ...others } = value;
  return rest.length === 0 ? others : { ...others, [key]: omit(member, rest) };
}

type Leaf = Omit<ExplainedValue, "layers">;

function leavesOf(
  schema: v.GenericSchema,
  value: unknown,
  path: readonly string[],
): readonly Leaf[] {
  if (value === undefined) return [];
  const node = nodeOf(schema);
  if (node.kind === "leaf" || !isJsonObject(value)) {
    const { isPrivate = false } = findBehaviour(unwrap(schema));
    return [{ path, value: isPrivate ? undefined : toJson(schema, value), isPrivate }];
  }
  return inOrder(node, value).flatMap(([key, member]) => {
    const child = findChild(node, key);
    return child === undefined
      ? [{ path: [...path, key], value: member, isPrivate: false }]
      : leavesOf(child, member, [...path, key]);
  });
}

/** As the schema has them, then names and unknown keys as the config has them. */
function inOrder(node: SchemaNode, value: object): readonly (readonly [string, unknown])[] {
  const known = node.kind === "group" ? Object.keys(node.entries) : [];
  const keys = new Set([
    ...known.filter((key) => Object.hasOwn(value, key)),
    ...Object.keys(value),
  ]);
  return [...keys].map((key) => [key, ownValue(value, key)]);
}
