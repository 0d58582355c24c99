/**
 * What a conversation remembers of its config: the base it started with and every change since.
 * Other versions write keys that we do not know, or mean something else by; those do not count.
 */
import type * as v from "valibot";
import { isJsonObject, type JsonObject } from "../util/index.ts";
import { configToJson } from "./delta.ts";
import { mergeConfig } from "./merge.ts";
import { parseConfig } from "./parse-config.ts";
import { findBehaviour } from "./schema/behaviour.ts";
import { configSchema, type PartialConfig } from "./schema/config-schema.ts";
import { findChild, nodeOf, unwrap } from "./schema-node.ts";

/** What a conversation remembers of its config, as one layer. Never throws. */
export function conversationConfig(
  baseConfig: JsonObject,
  deltas: readonly JsonObject[],
): PartialConfig {
  const merged = deltas
    .map(parseLeniently)
    .reduce((lower, upper) => mergeConfig(lower, upper), readBase(baseConfig));
  // How files find each other is the files' business.
  const { inherit: _inherit, extends: _extends, config_load_paths: _paths, ...rest } = merged;
  return withoutMachine(rest);
}

/**
 * Without where things are reached: addresses, the variables with keys, MCP servers. A conversation may have
 * come from another machine, where other programs listen.
 */
export function withoutMachine(config: PartialConfig): PartialConfig {
  return omitMachine(configSchema, config) as PartialConfig; // Only less of it.
}

/** Undefined for what belongs to a machine, and for a table that holds nothing else. */
function omitMachine(schema: v.GenericSchema, value: unknown): unknown {
  if (findBehaviour(unwrap(schema)).isOfMachine === true) return undefined;
  const node = nodeOf(schema);
  if (node.kind === "leaf" || !isJsonObject(value)) return value;
  const members = Object.entries(value).map(([key, member]) => {
    const child = findChild(node, key);
    return [key, child === undefined ? member : omitMachine(child, member)] as const;
  });
  const left = members.filter(([, member]) => member !== undefined);
  const isEmptied = left.length === 0 && members.length > 0 && schema !== configSchema;
  return isEmptied ? undefined : Object.fromEntries(left);
}

/** All that held then: its lists are whole, also where another version wrote them plainly. */
function readBase(baseConfig: JsonObject): PartialConfig {
  return parseLeniently(configToJson(parseLeniently(baseConfig)));
}

/** Without what cannot be read, key by key. */
function parseLeniently(value: JsonObject): PartialConfig {
  let rest: JsonObject = value;
  for (;;) {
    const { config, errors } = parseConfig(rest);
    const [first] = errors;
    if (first === undefined) return config;
    if (first.path.length === 0) return {};
    rest = without(rest, first.path) ?? {};
  }
}

/** Without the key. Undefined if the table lacks it, and so cannot be read itself. */
function without(
  value: JsonObject,
  [key = "", ...path]: readonly string[],
): JsonObject | undefined {
  if (!Object.hasOwn(value, key)) return undefined;
  const { [key]: member, ...others } = value;
  const rest = path.length === 0 || !isJsonObject(member) ? undefined : without(member, path);
  return rest === undefined ? others : { ...others, [key]: rest };
}
