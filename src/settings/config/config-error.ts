/** Errors in a config: the problem, its place, and the probable intention. */
import { JpError, type JpErrorOptions, pathToText } from "../../util/index.ts";

/** One problem in a config. */
export interface ConfigIssue {
  /** The keys that lead to it. */
  readonly path: readonly string[];
  readonly message: string;
  /** Other versions support the key, or this value of it. */
  readonly isUnsupported?: boolean;
}

/** The codes of a `ConfigError`. */
export type ConfigErrorCode =
  | "config_invalid"
  | "config_not_found"
  | "config_unreadable"
  | "unknown_tool"
  | "tool_locked";

/** A config cannot be read or applied. */
export class ConfigError extends JpError<ConfigErrorCode> {
  /** All problems, one sentence each. The message has them all, one per line. */
  readonly problems: readonly string[];

  constructor(
    code: ConfigErrorCode,
    problems: string | readonly string[],
    options?: JpErrorOptions,
  ) {
    const all = typeof problems === "string" ? [problems] : problems;
    super(code, all.join("\n"), options);
    this.problems = all;
  }
}

/** `where` is a file, with its line if known, a variable, or a flag. */
export function configError(where: string, ...issues: readonly ConfigIssue[]): ConfigError {
  return invalidConfigError(issues.map((issue) => describeIssue(where, issue)));
}

/** Takes one line for each issue. */
export function invalidConfigError(lines: readonly string[]): ConfigError {
  return new ConfigError("config_invalid", lines, {
    commandHint:
      "`jp config schema` lists every key. `jp config show --explain` shows where values come from.",
  });
}

export function describeIssue(where: string, { path, message }: ConfigIssue): string {
  return path.length === 0 ? `${where}: ${message}` : `${where}: ${pathToText(path)}: ${message}`;
}

/** An error from a TOML or YAML parser. Lines and columns start at 1. */
interface ParserError {
  readonly format: string;
  readonly reason: string;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
}

/**
 * A syntax error on one line. It never quotes the text, which may contain a configured answer, or be a private file that
 * a link leads to.
 */
export function syntaxError({ format, reason, line, column }: ParserError): SyntaxError {
  // Parsers quote the text after a quote, a colon or a bracket, or start a quotation with a capital letter.
  const [words = ""] = /^(?:[a-z][a-z-]*[,;]? ?)+/.exec(reason) ?? [];
  const text = `invalid ${format}${words === "" ? "" : `: ${words.trim()}`}`;
  return new SyntaxError(line === undefined ? text : `${line}:${column ?? 1}: ${text}`);
}

/** Only our own syntax errors are safe to show: see `syntaxError`. */
export function describeSyntaxError(error: unknown): string {
  return error instanceof SyntaxError ? error.message : "cannot be parsed";
}
