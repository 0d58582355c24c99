/** Walks a JSON Schema from the leaves up, and only where schemas stand, never into values. */
import { isJsonObject, type Json, type JsonObject } from "../../util/index.ts";

const OF_SCHEMAS_BY_NAME = new Set(["properties", "patternProperties", "$defs", "definitions"]);
/** Older drafts have a list in `items`. */
const OF_SCHEMAS = new Set(["anyOf", "oneOf", "allOf", "prefixItems", "items"]);
const OF_ONE_SCHEMA = new Set([
  "additionalProperties",
  "items",
  "contains",
  "not",
  "if",
  "then",
  "else",
]);

export function mapSchema(
  schema: JsonObject,
  change: (schema: JsonObject) => JsonObject,
): JsonObject {
  const walk = (value: Json): Json => (isJsonObject(value) ? mapSchema(value, change) : value);
  const walked = Object.entries(schema).map(([key, value]): [string, Json] => {
    if (OF_SCHEMAS_BY_NAME.has(key) && isJsonObject(value)) {
      return [
        key,
        Object.fromEntries(Object.entries(value).map(([name, each]) => [name, walk(each)])),
      ];
    }
    if (OF_SCHEMAS.has(key) && Array.isArray(value)) return [key, value.map(walk)];
    return [key, OF_ONE_SCHEMA.has(key) ? walk(value) : value];
  });
  return change(Object.fromEntries(walked));
}
