/** The parameters in a tool's config as the JSON Schema that a model is given. */
import type { ParameterConfig } from "../config/index.ts";
import type { Json, JsonObject } from "../util/index.ts";

type Parameters = Readonly<Record<string, ParameterConfig>>;

/** With one of these, the keys of an object are not only those in its `properties`. */
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

/** Always an object that takes no other keys. */
export function toParametersSchema(parameters: Parameters): JsonObject {
  return { type: "object", ...membersSchema(parameters), additionalProperties: false };
}

/**
 * `summary`, or else `description`, becomes the description: what is longer, and the examples, a
 * model gets when it asks. `required` moves to the object whose member it is about.
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
  } = parameter;
  const keywords = others as JsonObject; // Read from a config file: JSON.
  const told = summary ?? description;
  // A misspelt key is as wrong in here as at the top.
  const isClosed = properties !== undefined && !OPENING.some((keyword) => keyword in keywords);
  return {
    ...keywords,
    ...(told !== undefined && { description: told }),
    ...(items !== undefined && { items: parameterSchema(items) }),
    ...(properties !== undefined && membersSchema(properties)),
    ...(isClosed && { additionalProperties: false }),
  };
}

function membersSchema(parameters: Parameters): JsonObject {
  const entries = Object.entries(parameters);
  const required = entries.filter(([, { required: is }]) => is === true).map(([name]) => name);
  const properties = entries.map(([name, node]): [string, Json] => [name, parameterSchema(node)]);
  return {
    properties: Object.fromEntries(properties),
    ...(required.length > 0 && { required }),
  };
}
