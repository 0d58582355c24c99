/** What a value of the config does beside being checked, kept with its schema. */
import * as v from "valibot";
import type { Json } from "../../util/index.ts";

export interface Behaviour {
  /**
   * How a layer meets what lower ones say: `fields` one by one, `list` as its strategy says.
   * Otherwise it takes their place.
   */
  readonly merge?: "fields" | "list";
  /** Never copied: not into a conversation, not into an output, not into an error. */
  readonly isPrivate?: boolean;
  /** Where something is reached: this machine's config says it, and never a conversation. */
  readonly isOfMachine?: boolean;
  /** Parameters of a model: those that we do not know are passed on to its provider. */
  readonly isPassedOn?: boolean;
  /** Back to the notation of files, where that is not the value itself. */
  readonly toJson?: (value: never) => Json;
}

export function behaviour<Value>(
  of: Omit<Behaviour, "toJson"> & { readonly toJson?: (value: Value) => Json },
) {
  return v.metadata<Value, { readonly behaviour: Behaviour }>({ behaviour: of });
}

export function findBehaviour(schema: v.GenericSchema): Behaviour {
  // Only this file writes metadata.
  const { behaviour: found } = v.getMetadata(schema) as { readonly behaviour?: Behaviour };
  return found ?? {};
}

/** Without the keys that hold nothing: absent means absent. */
export function definedOnly<Value extends object>(
  value: Value,
): { readonly [Key in keyof Value]: Exclude<Value[Key], undefined> } {
  const entries = Object.entries(value).filter(([, member]) => member !== undefined);
  // Key by key the same value.
  return Object.fromEntries(entries) as {
    readonly [Key in keyof Value]: Exclude<Value[Key], undefined>;
  };
}
