/**
 * Renders src/surfaces/render/decision-json-types.ts, the types of a decision's JSON, from the schemas of the desk's API. Run it
 * as a program to write the file.
 */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { API_PATH, OPERATIONS } from "../../src/surfaces/desk/api.ts";
import { renderOpenApi } from "../../src/surfaces/desk/openapi.ts";
import { isJsonArray, isJsonObject, type Json, type JsonObject } from "../../src/util/index.ts";
import { ROOT } from "./documents.ts";

export const DECISION_TYPES_FILE = path.join(
  ROOT,
  "src",
  "surfaces",
  "render",
  "decision-json-types.ts",
);

const NAMES = ["decision", "question", "vote", "outcome", "decider"];

/**
 * Generated instead of inferred from the schemas: so editors show what each field means, and neither the command nor a
 * program that uses the client has to load the library that the schemas are written with.
 */
const HEADER = `/**
 * The JSON of a decision, as types. Generated from desk/decision-schema.ts by test/support/decision-types.ts; do not edit.
 */
import type { Json, JsonObject } from "../../util/index.ts";
`;

export function renderDecisionTypes(): string {
  const schemas = objectIn(objectIn(renderOpenApi(OPERATIONS, API_PATH), "components"), "schemas");
  const types = NAMES.map((name) => {
    const schema = objectIn(schemas, name);
    return `${commentOf(schema).trimStart()}export type ${typeName(name)} = ${typeOf(schema)};\n`;
  });
  return format([HEADER, ...types].join("\n"));
}

/** Throws for whatever the schemas do not use so far. */
function typeOf(schema: JsonObject): string {
  const { $ref, const: only, enum: values, type, items, additionalProperties: others } = schema;
  const choices = schema["anyOf"] ?? schema["oneOf"];
  if (typeof $ref === "string") return typeName(path.posix.basename($ref));
  if (only !== undefined) return JSON.stringify(only);
  if (isJsonArray(values)) return values.map((value) => JSON.stringify(value)).join(" | ");
  if (isJsonArray(choices)) return choices.map((choice) => typeOf(asObject(choice))).join(" | ");
  if (type === "string" || type === "number" || type === "boolean") return type;
  if (type === "array") return `readonly (${typeOf(asObject(items))})[]`;
  if (type === "object" && others !== undefined) return recordOf(typeOf(asObject(others)));
  if (type === "object") return `{${fieldsOf(schema).join("")}}`;
  if (type === undefined) return "Json";
  throw new Error(`unknown type: ${JSON.stringify(schema)}`);
}

function recordOf(value: string): string {
  return value === "Json" ? "JsonObject" : `Readonly<Record<string, ${value}>>`;
}

function fieldsOf(schema: JsonObject): readonly string[] {
  const required = isJsonArray(schema["required"]) ? schema["required"] : [];
  return Object.entries(objectIn(schema, "properties")).map(([name, value]) => {
    const field = asObject(value);
    const mark = required.includes(name) ? "" : "?";
    return `${commentOf(field)}readonly ${name}${mark}: ${typeOf(field)};`;
  });
}

function typeName(name: string): string {
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}Json`;
}

function commentOf({ description }: JsonObject): string {
  return typeof description === "string" ? `\n/** ${description} */\n` : "";
}

function objectIn(parent: JsonObject, name: string): JsonObject {
  return asObject(parent[name]);
}

function asObject(value: Json | undefined): JsonObject {
  if (isJsonObject(value)) return value;
  throw new Error(`not an object: ${JSON.stringify(value)}`);
}

function format(code: string): string {
  const program = path.join(ROOT, "node_modules", ".bin", "oxfmt");
  const { stdout, stderr, status } = spawnSync(program, ["--stdin-filepath", "src/types.ts"], {
    cwd: ROOT,
    input: code,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`oxfmt failed: ${stderr}`);
  return stdout;
}

if (process.argv[1] === import.meta.filename) {
  writeFileSync(DECISION_TYPES_FILE, renderDecisionTypes());
}
