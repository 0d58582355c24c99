/** The JSON data model: its types, type guards, and parsing with safe error messages. */

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

/** A JSON object. */
export interface JsonObject {
  readonly [key: string]: Json;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** `Array.isArray` narrows to `any[]` and does not accept readonly arrays. */
export function isJsonArray(value: unknown): value is readonly Json[] {
  return Array.isArray(value);
}

/** The JSON type of a value, for error messages: `null`, `array`, `string`, … */
export function jsonTypeOf(value: unknown): string {
  if (value === null) return "null";
  if (value === undefined) return "nothing";
  return Array.isArray(value) ? "array" : typeof value;
}

/**
 * Far deeper than real data. Recursing over this many levels is safe; `JSON.parse` itself would
 * accept any number.
 */
export const MAX_JSON_DEPTH = 1000;

/** Whether recursing over the value could overflow the stack. */
export function isTooDeep(value: unknown, levels = MAX_JSON_DEPTH): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isTooDeep(member, levels - 1));
}

/**
 * Throws a `SyntaxError` with line and column. The engine's own message quotes the text, and that
 * text may come from a private file behind a symbolic link.
 */
export function parseJson(text: string): Json {
  try {
    return JSON.parse(text) as Json; // JSON.parse gives JSON.
  } catch (error) {
    throw new SyntaxError(describeJsonError(text, error instanceof Error ? error.message : ""));
  }
}

/** Takes only the position from the engine's message. */
function describeJsonError(text: string, message: string): string {
  const position = / at position (\d+)(?: \(line \d+ column \d+\))?$/.exec(message)?.[1];
  if (position === undefined) {
    return message.includes("end of JSON") ? "invalid JSON: unexpected end" : "invalid JSON";
  }
  const lines = text.slice(0, Number(position)).split("\n");
  return `${lines.length}:${(lines.at(-1) ?? "").length + 1}: invalid JSON`;
}

/** Undefined if the text is not JSON. */
export function findJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json; // JSON.parse gives JSON.
  } catch {
    return undefined;
  }
}

/**
 * Takes JSON text, and replaces escaped lone surrogates: other parsers would reject the whole text because of them.
 */
export function withoutLoneSurrogates(json: string): string {
  if (!json.includes("\\ud")) return json;
  return json.replaceAll(/\\(?:ud[89a-f][0-9a-f]{2}|.)/g, (escape) =>
    escape.startsWith("\\ud") ? "\u{fffd}" : escape,
  );
}

/** The keys of a JSON Pointer (RFC 6901). */
export function parsePointer(pointer: string): readonly string[] {
  return pointer.split("/").slice(1).map(unescapePointer);
}

/** One key of a pointer. */
export function escapePointer(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

export function unescapePointer(part: string): string {
  return part.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** Keys joined by dots. Keys with dots or special characters are quoted, so the result is one line. */
export function pathToText(path: readonly string[]): string {
  return path.map((key) => (/^[\w-]+$/.test(key) ? key : JSON.stringify(key))).join(".");
}
