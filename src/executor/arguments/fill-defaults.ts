/** Adds the keys that a schema has a `default` for and that were not given, at every depth. */
import { isJsonObject, type Json, type JsonObject } from "../../util/index.ts";
import { memberNode, type SchemaNode, schemasFor } from "./schema-node.ts";

/** An object that was not given, and has no default of its own, is not made up. */
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
