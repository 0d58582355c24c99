/** Converts the parameters in a tool's config to the JSON Schema that a model is given. */
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

/** Always an object without additional properties. */
export function toParametersSchema(parameters: Parameters): JsonObject {
  return { type: "object", ...membersSchema(parameters), additionalProperties: false };
}

/**
 * `summary`, or else `description`, becomes the description: a model gets longer texts and examples when
 * it asks for them. `required` moves to the parent object.
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
  const keywords = others as JsonObject; // Read from a config file: JSON.
  const text = summary ?? description;
  // Misspelt keys are errors at every depth.
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

/** `path` is ours: a text to a model, and a place to whoever writes rules. */
const PATH = "path";

/** By JSON Pointer, without the indexes of lists. */
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
  return Object.assign({}, ...found) as ArgumentKinds; // Nothing else is in them.
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
