/** The JSON data model, and the one test that tells objects from arrays and null. */

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

/** A JSON object. */
export interface JsonObject {
  readonly [key: string]: Json;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** As `Array.isArray`, which gives `any`, and does not know arrays that are only read. */
export function isJsonArray(value: unknown): value is readonly Json[] {
  return Array.isArray(value);
}

/** Names a value's JSON type the way an error message should: `null`, `array`, `string`, … */
export function jsonTypeOf(value: unknown): string {
  if (value === null) return "null";
  if (value === undefined) return "nothing";
  return Array.isArray(value) ? "array" : typeof value;
}

/** Deeper than anybody means it. A stack holds several times as much, a parser any number. */
export const MOST_LEVELS = 1000;

/** Whether going through it step by step could be more than a stack holds. */
export function isTooDeep(value: unknown, levels = MOST_LEVELS): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isTooDeep(member, levels - 1));
}

/**
 * Throws a `SyntaxError` that says where the text is wrong. The engine's own message would quote the text,
 * which may be a private file that a link leads to.
 */
export function parseJson(text: string): Json {
  try {
    return JSON.parse(text) as Json; // JSON.parse gives JSON.
  } catch (error) {
    throw new SyntaxError(describeJsonError(text, error instanceof Error ? error.message : ""));
  }
}

/** Only the position is taken from the engine's message. */
function describeJsonError(text: string, message: string): string {
  const position = / at position (\d+)(?: \(line \d+ column \d+\))?$/.exec(message)?.[1];
  if (position === undefined) {
    return message.includes("end of JSON") ? "invalid JSON: it ends too early" : "invalid JSON";
  }
  const lines = text.slice(0, Number(position)).split("\n");
  return `${lines.length}:${(lines.at(-1) ?? "").length + 1}: invalid JSON`;
}

/** What the text says as JSON; undefined if it is none. */
export function findJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json; // JSON.parse gives JSON.
  } catch {
    return undefined;
  }
}
