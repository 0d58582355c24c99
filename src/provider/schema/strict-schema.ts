/**
 * Strict structured output, as OpenAI has it: every object is closed and every field required. What
 * lacks only the word is closed; a schema with optional fields stays as it is and is not strict.
 */
import { isJsonObject, type JsonObject } from "../../util/index.ts";
import { mapSchema } from "./map-schema.ts";

const NOT_STRICT = ["oneOf", "allOf", "not", "if", "then", "else", "patternProperties"];

export function toStrictSchema(schema: JsonObject): JsonObject {
  const closed = mapSchema(schema, (node) =>
    isObjectSchema(node) ? { additionalProperties: false, ...node } : node,
  );
  return isStrict(closed) ? closed : schema;
}

/** Whether it is strict, or becomes so when its objects are closed. */
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
