/** What the schema is built from. Every key of every layer may be absent. */
import * as v from "valibot";

type Entries = Record<string, v.GenericSchema>;

type Optional<Of extends Entries> = {
  readonly [Key in keyof Of]: v.OptionalSchema<Of[Key], undefined>;
};

/** A table whose keys are merged one by one. */
export function group<const Of extends Entries>(entries: Of) {
  return table(v.object(optional(entries)));
}

/** The same, where further keys may stand too. */
export function openGroup<const Of extends Entries>(entries: Of) {
  return table(v.looseObject(optional(entries)));
}

/** A table whose keys are names. */
export function namedBy<const Value extends v.GenericSchema>(value: Value) {
  return table(v.record(v.string(), value));
}

/** To the library a list and a date are objects too; in a config they are no tables. */
export function table<const Schema extends v.GenericSchema>(schema: Schema): Schema {
  const run: v.GenericSchema["~run"] = (dataset, config) => {
    const { value } = dataset;
    if (!Array.isArray(value) && !(value instanceof Date)) return schema["~run"](dataset, config);
    // Refused as null is, but told as what it is.
    const refused = schema["~run"]({ value: null }, config);
    const [first, ...others] = (refused.issues ?? []).map((issue) => ({ ...issue, input: value }));
    return first === undefined ? refused : { typed: false, value, issues: [first, ...others] };
  };
  return { ...schema, "~run": run };
}

/** A value with the sentence that explains it, for docs and editors. */
export function described<const Schema extends v.GenericSchema>(text: string, schema: Schema) {
  const { pipe = [schema] } = schema as { readonly pipe?: readonly v.GenericPipeItem[] };
  const [first, ...rest] = pipe;
  // Before any transformation: behind one, it would not be said of what people write.
  const items = [first, v.description(text), ...rest] as unknown as [Schema];
  return v.pipe(...items) as unknown as Schema; // Only adds a description.
}

/** A number that is not below the least one. */
export function atLeast(least: number) {
  return v.pipe(v.number(), v.minValue(least, `expected ${least} or more`));
}

/** A whole number that nobody can set so high that it limits nothing. */
export function wholeNumber({ min, max }: { readonly min: number; readonly max: number }) {
  const message = `expected a whole number from ${min} to ${max}`;
  return v.pipe(v.number(), v.integer(message), v.minValue(min, message), v.maxValue(max, message));
}

function optional<const Of extends Entries>(entries: Of): Optional<Of> {
  return Object.fromEntries(
    Object.entries(entries).map(([key, schema]) => [key, v.optional(schema)]),
  ) as unknown as Optional<Of>; // Key by key the same schema, made optional.
}
