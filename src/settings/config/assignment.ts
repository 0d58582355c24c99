/**
 * Parses one setting from the command line: `key=text`, `key:=JSON`, `key+=text`, `key:+=JSON`, or a JSON object.
 * Errors never repeat a value, because it may be private.
 */
import * as v from "valibot";
import { findJson, isJsonObject, type Json, type JsonObject, parseJson } from "../../util/index.ts";
import { configError, describeSyntaxError } from "./config-error.ts";
import { findChild, findItem, findWrittenChild, nodeOf, unwrap } from "./schema-node.ts";
import { configSchema } from "./schema/config-schema.ts";
import { findBehaviour } from "./schema/node.ts";

/** The meaning of one `key=value`. */
export interface Assignment {
  /** A layer of config, not yet parsed. */
  readonly value: JsonObject;
  /** Keys set to `null`, which removes the values of lower layers. */
  readonly cleared: readonly (readonly string[])[];
}

const FORM = /^(?<key>[^=:+\s]+)(?<json>:)?(?<adds>\+)?=(?<text>[\s\S]*)$/;
/** Each part matches in one way only, so that long keys do not backtrack. */
const PART = `(?:"[^"]*"|'[^']*'|[^."'][^.]*)`;
const PATH = new RegExp(`^${PART}(?:\\.${PART})*$`);
const OBJECT = "{…}";

/** Undefined if the words are not an assignment. Throws `config_invalid`. */
export function parseAssignment(words: string): Assignment | undefined {
  if (isObject(words)) return parseObject(words);
  const { key, json, adds, text = "" } = FORM.exec(words)?.groups ?? {};
  if (key === undefined) return undefined;
  if (!PATH.test(key)) {
    const message = "the key has an empty part or an unclosed quote";
    throw configError(key, { path: [], message });
  }
  const assigned = { text, isJson: json !== undefined, isAdding: adds !== undefined };
  return assign(splitPath(key), assigned, key);
}

/** The key that the words set, without the value. */
export function assignmentKey(words: string): string {
  return isObject(words) ? OBJECT : (FORM.exec(words)?.groups?.["key"] ?? "");
}

export interface AssignedText {
  readonly text: string;
  readonly isJson: boolean;
  readonly isAdding: boolean;
}

/** Errors name `where`. Throws `config_invalid`. */
export function assign(path: readonly string[], assigned: AssignedText, where: string): Assignment {
  const schema = findSchema(path);
  // The caller warns about unknown keys.
  if (schema === undefined) {
    const value = assigned.isJson ? parseValue(assigned.text, where) : assigned.text;
    return { value: nest(path, value), cleared: [] };
  }
  const isList = findBehaviour(unwrap(schema)).merge === "list";
  if (assigned.isAdding && !isList) {
    throw configError(where, { path: [], message: "cannot append to this key; set it with =" });
  }
  const parsed = assigned.isJson
    ? parseValue(assigned.text, where)
    : fromText(schema, assigned.text);
  if (parsed === null && !assigned.isAdding) return { value: {}, cleared: [path] };
  return { value: nest(path, isList ? toLayer(schema, parsed, assigned) : parsed), cleared: [] };
}

/** Splits `a.b."c.d"` at dots outside quotes. */
export function splitPath(key: string): string[] {
  const parts = key.match(/"[^"]*"|'[^']*'|[^.]+/g) ?? [];
  return parts.map((part) => part.replaceAll(/^["']|["']$/g, ""));
}

function isObject(words: string): boolean {
  return words.trimStart().startsWith("{");
}

function findSchema(path: readonly string[]): v.GenericSchema | undefined {
  let schema: v.GenericSchema = configSchema;
  for (const key of path) {
    const child = findWrittenChild(schema, key);
    if (child === undefined) return undefined;
    schema = child;
  }
  return schema;
}

/** Wraps a list or text that layers add to with its merge strategy. */
function toLayer(schema: v.GenericSchema, parsed: Json, assigned: AssignedText): Json {
  const { isAdding, isJson, text } = assigned;
  if (!isAdding) {
    const isWrapped = isJsonObject(parsed) && Object.hasOwn(parsed, "value");
    return isWrapped ? parsed : { value: parsed, strategy: "replace" };
  }
  const item = findItem(schema);
  const isOne = item !== undefined && !Array.isArray(parsed);
  return { value: isOne ? [isJson ? parsed : fromText(item, text)] : parsed, strategy: "append" };
}

/** Prefers text where the schema allows it, else JSON. Where it allows both, booleans and numbers win. */
function fromText(schema: v.GenericSchema, text: string): Json {
  const inner = unwrap(schema);
  const json = findJson(text);
  const isPlain = typeof json === "boolean" || typeof json === "number";
  if (inner.type === "union" && isPlain && v.is(inner, json)) return json;
  // If neither is valid, the caller reports it.
  return v.is(inner, text) || json === undefined ? text : json;
}

function parseObject(text: string): Assignment {
  const value = parseValue(text, OBJECT);
  if (!isJsonObject(value)) {
    throw configError(OBJECT, { path: [], message: "expected a JSON object" });
  }
  const cleared: string[][] = [];
  const clear = (path: string[]) => cleared.push(path);
  return { value: withoutNulls(value, { schema: configSchema, path: [], clear }), cleared };
}

interface Place {
  readonly schema: v.GenericSchema;
  readonly path: readonly string[];
  readonly clear: (path: string[]) => void;
}

/** Inside a value that is replaced as a whole, null stays null. */
function withoutNulls(value: JsonObject, { schema, path, clear }: Place): JsonObject {
  const entries = Object.entries(value).flatMap(([key, member]): [string, Json][] => {
    const inside = [...path, key];
    if (member === null) {
      clear(inside);
      return [];
    }
    const child = findChild(nodeOf(schema), key);
    const isMerged =
      child !== undefined &&
      (nodeOf(child).kind !== "leaf" || findBehaviour(unwrap(child)).merge === "fields");
    if (!isMerged || !isJsonObject(member)) return [[key, member]];
    return [[key, withoutNulls(member, { schema: child, path: inside, clear })]];
  });
  return Object.fromEntries(entries);
}

function parseValue(text: string, where: string): Json {
  try {
    return parseJson(text);
  } catch (error) {
    throw configError(where, { path: [], message: describeSyntaxError(error) });
  }
}

function nest(path: readonly string[], value: Json): JsonObject {
  return path.reduceRight<Json>((inner, key) => ({ [key]: inner }), value) as JsonObject; // There is at least one key.
}
