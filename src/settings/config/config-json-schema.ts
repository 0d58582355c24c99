/** The JSON Schema of a config file, with the default of each key. */
import { isJsonObject, type Json, type JsonObject, loadModule } from "../../util/index.ts";
import { DEFAULTS } from "./defaults.ts";
import { toJson } from "./schema-node.ts";
import { configSchema } from "./schema/config-schema.ts";

/**
 * The JSON Schema of a config file, for editors. It accepts every file that jp accepts: unknown keys are only
 * warnings, so the schema allows them.
 */
export async function configJsonSchema(): Promise<JsonObject> {
  const { toJsonSchema } = await loadModule(() => import("@valibot/to-json-schema"));
  const schema = toJsonSchema(configSchema, {
    errorMode: "ignore",
    typeMode: "input",
    ignoreActions: ["metadata"],
  }) as JsonObject; // A JSON Schema is JSON.
  const {
    $schema = "",
    type = "object",
    properties,
    ...rest
  } = withDefaults(schema, toJson(configSchema, DEFAULTS));
  const keys = { ...(isJsonObject(properties) && properties), $schema: SCHEMA_ADDRESS };
  return { $schema, title: "jp configuration", type, properties: keys, ...rest };
}

const SCHEMA_ADDRESS: JsonObject = {
  type: "string",
  description: "address of the JSON Schema, for editors; jp ignores it",
};

/** Adds the default of each key; tables get none themselves. */
function withDefaults(schema: JsonObject, value: Json | undefined): JsonObject {
  if (value === undefined) return schema;
  const { properties } = schema;
  if (!isJsonObject(properties) || !isJsonObject(value)) return { ...schema, default: value };
  const members = Object.entries(properties).map(([key, member]) => [
    key,
    isJsonObject(member) ? withDefaults(member, value[key]) : member,
  ]);
  return { ...schema, properties: Object.fromEntries(members) as JsonObject }; // The same keys.
}
