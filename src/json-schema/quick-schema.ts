/** Tells schemas that any value is checked against in no time from those that could take forever. */
import { isJsonObject, type Json, type JsonObject } from "../util/index.ts";

/** Keywords without schemas inside. Each looks at a value once. */
const PLAIN = new Set([
  "$schema",
  "const",
  "default",
  "deprecated",
  "description",
  "enum",
  "examples",
  "exclusiveMaximum",
  "exclusiveMinimum",
  "maxItems",
  "maxLength",
  "maximum",
  "minItems",
  "minLength",
  "minimum",
  "required",
  "title",
  "type",
]);
/** The most schemas in a schema, and the longest text of a value. */
const MAX_SCHEMAS = 500;
const MAX_LENGTH = 50_000;

/**
 * Whether a check looks at each part of the value once: there are no patterns or formats, nothing refers to anything, and
 * no part has alternatives.
 */
export function isQuick(schema: JsonObject, value: Json): boolean {
  let schemas = 0;
  const isFine = (part: Json): boolean => {
    if (typeof part === "boolean") return true;
    schemas += 1;
    if (!isJsonObject(part) || schemas > MAX_SCHEMAS) return false;
    return Object.entries(part).every(([key, member]) => {
      if (PLAIN.has(key)) return true;
      if (key === "items" || key === "additionalProperties") return isFine(member);
      return key === "properties" && isJsonObject(member) && Object.values(member).every(isFine);
    });
  };
  return isFine(schema) && JSON.stringify(value).length <= MAX_LENGTH;
}
