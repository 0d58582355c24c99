/** Converts the parameters in a tool's config to the JSON Schema that a model is given. */
import type { ParameterConfig } from "../config/index.ts";
import type { Json, JsonObject } from "../util/index.ts";

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
  } = parameter;
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
