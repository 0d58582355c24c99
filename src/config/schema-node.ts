/**
 * The shape of a schema as values of it are merged and stored, for everything that walks along
 * config and schema together. What may be written in a file is wider: see written-form.ts.
 */
import type * as v from "valibot";
import { findBehaviour } from "./schema/behaviour.ts";

export type SchemaNode =
  /** A table of known keys; `rest` is what other keys hold, `isOpen` if they hold anything. */
  | {
      readonly kind: "group";
      readonly entries: Readonly<Record<string, v.GenericSchema>>;
      readonly rest: v.GenericSchema | undefined;
      readonly isOpen: boolean;
    }
  /** A table whose keys are names. */
  | { readonly kind: "map"; readonly value: v.GenericSchema }
  /** A value that is taken or left as a whole. */
  | { readonly kind: "leaf" };

export function nodeOf(schema: v.GenericSchema): SchemaNode {
  const inner = unwrap(schema);
  if (findBehaviour(inner).merge !== undefined) return { kind: "leaf" };
  if (inner.entries !== undefined) {
    return {
      kind: "group",
      entries: inner.entries,
      rest: inner.rest,
      isOpen: inner.type === "loose_object",
    };
  }
  if (inner.type === "record" && inner.value !== undefined) {
    return { kind: "map", value: inner.value };
  }
  return { kind: "leaf" };
}

/** The schema of a key of this node; undefined if it may not stand there. */
export function findChild(node: SchemaNode, key: string): v.GenericSchema | undefined {
  if (node.kind === "map") return node.value;
  if (node.kind === "leaf") return undefined;
  return Object.hasOwn(node.entries, key) ? node.entries[key] : node.rest;
}

/** What a table itself says of a key; what every object has is nothing. */
export function ownValue(value: object, key: string): unknown {
  return Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined; // Any table.
}

/** The parts of a schema that its type tells only to those who know which it is. */
interface Innards {
  readonly type: string;
  readonly wrapped?: v.GenericSchema;
  readonly entries?: Readonly<Record<string, v.GenericSchema>>;
  readonly rest?: v.GenericSchema;
  readonly value?: v.GenericSchema;
  readonly options?: readonly v.GenericSchema[];
  readonly item?: v.GenericSchema;
  readonly getter?: (input: unknown) => v.GenericSchema;
}

export function unwrap(schema: v.GenericSchema): v.GenericSchema & Innards {
  const innards = schema as v.GenericSchema & Innards; // Every schema of the library has these.
  return innards.wrapped === undefined ? innards : unwrap(innards.wrapped);
}
