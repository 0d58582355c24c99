/** Keys of the config and what may stand there, from the schema, one part of a key after the other. */
import {
  configJsonSchema,
  configToJson,
  type PartialConfig,
  splitPath,
  valueAt,
} from "../../../config/index.ts";
import { isJsonArray, isJsonObject, type Json, type JsonObject } from "../../../util/index.ts";
import type { Candidate } from "./candidate.ts";

/** The parts that may follow what was typed. A key that holds others ends in a dot. */
export async function findKeys(
  typed: string,
  config: PartialConfig,
): Promise<readonly Candidate[]> {
  const begin = typed.slice(0, typed.lastIndexOf(".") + 1);
  const path = splitPath(begin);
  const table = tableOf(await findNode(path));
  const named = valueAt(configToJson(config), path);
  const names = new Set([
    ...Object.keys(propertiesOf(table)),
    ...(isJsonObject(table?.["additionalProperties"]) && isJsonObject(named)
      ? Object.keys(named)
      : []),
  ]);
  return [...names]
    .filter((name) => /^(?:[\w-]+|\*)$/.test(name))
    .map((name) => {
      const child = childOf(table, name);
      const { description } = child ?? {};
      return {
        value: `${begin}${name}${child?.["type"] === "object" ? "." : ""}`,
        ...(typeof description === "string" && { description }),
      };
    });
}

/** The words that may stand there, if they are few. */
export async function findKeyValues(key: string): Promise<readonly Candidate[]> {
  const node = await findNode(splitPath(key));
  const forms = node === undefined ? [] : [node, ...listOf(node["anyOf"])];
  return forms
    .flatMap((form) => (form["type"] === "boolean" ? ["true", "false"] : asArray(form["enum"])))
    .filter((value) => typeof value === "string")
    .map((value) => ({ value }));
}

async function findNode(path: readonly string[]): Promise<JsonObject | undefined> {
  let node: JsonObject | undefined = await configJsonSchema();
  for (const name of path) node = childOf(tableOf(node), name);
  return node;
}

/** Of several forms, the one with keys. */
function tableOf(node: JsonObject | undefined): JsonObject | undefined {
  if (node === undefined || node["type"] === "object") return node;
  return listOf(node["anyOf"]).find((form) => form["type"] === "object");
}

function childOf(table: JsonObject | undefined, name: string): JsonObject | undefined {
  const child = propertiesOf(table)[name] ?? table?.["additionalProperties"];
  return isJsonObject(child) ? child : undefined;
}

function propertiesOf(table: JsonObject | undefined): JsonObject {
  const properties = table?.["properties"];
  return isJsonObject(properties) ? properties : {};
}

function listOf(value: Json | undefined): readonly JsonObject[] {
  return asArray(value).filter((one) => isJsonObject(one));
}

function asArray(value: Json | undefined): readonly Json[] {
  return isJsonArray(value) ? value : [];
}
