/**
 * Navigates a JSON Schema: references, accepted types, and the schemas of a value's members. The validator decides what a
 * schema allows.
 */
import {
  isJsonArray,
  isJsonObject,
  type Json,
  type JsonObject,
  jsonTypeOf,
  unescapePointer,
} from "../../util/index.ts";

/** A schema, and the document its references point into. */
export interface SchemaNode {
  readonly schema: JsonObject;
  readonly root: JsonObject;
}

/** The schema of a member of an object or list; undefined if there is none. */
export function memberNode(
  node: SchemaNode,
  value: Json,
  key: string | number,
): SchemaNode | undefined {
  const found = schemasFor(node, value).map((schema) => memberSchema(schema, key));
  const schema = found.find((candidate) => candidate !== undefined);
  return schema === undefined ? undefined : { schema, root: node.root };
}

/**
 * Every schema that applies to the value: the given one, the ones it refers to, and the alternative for the value's type
 * if exactly one fits.
 */
export function schemasFor(node: SchemaNode, value: Json): readonly JsonObject[] {
  const found = new Set<JsonObject>();
  collectSchemas(node, value, found);
  return [...found];
}

/** The names of JSON types; undefined if any type is accepted. */
export function acceptedTypes(node: SchemaNode): readonly string[] | undefined {
  return typesOf(node, new Set());
}

export function hasType(value: Json, type: string): boolean {
  if (type === "integer") return Number.isInteger(value);
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isJsonObject(value);
  return type === "null" ? value === null : typeof value === type;
}

/** Follows a reference within the same document. */
export function findReferenced({ schema, root }: SchemaNode): JsonObject | undefined {
  const reference = schema["$ref"];
  if (typeof reference !== "string" || !/^#(?:\/|$)/.test(reference)) return undefined;
  let found: Json | undefined = root;
  for (const part of reference.split("/").slice(1)) {
    found = isJsonObject(found) ? found[decodePointer(part)] : undefined;
  }
  return isJsonObject(found) ? found : undefined;
}

export function decodePointer(part: string): string {
  return unescapePointer(safeDecode(part));
}

function safeDecode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function memberSchema(schema: JsonObject, key: string | number): JsonObject | undefined {
  const found =
    typeof key === "string"
      ? (ownMember(schema["properties"], key) ?? schema["additionalProperties"])
      : (itemAt(schema["prefixItems"], key) ?? schema["items"]);
  return isJsonObject(found) ? found : undefined;
}

function ownMember(object: Json | undefined, key: string): Json | undefined {
  return isJsonObject(object) && Object.hasOwn(object, key) ? object[key] : undefined;
}

function itemAt(list: Json | undefined, index: number): Json | undefined {
  return isJsonArray(list) ? list[index] : undefined;
}

function collectSchemas(node: SchemaNode, value: Json, found: Set<JsonObject>): void {
  if (found.has(node.schema)) return;
  found.add(node.schema);
  const referenced = findReferenced(node);
  const alternatives = ["anyOf", "oneOf"].flatMap((keyword) => subschemas(node, keyword));
  const fitting = alternatives.filter((alternative) => mayHold(alternative, value));
  const others = [
    ...(referenced === undefined ? [] : [{ ...node, schema: referenced }]),
    ...subschemas(node, "allOf"),
    ...(fitting.length === 1 ? fitting : []),
  ];
  for (const other of others) collectSchemas(other, value, found);
}

function mayHold(node: SchemaNode, value: Json): boolean {
  return acceptedTypes(node)?.some((type) => hasType(value, type)) ?? true;
}

function typesOf(node: SchemaNode, seen: Set<JsonObject>): readonly string[] | undefined {
  const { schema } = node;
  if (seen.has(schema)) return undefined;
  seen.add(schema);
  return statedTypes(schema) ?? impliedTypes(node, seen);
}

function statedTypes({
  type,
  enum: choices,
  const: only,
}: JsonObject): readonly string[] | undefined {
  if (typeof type === "string") return [type];
  if (Array.isArray(type)) return type.map(String);
  if (Array.isArray(choices)) return choices.map(jsonTypeOf);
  return only === undefined ? undefined : [jsonTypeOf(only)];
}

function impliedTypes(node: SchemaNode, seen: Set<JsonObject>): readonly string[] | undefined {
  const referenced = findReferenced(node);
  if (referenced !== undefined) return typesOf({ ...node, schema: referenced }, seen);
  for (const part of subschemas(node, "allOf")) {
    const types = typesOf(part, seen);
    if (types !== undefined) return types;
  }
  const alternatives = ["anyOf", "oneOf"].flatMap((keyword) => subschemas(node, keyword));
  const types = alternatives.map((alternative) => typesOf(alternative, new Set(seen)));
  const known = types.filter((each) => each !== undefined);
  return known.length === 0 || known.length < types.length ? undefined : [...new Set(known.flat())];
}

function subschemas({ schema, root }: SchemaNode, keyword: string): readonly SchemaNode[] {
  const list = schema[keyword];
  const schemas: readonly Json[] = Array.isArray(list) ? list : [];
  return schemas.filter(isJsonObject).map((each) => ({ schema: each, root }));
}
