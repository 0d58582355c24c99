import { expect, test } from "vitest";
import { isJsonObject, type Json, type JsonObject } from "../util/index.ts";
import { createShippedTools } from "./shipped-tools.ts";

const tools = createShippedTools({ root: "/", describe: async () => undefined }).map(
  ({ tool }) => tool,
);

/** A schema and all schemas nested in it. */
function schemasIn(schema: Json | undefined): readonly JsonObject[] {
  if (!isJsonObject(schema)) return [];
  const { properties = {}, items } = schema;
  const members = isJsonObject(properties) ? Object.values(properties) : [];
  return [schema, ...members.flatMap(schemasIn), ...schemasIn(items)];
}

/** The template of Gemma 4 fails on a list of types for the items of an array, and writes nothing for none. */
test.each(tools)("every parameter of $name has one type, as chat templates expect", (tool) => {
  const untyped = schemasIn(tool.parameters).filter(
    (schema) => typeof schema["type"] !== "string" || "anyOf" in schema || "oneOf" in schema,
  );
  expect(untyped).toEqual([]);
});
