/**
 * Walks a config and its schema in parallel. `nodeOf` shows a schema as its values merge and are stored; `writtenTables`
 * and related functions show what may be written in a file, including shorthands.
 */
import * as v from "valibot";
import { isJsonObject, type Json } from "../../util/index.ts";
import { findBehaviour } from "./schema/node.ts";

type SchemaNode =
  /** A table of known keys. `rest` is the schema of other keys; `isOpen` if they may be anything. */
  | {
      readonly kind: "group";
      readonly entries: Readonly<Record<string, v.GenericSchema>>;
      readonly rest: v.GenericSchema | undefined;
      readonly isOpen: boolean;
    }
  /** A table whose keys are names. */
  | { readonly kind: "map"; readonly value: v.GenericSchema }
  /** Replaced as a whole. */
  | { readonly kind: "leaf" };

export function nodeOf(schema: v.GenericSchema): SchemaNode {
  const inner = unwrap(schema);
  if (findBehaviour(inner).merge !== undefined) return { kind: "leaf" };
  switch (inner.type) {
    case "object":
    case "strict_object":
    case "loose_object": {
      const { entries } = inner;
      return { kind: "group", entries, rest: undefined, isOpen: inner.type === "loose_object" };
    }
    case "object_with_rest":
      return { kind: "group", entries: inner.entries, rest: inner.rest, isOpen: false };
    case "record":
      return { kind: "map", value: inner.value };
    default:
      return { kind: "leaf" };
  }
}

/** The schema of a key of this node; undefined if the key is not allowed, or may be anything. */
export function findChild(node: SchemaNode, key: string): v.GenericSchema | undefined {
  if (node.kind === "map") return node.value;
  if (node.kind === "leaf") return undefined;
  return Object.hasOwn(node.entries, key) ? node.entries[key] : node.rest;
}

/** The table's own value of a key, never one from the prototype. */
export function ownValue(value: object, key: string): unknown {
  return Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined; // Any table.
}

/** Converts a parsed value for storage in conversations, or for display. Undefined if it is private or absent. */
export function toJson(
  schema: v.GenericSchema,
  value: unknown,
  purpose: "stored" | "shown" = "stored",
): Json | undefined {
  if (value === undefined) return undefined;
  const node = nodeOf(schema);
  const { isPrivate, toJson: toStored, toShown = toStored } = findBehaviour(unwrap(schema));
  if (isPrivate === true) return undefined;
  const encode = purpose === "shown" ? toShown : toStored;
  if (encode !== undefined) return encode(value as never); // The schema's own value.
  if (node.kind === "leaf" || !isJsonObject(value)) return value as Json; // Parsed from JSON.
  const entries = Object.entries(value).flatMap(([key, member]) => {
    const child = findChild(node, key);
    const json = child === undefined ? member : toJson(child, member, purpose);
    return json === undefined ? [] : [[key, json] as const];
  });
  return Object.fromEntries(entries);
}

/** A table that may be written at this place of a config. */
export interface WrittenTable {
  readonly kind: "table";
  readonly entries: Readonly<Record<string, v.GenericSchema>>;
  /** The schema of other keys. */
  readonly rest?: v.GenericSchema;
  /** Other keys may be anything. */
  readonly isOpen?: boolean;
  /** Other keys are errors, not just warnings. */
  readonly isStrict?: boolean;
}

type WrittenForm =
  | WrittenTable
  | { readonly kind: "list"; readonly item: v.GenericSchema }
  /** Any JSON. */
  | { readonly kind: "any" }
  /** A text, a number or a boolean. */
  | { readonly kind: "scalar" };

/** The tables that may be written here; usually one. */
export function writtenTables(schema: v.GenericSchema): readonly WrittenTable[] {
  return writtenForms(schema).filter((form) => form.kind === "table");
}

/** The schema of a key that may be written below this one; undefined if the key is unknown. */
export function findWrittenChild(
  schema: v.GenericSchema,
  key: string,
): v.GenericSchema | undefined {
  for (const form of writtenForms(schema)) {
    if (form.kind === "any") return v.unknown();
    if (form.kind !== "table") continue;
    if (Object.hasOwn(form.entries, key)) return form.entries[key];
    if (form.rest !== undefined) return form.rest;
    if (form.isOpen === true) return v.unknown();
  }
  return undefined;
}

/** The schema of list items, if a list may be written here. */
export function findItem(schema: v.GenericSchema): v.GenericSchema | undefined {
  return writtenForms(schema).find((form) => form.kind === "list")?.item;
}

function writtenForms(schema: v.GenericSchema): readonly WrittenForm[] {
  const inner = unwrap(schema);
  switch (inner.type) {
    case "union":
      return inner.options.flatMap(writtenForms);
    case "lazy":
      return writtenForms(inner.getter(undefined));
    case "array":
      return [{ kind: "list", item: inner.item }];
    case "unknown":
      return [{ kind: "any" }];
    case "record":
      return [{ kind: "table", entries: {}, rest: inner.value }];
    case "object":
      return [{ kind: "table", entries: inner.entries }];
    case "loose_object":
      return [{ kind: "table", entries: inner.entries, isOpen: true }];
    case "strict_object":
      return [{ kind: "table", entries: inner.entries, isStrict: true }];
    case "object_with_rest":
      return [{ kind: "table", entries: inner.entries, rest: inner.rest }];
    default:
      return [{ kind: "scalar" }];
  }
}

type Entries = Readonly<Record<string, v.GenericSchema>>;

/** The kinds of schema that a config is built from. */
type ConfigSchema =
  | v.ObjectSchema<Entries, undefined>
  | v.LooseObjectSchema<Entries, undefined>
  | v.StrictObjectSchema<Entries, undefined>
  | v.ObjectWithRestSchema<Entries, v.GenericSchema, undefined>
  | v.RecordSchema<v.GenericSchema<string>, v.GenericSchema, undefined>
  | v.ArraySchema<v.GenericSchema, undefined>
  | v.UnionSchema<readonly v.GenericSchema[], undefined>
  | v.OptionalSchema<v.GenericSchema, undefined>
  | v.LazySchema<v.GenericSchema>
  | v.UnknownSchema
  | v.NeverSchema<undefined>
  | v.StringSchema<undefined>
  | v.NumberSchema<undefined>
  | v.BooleanSchema<undefined>
  | v.LiteralSchema<string, undefined>
  | v.PicklistSchema<readonly string[], undefined>;

/** The schema inside `optional`, as a union discriminated by type. */
export function unwrap(
  schema: v.GenericSchema,
): Exclude<ConfigSchema, { readonly type: "optional" }> {
  const known = schema as ConfigSchema; // Our schemas are built only from these.
  return known.type === "optional" ? unwrap(known.wrapped) : known;
}
