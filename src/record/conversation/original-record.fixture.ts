/**
 * The Rust original, as far as its code for records says it: what it can decode of `events.json`, and
 * what is left of it when it saves. Hand-written from `crates/jp_conversation` at 4c1c39f1; where one
 * event cannot be decoded, it cannot open the conversation.
 */
import { isUtf8 } from "node:buffer";
import { isJsonArray, isJsonObject, type Json, type JsonObject } from "../../util/index.ts";

/** As it would write the elements it has read. Throws at the first that it cannot decode. */
export function savedByOriginal(elements: readonly JsonObject[]): readonly JsonObject[] {
  return elements.map(savedElement);
}

/** The elements of a fork: it takes over only events that it knows, and its own deltas and compactions. */
export function forkedByOriginal(elements: readonly JsonObject[]): readonly JsonObject[] {
  return savedByOriginal(elements).filter(({ type }) => typeof type === "string" && isKnown(type));
}

function isKnown(type: string): boolean {
  return kindOf(type) !== undefined || OTHERS.has(type);
}

const OTHERS = new Set(["chat_response", "config_delta", "compaction"]);

type Keep = (value: Json, path: string) => Json;

/** The fields of an event besides its time, type and metadata. A `?` marks those it can do without. */
type Fields = Readonly<Record<string, Keep>>;

const text: Keep = (value, path) => (typeof value === "string" ? value : fail(path, "a string"));
const flag: Keep = (value, path) => (typeof value === "boolean" ? value : fail(path, "a boolean"));
const object: Keep = (value, path) => (isJsonObject(value) ? value : fail(path, "an object"));
const any: Keep = (value) => value;
const encodedText: Keep = (value, path) => encoded(text(value, path));
const encodedObject: Keep = (value, path) => encoded(object(value, path));

const options: Keep = (value, path) => {
  if (!isJsonArray(value)) return fail(path, "a list");
  return value.map((option) =>
    fieldsOf({ value: any, "description?": text }, object(option, path) as JsonObject, path),
  );
};

const source = tagged("source", {
  tool: { name: text },
  assistant: {},
  user: {},
  other: { name: text },
});

/** It does not know `secret` yet. */
const answerType = tagged("type", { boolean: {}, select: { options }, text: {} });

const question: Keep = (value, path) =>
  fieldsOf(
    { text, answer_type: answerType, "default?": any },
    object(value, path) as JsonObject,
    path,
  );

const KINDS: Readonly<Record<string, Fields>> = {
  turn_start: {},
  chat_request: { content: text, "schema?": object, "author?": text },
  tool_call_request: { id: text, name: text, "arguments?": encodedObject },
  tool_call_response: { id: text, content: encodedText, is_error: flag },
  inquiry_request: { id: text, source, question },
  inquiry_response: { id: text, answer: any },
};

const COMPACTION: Fields = {
  from_turn: any,
  to_turn: any,
  "summary?": object,
  "reasoning?": text,
  "tool_calls?": object,
};

function savedElement(element: JsonObject, index: number): JsonObject {
  const { timestamp, type, metadata } = element;
  const path = `[${index}]`;
  // Its check of a folder moves a conversation away that has an element without these.
  if (timestamp === undefined || type === undefined) return fail(path, "a timestamp and a type");
  if (typeof type !== "string" || type === "config_delta") return element;
  if (type === "compaction") return { type, timestamp, ...fieldsOf(COMPACTION, element, path) };
  const fields = type === "chat_response" ? responseFields(element, path) : kindOf(type);
  if (fields === undefined) return element;
  parsedTime(timestamp, path);
  if (type === "turn_start" && Object.keys(element).some((key) => !COMMON.has(key)))
    return fail(path, "a turn_start without further fields");
  const kept = fieldsOf(fields, element, path);
  if (metadata !== undefined && !isJsonObject(metadata)) return fail(path, "metadata of an object");
  return {
    timestamp,
    type,
    ...kept,
    ...(metadata !== undefined && { metadata: encoded(metadata) }),
  };
}

function kindOf(type: string): Fields | undefined {
  return Object.hasOwn(KINDS, type) ? KINDS[type] : undefined;
}

/** The first of three that fits. */
function responseFields({ message, reasoning, data }: JsonObject, path: string): Fields {
  if (typeof message === "string") return { message: text };
  if (typeof reasoning === "string") return { reasoning: text };
  return data === undefined ? fail(path, "a message, a reasoning or data") : { data: any };
}

const COMMON = new Set(["timestamp", "type", "metadata"]);

function fieldsOf(fields: Fields, value: JsonObject, path: string): JsonObject {
  const entries = Object.entries(fields).flatMap(([name, keep]) => {
    const key = name.replace(/\?$/, "");
    const member = Object.hasOwn(value, key) ? value[key] : undefined;
    const isOptional = name !== key;
    if (isOptional && (member === undefined || member === null)) return [];
    if (member === undefined) return fail(`${path}.${key}`, "a value");
    return [[key, keep(member, `${path}.${key}`)] as const];
  });
  return Object.fromEntries(entries);
}

/** Every string in base64, once, at any depth. It does not know whether it has done so before, and decodes what it can. */
function encoded(value: Json): Json {
  if (typeof value === "string") return Buffer.from(decoded(value)).toString("base64");
  if (isJsonArray(value)) return value.map(encoded);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, encoded(member)]));
}

function decoded(value: string): string {
  const bytes = Buffer.from(value, "base64");
  return bytes.toString("base64") === value && isUtf8(bytes) ? bytes.toString("utf8") : value;
}

function tagged(tag: string, kinds: Readonly<Record<string, Fields>>): Keep {
  return (value, path) => {
    const shape = object(value, path) as JsonObject; // `object` has looked.
    const kind = text(shape[tag] ?? null, `${path}.${tag}`) as string;
    const fields = Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
    if (fields === undefined) return fail(`${path}.${tag}`, Object.keys(kinds).join(", "));
    return { [tag]: kind, ...fieldsOf(fields, shape, path) };
  };
}

function parsedTime(value: Json, path: string): void {
  const time =
    /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})?$|^\d{4}-\d\d-\d\dT.+(?:Z|[+-]\d\d:\d\d)$/;
  if (typeof value !== "string" || !time.test(value)) fail(path, "a time");
}

function fail(path: string, expected: string): never {
  throw new Error(`the original cannot read this: ${path}: expected ${expected}`);
}
