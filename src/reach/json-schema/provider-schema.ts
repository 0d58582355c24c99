/** Adapts JSON Schemas to the providers' restrictions. */
import { isJsonObject, type Json, type JsonObject } from "../../util/index.ts";

const NOT_STRICT = ["oneOf", "allOf", "not", "if", "then", "else", "patternProperties"];

/**
 * Converts to strict structured output, as OpenAI defines it: no object has additional properties, and every property is
 * required. Closes objects where only that is missing; other schemas stay unchanged.
 */
export function toStrictSchema(schema: JsonObject): JsonObject {
  const closed = mapSchema(schema, (node) =>
    isObjectSchema(node) ? { additionalProperties: false, ...node } : node,
  );
  return isStrict(closed) ? closed : schema;
}

/** Whether it is strict, or would be once its objects are closed. */
export function isStrict(schema: JsonObject): boolean {
  if (!isObjectSchema(schema)) return false;
  let isEveryNodeStrict = true;
  mapSchema(schema, (node) => {
    isEveryNodeStrict &&= isStrictNode(node);
    return node;
  });
  return isEveryNodeStrict;
}

function isStrictNode(node: JsonObject): boolean {
  if (NOT_STRICT.some((keyword) => keyword in node)) return false;
  if (!isObjectSchema(node)) return true;
  const { properties = {}, required = [], additionalProperties = false } = node;
  if (additionalProperties !== false || !isJsonObject(properties)) return false;
  return (
    Array.isArray(required) && Object.keys(properties).every((name) => required.includes(name))
  );
}

function isObjectSchema({ type, properties }: JsonObject): boolean {
  return type === "object" || properties !== undefined;
}

/** For providers that do not support `const`. */
export function constToEnum(schema: JsonObject): JsonObject {
  return mapSchema(schema, (node) => {
    const { const: value, ...rest } = node;
    return value === undefined ? node : { ...rest, enum: [value] };
  });
}

const NAMED_SCHEMAS = new Set(["properties", "patternProperties", "$defs", "definitions"]);
/** Older drafts allow a list in `items`. */
const SCHEMA_LISTS = new Set(["anyOf", "oneOf", "allOf", "prefixItems", "items"]);
const SINGLE_SCHEMAS = new Set([
  "additionalProperties",
  "items",
  "contains",
  "not",
  "if",
  "then",
  "else",
]);

/** Changes every schema from the leaves up. Values such as `default` are left alone. */
function mapSchema(schema: JsonObject, change: (schema: JsonObject) => JsonObject): JsonObject {
  const walk = (value: Json): Json => (isJsonObject(value) ? mapSchema(value, change) : value);
  const walked = Object.entries(schema).map(([key, value]): [string, Json] => {
    if (NAMED_SCHEMAS.has(key) && isJsonObject(value)) {
      return [
        key,
        Object.fromEntries(Object.entries(value).map(([name, each]) => [name, walk(each)])),
      ];
    }
    if (SCHEMA_LISTS.has(key) && Array.isArray(value)) return [key, value.map(walk)];
    return [key, SINGLE_SCHEMAS.has(key) ? walk(value) : value];
  });
  return change(Object.fromEntries(walked));
}
