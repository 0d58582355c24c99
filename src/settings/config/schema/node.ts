/** Building blocks of the config schema: tables, lists that layers add to, and how values merge and are stored. */
import * as v from "valibot";
import { isJsonObject, type Json } from "../../../util/index.ts";
import type { TrustClass } from "./trust-class.ts";

type Entries = Record<string, v.GenericSchema>;

type Optional<Of extends Entries> = {
  readonly [Key in keyof Of]: v.OptionalSchema<Of[Key], undefined>;
};

/** A table with these keys, merged key by key. Every key of a layer is optional. */
export function group<const Of extends Entries>(entries: Of) {
  return v.object(optional(entries));
}

/** A group that accepts other keys too. */
export function openGroup<const Of extends Entries>(entries: Of) {
  return v.looseObject(optional(entries));
}

function optional<const Of extends Entries>(entries: Of): Optional<Of> {
  return Object.fromEntries(
    Object.entries(entries).map(([name, schema]) => [name, v.optional(schema)]),
  ) as unknown as Optional<Of>; // The same schemas, made optional.
}

/** A table whose keys are names the user chooses. */
export function namedBy<const Value extends v.GenericSchema>(value: Value) {
  return v.record(v.string(), value);
}

/** A key with its trust class and the description that docs and editors show. */
export function key<const Schema extends v.GenericSchema>(
  trustClass: TrustClass,
  text: string,
  schema: Schema,
) {
  return withMetadata(schema, [v.description(text), trust(trustClass)]);
}

/** Adds the description that docs and editors show: to a table whose keys have a trust class, or inside of a value. */
export function described<const Schema extends v.GenericSchema>(text: string, schema: Schema) {
  return withMetadata(schema, [v.description(text)]);
}

function withMetadata<const Schema extends v.GenericSchema>(
  schema: Schema,
  metadata: readonly v.GenericMetadata[],
) {
  const { pipe = [schema] } = schema as { readonly pipe?: readonly v.GenericPipeItem[] };
  const [first, ...rest] = pipe;
  // The JSON Schema for users ends at the first transformation, so the description must precede it.
  const items = [first, ...metadata, ...rest] as unknown as [Schema];
  return v.pipe(...items) as unknown as Schema; // Only adds metadata.
}

/** Declares the trust class of a key, or of a whole table. */
export function trust<Value>(trustClass: TrustClass) {
  return v.metadata<Value, { readonly trust: TrustClass }>({ trust: trustClass });
}

/** Undefined for a table whose keys have their own. */
export function findTrust(schema: v.GenericSchema): TrustClass | undefined {
  const { trust: found } = v.getMetadata(schema) as { readonly trust?: TrustClass }; // Only `trust` writes it.
  return found;
}

export function atLeast(min: number) {
  return v.pipe(v.number(), v.minValue(min, `expected ${min} or more`));
}

/** Has a maximum, so that a limit cannot be disabled. */
export function wholeNumber({ min, max }: { readonly min: number; readonly max: number }) {
  const message = `expected a whole number from ${min} to ${max}`;
  return v.pipe(v.number(), v.integer(message), v.minValue(min, message), v.maxValue(max, message));
}

/** How a value is merged, recorded and shown. Stored as metadata of its schema. */
export interface Behaviour {
  /** How it merges with lower layers: by `fields`, as a `list` with a strategy, or as `rules`. By default it replaces them. */
  readonly merge?: "fields" | "list" | "rules";
  /** Never copied into a conversation, an output or an error. */
  readonly isPrivate?: boolean;
  /** Belongs to this machine or its files, such as an address or a server: a conversation must not set it. */
  readonly isMachineSpecific?: boolean;
  /** Why jp rejects the key, or this value. It is known because other versions support it. */
  readonly unsupported?: string | ((value: unknown) => string | undefined);
  /** Other programs' names for this key, for hints. */
  readonly synonyms?: readonly string[];
  /** A model id, or an alias for one. */
  readonly isModelId?: boolean;
  /** Converts to the notation in files, if that differs from the parsed value. */
  readonly toJson?: (value: never) => Json;
  /** Converts to what a person would write, if that differs from `toJson`. */
  readonly toShown?: (value: never) => Json;
}

export function behaviour<Value>(
  of: Omit<Behaviour, "toJson" | "toShown"> & {
    readonly toJson?: (value: Value) => Json;
    readonly toShown?: (value: Value) => Json;
  },
) {
  return v.metadata<Value, { readonly behaviour: Behaviour }>({ behaviour: of });
}

/** A key of other versions that has no effect here, and so needs no trust. Users get a warning with the reason. */
export function unsupported<const Schema extends v.GenericSchema>(why: string, schema: Schema) {
  const refused = v.pipe(schema, behaviour({ unsupported: why }), trust("harmless"));
  return described(`not supported: ${why}`, refused as unknown as Schema); // Only adds metadata.
}

export function findBehaviour(schema: v.GenericSchema): Behaviour {
  // Only `behaviour` writes metadata.
  const { behaviour: found } = v.getMetadata(schema) as { readonly behaviour?: Behaviour };
  return found ?? {};
}

const STRATEGIES = ["append", "prepend", "replace"] as const;

/** A list or text, and how it merges with lower layers. */
export interface Mergeable<Value> {
  readonly value: Value;
  readonly strategy: (typeof STRATEGIES)[number];
}

/**
 * Lists and texts that layers add to. By default, a list is appended to lower layers and a text replaces them; `{ value,
 * strategy }` overrides this.
 */
export const list = {
  of: <const Item extends v.GenericSchema>(item: Item) => mergeable(v.array(item), "append"),
  text: mergeable(v.string(), "replace"),
};

function mergeable<const Schema extends v.GenericSchema>(
  schema: Schema,
  strategy: Mergeable<unknown>["strategy"],
) {
  return v.pipe(
    v.union([
      schema,
      v.object({
        value: schema,
        strategy: v.optional(v.picklist(STRATEGIES), strategy),
        // Other versions write these two. jp accepts and ignores them.
        separator: v.optional(v.unknown()),
        discard_when_merged: v.optional(v.unknown()),
      }),
    ]),
    v.transform((input): Mergeable<v.InferOutput<Schema>> => {
      if (!isJsonObject(input)) return { value: input, strategy };
      // The second member of the union: a list or a text is not an object.
      const wrapped = input as unknown as Mergeable<v.InferOutput<Schema>>;
      return { value: wrapped.value, strategy: wrapped.strategy };
    }),
    behaviour<Mergeable<v.InferOutput<Schema>>>({
      merge: "list",
      // The stored value is the result of all layers: reading it back must not append it again.
      toJson: ({ value }) =>
        typeof value === "string" ? value : { value: value as Json, strategy: "replace" },
      toShown: ({ value }) => value as Json, // JSON.
    }),
  );
}
