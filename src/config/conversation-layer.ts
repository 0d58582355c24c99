/**
 * What a conversation remembers of its config: the base it started with and every change since.
 * Other versions write keys that we do not know, or mean something else by; those do not count.
 */
import { isJsonObject, type JsonObject } from "../util/index.ts";
import { configToJson } from "./delta.ts";
import { mergeConfig } from "./merge.ts";
import { parseConfig } from "./parse-config.ts";
import type { PartialConfig } from "./schema/config-schema.ts";

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
  return rest;
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
