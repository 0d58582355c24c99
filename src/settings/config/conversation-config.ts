/**
 * Reads back the config that a conversation records: its initial base, and every change since. Ignores keys of other
 * versions that this one does not know or reads differently.
 */
import type * as v from "valibot";
import { isJsonObject, type JsonObject } from "../../util/index.ts";
import { configToJson, mergeConfig } from "./layers.ts";
import { parseConfig } from "./parse-config.ts";
import { configSchema, type PartialConfig } from "./schema/config-schema.ts";
import { findBehaviour } from "./schema/node.ts";
import { findChild, nodeOf, unwrap } from "./schema-node.ts";

/** The recorded config of a conversation, as one layer. Never throws. */
export function conversationConfig(
  baseConfig: JsonObject,
  deltas: readonly JsonObject[],
): PartialConfig {
  // Parsed twice: other versions write the lists of a base plainly, and there they are complete.
  const base = parseLeniently(configToJson(parseLeniently(baseConfig)));
  const merged = deltas
    .map(parseLeniently)
    .reduce((lower, upper) => mergeConfig(lower, upper), base);
  return withoutMachineSettings(merged);
}

/**
 * Drops addresses, names of variables with keys, MCP servers, and references between files. A conversation may come from
 * another machine, where other programs listen.
 */
export function withoutMachineSettings(config: PartialConfig): PartialConfig {
  return omitMachine(configSchema, config) as PartialConfig; // A subset of the config.
}

/** Undefined for a machine-specific value, and for a table that contains nothing else. */
function omitMachine(schema: v.GenericSchema, value: unknown): unknown {
  if (findBehaviour(unwrap(schema)).isMachineSpecific === true) return undefined;
  const node = nodeOf(schema);
  if (node.kind === "leaf" || !isJsonObject(value)) return value;
  const members = Object.entries(value).map(([key, member]) => {
    const child = findChild(node, key);
    return [key, child === undefined ? member : omitMachine(child, member)] as const;
  });
  const kept = members.filter(([, member]) => member !== undefined);
  const isEmptied = kept.length === 0 && members.length > 0 && schema !== configSchema;
  return isEmptied ? undefined : Object.fromEntries(kept);
}

/** Drops unreadable keys, one by one. */
function parseLeniently(value: JsonObject): PartialConfig {
  let rest: JsonObject = value;
  for (;;) {
    const { config, errors } = parseConfig(rest);
    const [first] = errors;
    if (first === undefined) return config;
    if (first.path.length === 0) return {};
    rest = dropKey(rest, first.path) ?? {};
  }
}

/** Undefined if the key is missing, so that the table without it is dropped instead. */
function dropKey(
  value: JsonObject,
  [key = "", ...path]: readonly string[],
): JsonObject | undefined {
  if (!Object.hasOwn(value, key)) return undefined;
  const { [key]: member, ...others } = value;
  const rest = path.length === 0 || !isJsonObject(member) ? undefined : dropKey(member, path);
  return rest === undefined ? others : { ...others, [key]: rest };
}
