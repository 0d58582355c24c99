/** What of a server, an address or a model's parameters matters to whoever is to trust it. */
import type * as v from "valibot";
import { isJsonArray, isJsonObject, type Json, type JsonObject } from "../util/index.ts";
import { pathToText } from "./config-error.ts";
import { configToJson } from "./delta.ts";
import { findBehaviour } from "./schema/behaviour.ts";
import { configSchema, type PartialConfig } from "./schema/config-schema.ts";
import { findChild, nodeOf, unwrap } from "./schema-node.ts";
import { findItem, findWritten } from "./written-form.ts";

/** A server is the workspace's own, or one of the person's that is to be another. */
export function serverWeight(said: JsonObject): JsonObject {
  return without(said, ["optional", "startup_timeout_secs"]);
}

/**
 * Where requests go, and with which key. A model server on this machine is as good as ours; a variable is not,
 * for it can send anything of the environment, to anywhere.
 */
export function addressWeight({ base_url, base_url_env, api_key_env }: JsonObject): JsonObject {
  return {
    ...(base_url !== undefined && !isLoopback(base_url) && { base_url }),
    ...(base_url_env !== undefined && { base_url_env }),
    ...(api_key_env !== undefined && { api_key_env }),
  };
}

/** With any path of the workspace's choice a request could be one to any service of this machine. */
function isLoopback(url: Json): boolean {
  if (typeof url !== "string" || !URL.canParse(url)) return false;
  const { hostname, pathname, search } = new URL(url);
  const isHere =
    hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d+){3}$/.test(hostname);
  return isHere && search === "" && /^(?:\/api)?(?:\/v1(?:beta)?)?\/?$/.test(pathname);
}

/** A place of the config where parameters of a model stand. */
export interface ModelParameters {
  /** The assistant, the question or whatever the model belongs to, by its keys. */
  readonly name: string;
  /** The keys of the value that is merged as a whole, if the parameters are inside of one. */
  readonly path: readonly string[];
  /** What is passed on as it is: a provider may have tools of its own, and reach others by them. */
  readonly passedOn: JsonObject;
}

/** Every one that the schema has, wherever it is: a new one needs no word here. */
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
  if (findBehaviour(unwrap(schema)).isPassedOn === true) {
    const name = pathToText(path.slice(0, -2)); // Without `model.parameters`.
    return [{ name, path: mergedPath(path), passedOn: passedOn(value) }];
  }
  return Object.entries(value).flatMap(([key, member]) => {
    const child = findWritten(schema, key);
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

const KNOWN_PARAMETERS = [
  "max_tokens",
  "reasoning",
  "temperature",
  "top_p",
  "top_k",
  "stop_words",
  "other",
];

function passedOn(parameters: JsonObject): JsonObject {
  const { other } = parameters;
  return { ...(isJsonObject(other) && other), ...without(parameters, KNOWN_PARAMETERS) };
}

function without(entry: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(entry).filter(([key]) => !keys.includes(key)));
}
