/** The config's schema for editors. */
import type { JsonObject } from "../util/index.ts";
import { configSchema } from "./schema/config-schema.ts";

/** The JSON Schema of a config file. */
export async function configJsonSchema(): Promise<JsonObject> {
  const { toJsonSchema } = await import("@valibot/to-json-schema");
  // What transforms a value does not change what may be written.
  const schema = toJsonSchema(configSchema, {
    errorMode: "ignore",
    typeMode: "input",
    // The behaviour of values is none of an editor's business.
    ignoreActions: ["metadata"],
  });
  return { ...(schema as JsonObject), title: "jp configuration" }; // A JSON Schema is JSON.
}
