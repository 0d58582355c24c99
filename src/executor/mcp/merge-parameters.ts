/** The schema of a server's tool, with what the config says about its parameters put over it. */
import type { ParameterConfig } from "../../config/index.ts";
import { McpError } from "../../mcp/index.ts";
import { isJsonArray, isJsonObject, type Json, type JsonObject } from "../../util/index.ts";
import { toParametersSchema } from "../parameters-schema.ts";
import { withServerText } from "./server-text.ts";

type Parameters = Readonly<Record<string, ParameterConfig>>;

/** What a parameter that needs an argument stays: needed. Throws `mcp_unknown_parameter`. */
export function mergeParameters(
  tool: string,
  inputSchema: JsonObject,
  overrides: Parameters,
): JsonObject {
  const own = membersOf(inputSchema);
  const changed = toParametersSchema(overrides);
  const properties = { ...own };
  for (const [name, schema] of Object.entries(membersOf(changed))) {
    if (!Object.hasOwn(own, name)) throw unknownParameter(tool, name, Object.keys(own));
    properties[name] = override(own[name], schema);
  }
  const required = [...new Set([...namesIn(inputSchema), ...namesIn(changed)])];
  return { ...inputSchema, properties, ...(required.length > 0 && { required }) };
}

/** Keyword by keyword. What was said about the members of before does not hold for others. */
function override(own: Json | undefined, changed: Json): Json {
  if (!isJsonObject(changed)) return changed;
  const before = isJsonObject(own) ? own : {};
  const { required: _, additionalProperties: __, ...withoutMembers } = before;
  const kept = Object.hasOwn(changed, "properties") ? withoutMembers : before;
  return { ...kept, ...inServersWords(changed, own) };
}

/** Descriptions with the server's text in its place, at every depth. */
function inServersWords(changed: JsonObject, own: Json | undefined): JsonObject {
  const before = isJsonObject(own) ? own : {};
  const { description, items, properties } = changed;
  const told = before["description"];
  return {
    ...changed,
    ...(typeof description === "string" && {
      description: withServerText(description, typeof told === "string" ? told : ""),
    }),
    ...(isJsonObject(items) && { items: inServersWords(items, before["items"]) }),
    ...(isJsonObject(properties) && { properties: membersInServersWords(properties, before) }),
  };
}

function membersInServersWords(properties: JsonObject, before: JsonObject): JsonObject {
  const own = membersOf(before);
  const entries = Object.entries(properties).map(([name, schema]): [string, Json] => [
    name,
    isJsonObject(schema) ? inServersWords(schema, own[name]) : schema,
  ]);
  return Object.fromEntries(entries);
}

function membersOf({ properties }: JsonObject): Readonly<Record<string, Json>> {
  return isJsonObject(properties) ? properties : {};
}

function namesIn({ required }: JsonObject): readonly Json[] {
  return isJsonArray(required) ? required : [];
}

function unknownParameter(tool: string, name: string, known: readonly string[]): McpError {
  return new McpError(
    "mcp_unknown_parameter",
    `conversation.tools.${tool}.parameters.${name} is about a parameter that the tool does not have.`,
    { hint: known.length === 0 ? "It has none." : `It has: ${known.join(", ")}` },
  );
}
