/** What one config says that another does not: what a conversation has to remember of a change. */
import * as v from "valibot";
import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type Json, type JsonObject } from "../util/index.ts";
import { configSchema, type PartialConfig } from "./schema/config-schema.ts";
import { findChild, nodeOf, ownValue } from "./schema-node.ts";
import { toJson } from "./schema-json.ts";

/** A whole config, as a conversation's base config stores it. */
export function configToJson(config: PartialConfig): JsonObject {
  return toJson(configSchema, config) as JsonObject; // A table gives an object.
}

/**
 * As a conversation stores it; undefined if there is nothing to store. Deltas add and replace, they
 * cannot take away, and nothing private is ever in one.
 */
export function configDelta(before: PartialConfig, after: PartialConfig): JsonObject | undefined {
  const delta = difference(configSchema, before, after);
  return isJsonObject(delta) ? delta : undefined;
}

/** Undefined if there is none. A table says nothing by itself, a value does, also an empty one. */
function difference(schema: v.GenericSchema, before: unknown, after: unknown): Json | undefined {
  const node = nodeOf(schema);
  if (node.kind === "leaf" || !isJsonObject(after)) {
    const [old, current] = [toJson(schema, before), toJson(schema, after)];
    return isDeepStrictEqual(old, current) ? undefined : current;
  }
  const lower = isJsonObject(before) ? before : {};
  const entries = Object.entries(after).flatMap(([key, value]) => {
    // A key that only an open table has is any JSON.
    const child = findChild(node, key) ?? v.unknown();
    const changed = difference(child, ownValue(lower, key), value);
    return changed === undefined ? [] : [[key, changed] as const];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
