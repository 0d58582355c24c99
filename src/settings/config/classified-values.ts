/** Finds the values of a config with the trust class that the schema declares for them. */
import type * as v from "valibot";
import { isDeepEqual, isJsonObject, type Json } from "../../util/index.ts";
import { valueAt } from "./layers.ts";
import { configSchema, type PartialConfig } from "./schema/config-schema.ts";
import { findTrust } from "./schema/node.ts";
import type { TrustClass } from "./schema/trust-class.ts";
import { findChild, nodeOf, unwrap } from "./schema-node.ts";

/** A value that is judged as a whole. */
export interface ClassifiedValue {
  /** Below the table that was searched. */
  readonly path: readonly string[];
  readonly trust: TrustClass;
  readonly value: Json;
}

/** The values in the table at `from`, without those in the tables `except`. */
export function classifiedValues(
  config: PartialConfig,
  from: readonly string[] = [],
  except: readonly (readonly string[])[] = [],
): readonly ClassifiedValue[] {
  const schema = from.reduce<v.GenericSchema | undefined>(
    (outer, key) => outer && findChild(nodeOf(outer), key),
    configSchema,
  );
  return valuesIn(schema, { path: from, value: valueAt(config, from) }, except).map(
    ({ path, ...rest }) => ({
      path: path.slice(from.length),
      ...rest,
    }),
  );
}

function valuesIn(
  schema: v.GenericSchema | undefined,
  { path, value }: { readonly path: readonly string[]; readonly value: unknown },
  except: readonly (readonly string[])[],
): readonly ClassifiedValue[] {
  if (value === undefined) return [];
  const trust = schema && findTrust(unwrap(schema));
  const node = schema && nodeOf(schema);
  if (trust !== undefined || node === undefined || node.kind === "leaf" || !isJsonObject(value)) {
    // A key without a class needs trust.
    return [{ path, trust: trust ?? "always", value: value as Json }]; // Parsed from JSON.
  }
  return Object.entries(value).flatMap(([key, inner]) => {
    const member = { path: [...path, key], value: inner };
    if (except.some((other) => isDeepEqual(other, member.path))) return [];
    return valuesIn(findChild(node, key), member, except);
  });
}
