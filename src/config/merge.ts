/** One layer over another. Tables meet key by key; how a value meets another, its schema says. */
import type * as v from "valibot";
import { isJsonArray, isJsonObject } from "../util/index.ts";
import { findBehaviour } from "./schema/behaviour.ts";
import { configSchema, type PartialConfig } from "./schema/config-schema.ts";
import type { Mergeable } from "./schema/list.ts";
import { findChild, nodeOf, ownValue, unwrap } from "./schema-node.ts";

/** `upper` wins. Neither is changed. */
export function mergeConfig(lower: PartialConfig, upper: PartialConfig): PartialConfig {
  return merge(configSchema, lower, upper) as PartialConfig; // Of the same schema as its parts.
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
  // What merges so is parsed into these types.
  if (how === "fields") return { ...(lower as object), ...(upper as object) };
  if (how === "list") return mergeList(lower as Mergeable<unknown>, upper as Mergeable<unknown>);
  return upper;
}

function mergeList(lower: Mergeable<unknown>, upper: Mergeable<unknown>): Mergeable<unknown> {
  if (upper.strategy === "replace") return upper;
  const [first, second] = upper.strategy === "append" ? [lower, upper] : [upper, lower];
  return { value: join(first.value, second.value), strategy: lower.strategy };
}

function join(first: unknown, second: unknown): unknown {
  if (isJsonArray(first) && isJsonArray(second)) return [...first, ...second];
  return `${String(first)}\n\n${String(second)}`;
}
