/** What is wrong with a config, where, and what was expected. */
import { CodedError } from "../util/index.ts";

export interface ConfigIssue {
  /** The keys that lead to it. */
  readonly path: readonly string[];
  readonly message: string;
}

export type ConfigErrorCode =
  | "config_invalid"
  | "config_not_found"
  | "config_unreadable"
  | "unknown_tool"
  | "tool_locked";

export class ConfigError extends CodedError<ConfigErrorCode> {}

/** `where` is a file, with a line if it is known, or the words of the user. */
export function configError(where: string, ...issues: readonly ConfigIssue[]): ConfigError {
  return invalidConfig(issues.map((issue) => describeIssue(where, issue)));
}

/** All that is wrong, a line for each. */
export function invalidConfig(lines: readonly string[]): ConfigError {
  return new ConfigError("config_invalid", lines.join("\n"), {
    hint: "`jp config schema` lists every key; `jp config show --explain` says where values come from.",
  });
}

export function describeIssue(where: string, { path, message }: ConfigIssue): string {
  return path.length === 0 ? `${where}: ${message}` : `${where}: ${pathToText(path)}: ${message}`;
}

/** Keys joined by dots; those that hold one are quoted. */
export function pathToText(path: readonly string[]): string {
  return path.map((key) => (/^[\w-]+$/.test(key) ? key : `"${key}"`)).join(".");
}
