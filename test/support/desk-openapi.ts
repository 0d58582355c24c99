/** Renders schema/desk.openapi.json from the operations of the desk. Run it as a program to write the file. */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { API_PATH, OPERATIONS } from "../../src/surfaces/desk/api.ts";
import { renderOpenApi } from "../../src/surfaces/desk/openapi.ts";
import { ROOT } from "./documents.ts";

export const DESK_OPENAPI = path.join(ROOT, "schema", "desk.openapi.json");

/** As the desk serves it, indented. */
export function renderDeskOpenApi(): string {
  return `${JSON.stringify(renderOpenApi(OPERATIONS, API_PATH), null, 2)}\n`;
}

if (process.argv[1] === import.meta.filename) {
  mkdirSync(path.dirname(DESK_OPENAPI), { recursive: true });
  writeFileSync(DESK_OPENAPI, renderDeskOpenApi());
}
