/** One change of a table, on a copy of it. */
import { isJsonObject, type Json, type JsonObject } from "../util/index.ts";
import { ownValue } from "./schema-node.ts";

export interface Change {
  readonly keys: readonly string[];
  readonly value: Json;
}

/** The same table with the value at its keys; what is no table on the way there is replaced. */
export function withValue(object: JsonObject, { keys, value }: Change): JsonObject {
  const [key = "", ...rest] = keys;
  if (rest.length === 0) return { ...object, [key]: value };
  const member = ownValue(object, key);
  const inner = isJsonObject(member) ? member : {};
  return { ...object, [key]: withValue(inner, { keys: rest, value }) };
}
