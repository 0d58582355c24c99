/** Renders schema/config.schema.json from the schema and the defaults. Run it as a program to write the file. */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { configJsonSchema } from "../../src/settings/config/index.ts";
import { ROOT } from "./documents.ts";

export const CONFIG_SCHEMA = path.join(ROOT, "schema", "config.schema.json");

/** As `jp config schema` prints it. */
export async function renderConfigSchema(): Promise<string> {
  return `${JSON.stringify(await configJsonSchema(), null, 2)}\n`;
}

if (process.argv[1] === import.meta.filename) {
  mkdirSync(path.dirname(CONFIG_SCHEMA), { recursive: true });
  writeFileSync(CONFIG_SCHEMA, await renderConfigSchema());
}
