/**
 * Lists and texts that layers add to. Written plainly, a list is appended to what lower layers say and
 * a text replaces it; `{ value, strategy }` says otherwise.
 */
import * as v from "valibot";
import { isJsonObject, type Json } from "../../util/index.ts";
import { behaviour } from "./behaviour.ts";
import { table } from "./node.ts";

const STRATEGIES = ["append", "prepend", "replace"] as const;

export interface Mergeable<Value> {
  readonly value: Value;
  readonly strategy: (typeof STRATEGIES)[number];
}

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
      table(
        v.object({
          value: schema,
          strategy: v.optional(v.picklist(STRATEGIES), strategy),
          // Other versions write these too. They are not followed.
          separator: v.optional(v.unknown()),
          discard_when_merged: v.optional(v.unknown()),
        }),
      ),
    ]),
    v.transform((input): Mergeable<v.InferOutput<Schema>> => {
      if (!isJsonObject(input)) return { value: input, strategy };
      // The second member of the union: neither a list nor a text is an object.
      const wrapped = input as unknown as Mergeable<v.InferOutput<Schema>>;
      return { value: wrapped.value, strategy: wrapped.strategy };
    }),
    // What is stored is the result of all layers: reading it back must not add to it again.
    behaviour<Mergeable<v.InferOutput<Schema>>>({
      merge: "list",
      toJson: ({ value }) => stored(value as Json), // Read from a config file: JSON.
    }),
  );
}

function stored(value: Json): Json {
  return typeof value === "string" ? value : { value, strategy: "replace" };
}
