/**
 * What is wrong with a text that is no TOML, YAML or JSON, in the words of its parser, and where. Never
 * a piece of the text: it may hold a configured answer.
 */
import { isJsonObject } from "../util/index.ts";

/** One line. It begins with line and column, if the parser tells them. */
export function describeSyntaxError(error: unknown): string {
  if (!(error instanceof Error)) return "it cannot be read";
  if (error instanceof SyntaxError) return describeJsonError(error.message);
  return error.name === "YAMLException" ? describeYamlError(error) : describeTomlError(error);
}

/** The message quotes what stands there; only the place is taken from it. */
function describeJsonError(message: string): string {
  const { line, column } =
    /\(line (?<line>\d+) column (?<column>\d+)\)/.exec(message)?.groups ?? {};
  if (line !== undefined && column !== undefined) return `${line}:${column}: this is no JSON`;
  return message.includes("end of JSON") ? "this JSON ends too early" : "this is no JSON";
}

function describeYamlError(error: Error): string {
  // As the parser gives it.
  const { reason, mark } = error as { readonly reason?: unknown; readonly mark?: unknown };
  // Names of aliases and tags are quoted, and may be a text that was meant as a value.
  const words = typeof reason === "string" ? reason : "it cannot be read";
  const text = `this is no YAML: ${words.replaceAll(/"[^"]*"|<.*>/g, "…")}`;
  if (!isJsonObject(mark)) return text;
  return `${Number(mark["line"]) + 1}:${Number(mark["column"]) + 1}: ${text}`;
}

/** The lines behind the first show the text. */
function describeTomlError(error: Error): string {
  // As the parser gives it.
  const { line, column } = error as { readonly line?: unknown; readonly column?: unknown };
  const [first = ""] = error.message.split("\n");
  const text = first.replace("Invalid TOML document: ", "this is no TOML: ");
  return typeof line === "number" ? `${line}:${String(column)}: ${text}` : text;
}
