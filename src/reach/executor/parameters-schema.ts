/** Converts the parameters in a tool's config to the JSON Schema for a model. */
import type { ParameterConfig } from "../../settings/config/index.ts";
import { escapePointer, type Json, type JsonObject } from "../../util/index.ts";
import type { ArgumentKind, ArgumentKinds } from "./port.ts";

type Parameters = Readonly<Record<string, ParameterConfig>>;

/** With one of these, an object may have keys that are not in its `properties`. */
const OPENING = [
  "$ref",
  "additionalProperties",
  "allOf",
  "anyOf",
  "if",
  "oneOf",
  "patternProperties",
  "unevaluatedProperties",
];

/** Returns an object schema without additional properties. */
export function toParametersSchema(parameters: Parameters): JsonObject {
  return { type: "object", ...membersSchema(parameters), additionalProperties: false };
}

/**
 * `summary`, or else `description`, becomes the description: a model gets longer texts and examples on request.
 * `required` moves to the parent object.
 */
function parameterSchema(parameter: ParameterConfig): JsonObject {
  const {
    summary,
    description,
    required: _,
    examples: __,
    items,
    properties,
    ...others
  } = withTextPaths(parameter);
  const keywords = others as JsonObject; // JSON, as read from a config file.
  const text = summary ?? description;
  // Rejects misspelt keys at every depth.
  const isClosed = properties !== undefined && !OPENING.some((keyword) => keyword in keywords);
  return {
    ...keywords,
    ...(text !== undefined && { description: text }),
    ...(items !== undefined && { items: parameterSchema(items) }),
    ...(properties !== undefined && membersSchema(properties)),
    ...(isClosed && { additionalProperties: false }),
  };
}

function withTextPaths(parameter: ParameterConfig): ParameterConfig {
  const { type } = parameter;
  if (type === PATH) return { ...parameter, type: "string" };
  if (!Array.isArray(type) || !type.includes(PATH)) return parameter;
  return { ...parameter, type: type.map((each) => (each === PATH ? "string" : String(each))) };
}

/** `path` is our own type: a string to a model, and a file path to the authors of rules. */
const PATH = "path";

/** Keyed by JSON Pointer, without list indexes. */
export function findPaths(parameters: Parameters, at = ""): ArgumentKinds {
  const found = Object.entries(parameters).map(([name, node]) => {
    const pointer = `${at}/${escapePointer(name)}`;
    let element = node;
    while (element.items !== undefined) element = element.items;
    const isPath = [element.type].flat().includes(PATH);
    const kind: ArgumentKind = PATH;
    return {
      ...(isPath && { [pointer]: kind }),
      ...findPaths(element.properties ?? {}, pointer),
    };
  });
  return Object.assign({}, ...found) as ArgumentKinds; // They contain nothing else.
}

function membersSchema(parameters: Parameters): JsonObject {
  const entries = Object.entries(parameters);
  const required = entries
    .filter(([, { required: isRequired }]) => isRequired === true)
    .map(([name]) => name);
  const properties = entries.map(([name, node]): [string, Json] => [name, parameterSchema(node)]);
  return {
    properties: Object.fromEntries(properties),
    ...(required.length > 0 && { required }),
  };
}
