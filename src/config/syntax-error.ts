/**
 * What is wrong with a text that is not valid TOML, YAML or JSON, and where. Never a piece of the text: it
 * may hold a configured answer, or be a private file that a link leads to.
 */
import { isJsonObject } from "../util/index.ts";

/** One line. It begins with line and column, if the parser tells them. The words of a `SyntaxError` are ours. */
export function describeSyntaxError(error: unknown): string {
  if (!(error instanceof Error)) return "it cannot be read";
  if (error instanceof SyntaxError) return error.message;
  return error.name === "YAMLException" ? describeYamlError(error) : describeTomlError(error);
}

function describeYamlError(error: Error): string {
  // As the parser gives it.
  const { reason, mark } = error as { readonly reason?: unknown; readonly mark?: unknown };
  const text = `invalid YAML${parserWords(typeof reason === "string" ? reason : "")}`;
  if (!isJsonObject(mark)) return text;
  return `${Number(mark["line"]) + 1}:${Number(mark["column"]) + 1}: ${text}`;
}

/** The lines behind the first show the text. */
function describeTomlError(error: Error): string {
  // As the parser gives it.
  const { line, column } = error as { readonly line?: unknown; readonly column?: unknown };
  const [, reason] = /^Invalid TOML document: (.*)/.exec(error.message) ?? [];
  if (reason === undefined) return "it cannot be read";
  const text = `invalid TOML${parserWords(reason)}`;
  return typeof line === "number" ? `${line}:${String(column)}: ${text}` : text;
}

/** Up to where a parser may quote the text: behind a quote, a colon or a bracket, or with a capital letter. */
function parserWords(reason: string): string {
  const [words = ""] = /^(?:[a-z][a-z-]*[,;]? ?)+/.exec(reason) ?? [];
  return words === "" ? "" : `: ${words.trim()}`;
}
