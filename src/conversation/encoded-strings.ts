/**
 * The record keeps some strings in base64, to keep noise out of text searches of the files. One
 * layer is added on writing and one removed on reading; text that is not base64 stays as it is.
 */
import {
  decodeBase64,
  encodeBase64,
  isJsonObject,
  type Json,
  type JsonObject,
  MOST_LEVELS,
  ShapeError,
} from "../util/index.ts";

export function decodeText(text: string): string {
  return decodeBase64(text) ?? text;
}

export function encodeText(text: string): string {
  return encodeBase64(text);
}

/**
 * Decodes every string value; keys and other values are as they are. Throws `ShapeError` for what is
 * nested too deeply to be gone through.
 */
export function decodeStrings(object: JsonObject): JsonObject {
  return mapStrings(object, decodeText) as JsonObject; // An object maps to an object.
}

/** The same the other way. */
export function encodeStrings(object: JsonObject): JsonObject {
  return mapStrings(object, encodeText) as JsonObject; // An object maps to an object.
}

function mapStrings(value: Json, change: (text: string) => string, level = 0): Json {
  if (typeof value === "string") return change(value);
  if (level > MOST_LEVELS) throw new ShapeError("", `nested deeper than ${MOST_LEVELS} levels`);
  if (Array.isArray(value)) return value.map((item: Json) => mapStrings(item, change, level + 1));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, mapStrings(item, change, level + 1)]),
  );
}
