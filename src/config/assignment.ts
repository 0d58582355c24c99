/**
 * One setting from the command line: `key=text`, `key:=JSON`, `key+=text`, `key:+=JSON`, or a JSON
 * object. Files and names are for the loader to find. No error repeats a value: it may be private.
 */
import * as v from "valibot";
import { findJson, isJsonObject, type Json, type JsonObject, parseJson } from "../util/index.ts";
import { configError } from "./config-error.ts";
import { findBehaviour } from "./schema/behaviour.ts";
import { configSchema } from "./schema/config-schema.ts";
import { findChild, nodeOf, unwrap } from "./schema-node.ts";
import { describeSyntaxError } from "./syntax-error.ts";
import { findItem, findWritten } from "./written-form.ts";

/** What one `key=value` says. */
export interface Assignment {
  /** A layer of config, still to be parsed. */
  readonly value: JsonObject;
  /** Keys that were set to `null`: what lower layers say of them does not count. */
  readonly cleared: readonly (readonly string[])[];
}

const FORM = /^(?<key>[^=:+\s]+)(?<json>:)?(?<adds>\+)?=(?<text>[\s\S]*)$/;
/** A part can be read in one way only, or a long key would be read in all of them. */
const PART = `(?:"[^"]*"|'[^']*'|[^."'][^.]*)`;
const PATH = new RegExp(`^${PART}(?:\\.${PART})*$`);
const OBJECT = "{…}";

/** Undefined if the words are no assignment at all. Throws `config_invalid`. */
export function parseAssignment(words: string): Assignment | undefined {
  if (isObject(words)) return parseObject(words);
  const { key, json, adds, text = "" } = FORM.exec(words)?.groups ?? {};
  if (key === undefined) return undefined;
  if (!PATH.test(key)) {
    const message = "a part of the key is empty, or a quote in it is not closed";
    throw configError(key, { path: [], message });
  }
  const assigned = { text, isJson: json !== undefined, isAdding: adds !== undefined };
  return assign(splitPath(key), assigned, key);
}

/** What the words set, without the value. */
export function nameOfAssignment(words: string): string {
  return isObject(words) ? OBJECT : (FORM.exec(words)?.groups?.["key"] ?? "");
}

export interface AssignedText {
  readonly text: string;
  readonly isJson: boolean;
  readonly isAdding: boolean;
}

/** `where` is named in errors. Throws `config_invalid`. */
export function assign(path: readonly string[], assigned: AssignedText, where: string): Assignment {
  const schema = findSchema(path);
  // Whoever reads the layer warns of a key that there is not.
  if (schema === undefined) {
    const value = assigned.isJson ? parseValue(assigned.text, where) : assigned.text;
    return { value: nest(path, value), cleared: [] };
  }
  const isList = findBehaviour(unwrap(schema)).merge === "list";
  if (assigned.isAdding && !isList) {
    throw configError(where, { path: [], message: "nothing can be added to it; set it with =" });
  }
  const parsed = read(schema, assigned, where);
  if (parsed === null && !assigned.isAdding) return { value: {}, cleared: [path] };
  return { value: nest(path, isList ? toLayer(schema, parsed, assigned) : parsed), cleared: [] };
}

/** `a.b."c.d"`: quotes keep a dot from separating. */
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
    const child = findWritten(schema, key);
    if (child === undefined) return undefined;
    schema = child;
  }
  return schema;
}

function read(schema: v.GenericSchema, { text, isJson }: AssignedText, where: string): Json {
  return isJson ? parseValue(text, where) : fromText(schema, text);
}

/** A list or a text that layers add to, with how it meets what is below. */
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

/**
 * Text where text may stand; else what it says as JSON, such as a number. Where both may stand, it is
 * the boolean or the number.
 */
function fromText(schema: v.GenericSchema, text: string): Json {
  const inner = unwrap(schema);
  const json = findJson(text);
  const isPlain = typeof json === "boolean" || typeof json === "number";
  if (inner.type === "union" && isPlain && v.is(inner, json)) return json;
  // The schema says what it wanted, if neither fits.
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

/** Inside of a value that is taken as a whole, null is null. */
function withoutNulls(value: JsonObject, { schema, path, clear }: Place): JsonObject {
  const entries = Object.entries(value).flatMap(([key, member]): [string, Json][] => {
    const inside = [...path, key];
    if (member === null) {
      clear(inside);
      return [];
    }
    const child = findMerged(schema, key);
    const isTable = child !== undefined && isJsonObject(member) && isMergedByKey(child);
    return [[key, isTable ? withoutNulls(member, { schema: child, path: inside, clear }) : member]];
  });
  return Object.fromEntries(entries);
}

function findMerged(schema: v.GenericSchema, key: string): v.GenericSchema | undefined {
  const node = nodeOf(schema);
  return node.kind === "leaf" ? undefined : findChild(node, key);
}

function isMergedByKey(schema: v.GenericSchema): boolean {
  return nodeOf(schema).kind !== "leaf" || findBehaviour(unwrap(schema)).merge === "fields";
}

function parseValue(text: string, where: string): Json {
  try {
    return parseJson(text);
  } catch (error) {
    throw configError(where, { path: [], message: describeSyntaxError(error) });
  }
}

function nest(path: readonly string[], value: Json): JsonObject {
  return path.reduceRight<Json>((inner, key) => ({ [key]: inner }), value) as JsonObject; // Of a key.
}
