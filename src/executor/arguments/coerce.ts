/**
 * Takes the quotes off values that a model has written as a string of JSON. Only where no string is
 * accepted, and only if what is inside has a type that is.
 */
import { findJson, isJsonObject, type Json, type JsonObject } from "../../util/index.ts";
import { acceptedTypes, hasType, memberNode, type SchemaNode } from "./schema-node.ts";

export function coerceArguments(args: JsonObject, schema: JsonObject): JsonObject {
  return coerceObject(args, { schema, root: schema });
}

function coerce(value: Json, node: SchemaNode): Json {
  const bare = typeof value === "string" ? withoutQuotes(value, node) : value;
  if (Array.isArray(bare)) {
    const list: readonly Json[] = bare;
    return list.map((item, index) => coerceMember(item, memberNode(node, list, index)));
  }
  return isJsonObject(bare) ? coerceObject(bare, node) : bare;
}

function coerceObject(object: JsonObject, node: SchemaNode): JsonObject {
  const entries = Object.entries(object).map(([key, member]): [string, Json] => [
    key,
    coerceMember(member, memberNode(node, object, key)),
  ]);
  return Object.fromEntries(entries);
}

function coerceMember(value: Json, node: SchemaNode | undefined): Json {
  return node === undefined ? value : coerce(value, node);
}

function withoutQuotes(text: string, node: SchemaNode): Json {
  const types = acceptedTypes(node);
  if (types === undefined || types.includes("string")) return text;
  const value = findJson(text);
  if (value === undefined || !types.some((type) => hasType(value, type))) return text;
  return isExact(value) ? value : text;
}

/** A number that we cannot hold would silently become another one. */
function isExact(value: Json): boolean {
  if (typeof value !== "number") return true;
  return Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value);
}
