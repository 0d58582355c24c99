/** Values back into the notation of files and conversations. Private ones are left behind. */
import type * as v from "valibot";
import { isJsonObject, type Json } from "../util/index.ts";
import { findBehaviour } from "./schema/behaviour.ts";
import { findChild, nodeOf, unwrap } from "./schema-node.ts";

/** Undefined for what is private, or absent. */
export function toJson(schema: v.GenericSchema, value: unknown): Json | undefined {
  if (value === undefined) return undefined;
  const node = nodeOf(schema);
  const { isPrivate, toJson: encode } = findBehaviour(unwrap(schema));
  if (isPrivate === true) return undefined;
  if (encode !== undefined) return encode(value as never); // The schema's own value.
  if (node.kind === "leaf" || !isJsonObject(value)) return value as Json; // Parsed from JSON.
  const entries = Object.entries(value).flatMap(([key, member]) => {
    const child = findChild(node, key);
    const json = child === undefined ? member : toJson(child, member);
    return json === undefined ? [] : [[key, json] as const];
  });
  return Object.fromEntries(entries);
}
