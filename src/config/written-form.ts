/**
 * What may be written at a place of a config: also the table that has a shorthand, and the items of a
 * list. How the values merge is for schema-node.ts.
 */
import * as v from "valibot";
import { unwrap } from "./schema-node.ts";

type WrittenForm =
  | WrittenTable
  | { readonly kind: "list"; readonly item: v.GenericSchema }
  /** Any JSON. */
  | { readonly kind: "any" }
  /** A text, a number, a boolean. */
  | { readonly kind: "scalar" };

export interface WrittenTable {
  readonly kind: "table";
  readonly entries: Readonly<Record<string, v.GenericSchema>>;
  /** What other keys hold. */
  readonly rest: v.GenericSchema | undefined;
  /** Other keys may hold anything. */
  readonly isOpen: boolean;
  /** Other keys are an error and not only told. */
  readonly isStrict: boolean;
}

/** One or several. */
function formsOf(schema: v.GenericSchema): readonly WrittenForm[] {
  const inner = unwrap(schema);
  if (inner.type === "union") return (inner.options ?? []).flatMap(formsOf);
  if (inner.getter !== undefined) return formsOf(inner.getter(undefined));
  if (inner.item !== undefined) return [{ kind: "list", item: inner.item }];
  if (inner.type === "unknown") return [{ kind: "any" }];
  if (inner.type === "record") return [tableOf({ rest: inner.value })];
  if (inner.entries === undefined) return [{ kind: "scalar" }];
  return [
    tableOf({
      entries: inner.entries,
      rest: inner.rest,
      isOpen: inner.type === "loose_object",
      isStrict: inner.type === "strict_object",
    }),
  ];
}

/** The schema of a key that may be written below this one; undefined if there is no such key. */
export function findWritten(schema: v.GenericSchema, key: string): v.GenericSchema | undefined {
  for (const form of formsOf(schema)) {
    if (form.kind === "any") return v.unknown();
    if (form.kind !== "table") continue;
    if (Object.hasOwn(form.entries, key)) return form.entries[key];
    if (form.rest !== undefined) return form.rest;
    if (form.isOpen) return v.unknown();
  }
  return undefined;
}

/** The tables that may be written here; usually one. */
export function tablesOf(schema: v.GenericSchema): readonly WrittenTable[] {
  return formsOf(schema).filter((form) => form.kind === "table");
}

/** What the items of a list may be, where a list may be written. */
export function findItem(schema: v.GenericSchema): v.GenericSchema | undefined {
  return formsOf(schema).find((form) => form.kind === "list")?.item;
}

function tableOf(parts: {
  readonly entries?: WrittenTable["entries"];
  readonly rest?: v.GenericSchema | undefined;
  readonly isOpen?: boolean;
  readonly isStrict?: boolean;
}): WrittenTable {
  const { entries = {}, rest, isOpen = false, isStrict = false } = parts;
  return { kind: "table", entries, rest, isOpen, isStrict };
}
