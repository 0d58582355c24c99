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
} from "../util/index.ts";

export function decodeText(text: string): string {
  return decodeBase64(text) ?? text;
}

export function encodeText(text: string): string {
  return encodeBase64(text);
}

/** Decodes every string value at any depth; keys and other values are as they are. */
export function decodeStrings(object: JsonObject): JsonObject {
  return mapStrings(object, decodeText) as JsonObject; // An object maps to an object.
}

export function encodeStrings(object: JsonObject): JsonObject {
  return mapStrings(object, encodeText) as JsonObject; // An object maps to an object.
}

function mapStrings(value: Json, change: (text: string) => string): Json {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((item: Json) => mapStrings(item, change));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, mapStrings(item, change)]),
  );
}
