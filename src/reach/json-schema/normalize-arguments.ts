/** Completes a model's arguments before they are checked: corrects obvious type mistakes and fills in defaults. */
import { findJson, isJsonObject, type Json, type JsonObject } from "../../util/index.ts";
import { acceptedTypes, hasType, memberNode, type SchemaNode, schemasFor } from "./schema-node.ts";

/**
 * Parses values that a model has written as a JSON string, but only where no string is accepted, and only if the parsed
 * value has an accepted type. Where only an object is accepted whose sole requirement is a string, a string becomes such
 * an object; where only a string is accepted, a boolean becomes its name.
 */
export function coerceArguments(args: JsonObject, schema: JsonObject): JsonObject {
  return coerceObject(args, { schema, root: schema });
}

function coerce(value: Json, node: SchemaNode): Json {
  const parsed = typeof value === "string" ? parseQuoted(value, node) : value;
  if (Array.isArray(parsed)) {
    const list: readonly Json[] = parsed;
    return list.map((item, index) => coerceMember(item, memberNode(node, list, index)));
  }
  if (isJsonObject(parsed)) return coerceObject(parsed, node);
  if (typeof parsed === "string") return wrapText(parsed, node);
  return typeof parsed === "boolean" && acceptsOnly(node, "string") ? String(parsed) : parsed;
}

function wrapText(text: string, node: SchemaNode): Json {
  const { required } = node.schema;
  const keys: readonly Json[] = Array.isArray(required) ? required : [];
  const [key, ...others] = keys;
  if (typeof key !== "string" || others.length > 0 || !acceptsOnly(node, "object")) return text;
  const object = { [key]: text };
  const member = memberNode(node, object, key);
  return member !== undefined && acceptsOnly(member, "string") ? object : text;
}

function acceptsOnly(node: SchemaNode, type: string): boolean {
  const types = acceptedTypes(node);
  return types?.length === 1 && types[0] === type;
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

function parseQuoted(text: string, node: SchemaNode): Json {
  const types = acceptedTypes(node);
  if (types === undefined || types.includes("string")) return text;
  const value = findJson(text);
  if (value === undefined || !types.some((type) => hasType(value, type))) return text;
  return isExact(value) ? value : text;
}

/** A number that JavaScript cannot represent would silently become a different one. */
function isExact(value: Json): boolean {
  if (typeof value !== "number") return true;
  return Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value);
}

/** Adds defaults at every depth. A missing object without its own default stays missing. */
export function fillDefaults(args: JsonObject, schema: JsonObject): JsonObject {
  return fillObject(args, { schema, root: schema });
}

function fill(value: Json, node: SchemaNode | undefined): Json {
  if (node === undefined) return value;
  if (Array.isArray(value)) {
    const list: readonly Json[] = value;
    return list.map((item, index) => fill(item, memberNode(node, list, index)));
  }
  return isJsonObject(value) ? fillObject(value, node) : value;
}

function fillObject(object: JsonObject, node: SchemaNode): JsonObject {
  const absent = declaredKeys(node, object).filter((key) => !Object.hasOwn(object, key));
  const defaults = absent.flatMap((key): [string, Json][] => {
    const value = memberNode(node, object, key)?.schema["default"];
    return value === undefined ? [] : [[key, value]];
  });
  const entries = [...Object.entries(object), ...defaults].map(([key, value]): [string, Json] => [
    key,
    fill(value, memberNode(node, object, key)),
  ]);
  return Object.fromEntries(entries);
}

function declaredKeys(node: SchemaNode, object: JsonObject): readonly string[] {
  const keys = schemasFor(node, object).flatMap(({ properties }) =>
    isJsonObject(properties) ? Object.keys(properties) : [],
  );
  return [...new Set(keys)];
}
