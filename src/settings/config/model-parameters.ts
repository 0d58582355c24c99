/** Finds a config's model parameters that jp does not know and passes through to a provider. */
import type * as v from "valibot";
import {
  isJsonArray,
  isJsonObject,
  type Json,
  type JsonObject,
  pathToText,
} from "../../util/index.ts";
import { configToJson } from "./layers.ts";
import { configSchema, type PartialConfig } from "./schema/config-schema.ts";
import { findTrust } from "./schema/node.ts";
import { findChild, findItem, findWrittenChild, nodeOf, unwrap } from "./schema-node.ts";

/** A place in the config with model parameters. */
export interface ModelParameters {
  /** The keys of the model's owner, such as an assistant or a question. */
  readonly name: string;
  /** The keys of the parameters, or of the enclosing value that is replaced as a whole. */
  readonly path: readonly string[];
  /** Passed through to the provider, which may have its own tools and reach other services with them. */
  readonly passthrough: JsonObject;
}

const KNOWN_PARAMETERS = new Set([
  "max_tokens",
  "reasoning",
  "temperature",
  "top_p",
  "top_k",
  "stop_words",
  "other",
]);

/** Finds every place that the schema marks, so a new one needs no change here. */
export function findModelParameters(config: PartialConfig): readonly ModelParameters[] {
  return parametersIn(configSchema, configToJson(config), []);
}

function parametersIn(
  schema: v.GenericSchema,
  value: Json,
  path: readonly string[],
): readonly ModelParameters[] {
  if (isJsonArray(value)) {
    const item = findItem(schema);
    if (item === undefined) return [];
    return value.flatMap((member, index) => parametersIn(item, member, [...path, String(index)]));
  }
  if (!isJsonObject(value)) return [];
  if (findTrust(unwrap(schema)) === "passthrough") {
    const { other } = value;
    const unknown = Object.entries(value).filter(([key]) => !KNOWN_PARAMETERS.has(key));
    return [
      {
        name: pathToText(path.slice(0, -2)), // Without `model.parameters`.
        path: mergedPath(path),
        passthrough: { ...(isJsonObject(other) && other), ...Object.fromEntries(unknown) },
      },
    ];
  }
  return Object.entries(value).flatMap(([key, member]) => {
    const child = findWrittenChild(schema, key);
    return child === undefined ? [] : parametersIn(child, member, [...path, key]);
  });
}

function mergedPath(path: readonly string[]): readonly string[] {
  let schema: v.GenericSchema | undefined = configSchema;
  for (const [depth, key] of path.entries()) {
    const node = nodeOf(schema);
    if (node.kind === "leaf") return path.slice(0, depth);
    schema = findChild(node, key);
    if (schema === undefined) return path.slice(0, depth + 1);
  }
  return path;
}
