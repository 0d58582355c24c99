/**
 * The strings of the record that may be in base64. The original encodes all of them, and reads one that is not
 * base64 as it is. So jp writes them as plain text, except where that would be decoded on reading.
 */
import {
  decodeBase64,
  encodeBase64,
  isJsonObject,
  type Json,
  type JsonObject,
  MAX_JSON_DEPTH,
  ShapeError,
} from "../../util/index.ts";

/** Text that is not base64 is kept unchanged. */
export function decodeText(text: string): string {
  return decodeBase64(text) ?? text;
}

/** Decodes every string value, but no keys. Throws `ShapeError` if the object is nested too deeply. */
export function decodeStrings(object: JsonObject): JsonObject {
  return mapStrings(object, decodeText) as JsonObject; // An object maps to an object.
}

/** The inverse of `decodeText`. */
export function encodeText(text: string): string {
  return decodeBase64(text) === undefined ? text : encodeBase64(text);
}

/** Undone by `decodeStrings`. */
export function encodeStrings(object: JsonObject): JsonObject {
  return mapStrings(object, encodeText) as JsonObject; // An object maps to an object.
}

/** Undone by `decodeStrings` too. For metadata, which only programs read. */
export function encodeAllStrings(object: JsonObject): JsonObject {
  return mapStrings(object, encodeBase64) as JsonObject; // An object maps to an object.
}

function mapStrings(value: Json, change: (text: string) => string, level = 0): Json {
  if (typeof value === "string") return change(value);
  if (level > MAX_JSON_DEPTH)
    throw new ShapeError("", `nested deeper than ${MAX_JSON_DEPTH} levels`);
  if (Array.isArray(value)) return value.map((item: Json) => mapStrings(item, change, level + 1));
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value);
  for (const member of members) member[1] = mapStrings(member[1], change, level + 1);
  return Object.fromEntries(members);
}
