/** What is wrong with a config, where, and what was expected. */
import { CodedError } from "../util/index.ts";

/** One thing that is wrong with a config, and where. */
export interface ConfigIssue {
  /** The keys that lead to it. */
  readonly path: readonly string[];
  readonly message: string;
}

/** The codes of a `ConfigError`. */
export type ConfigErrorCode =
  | "config_invalid"
  | "config_not_found"
  | "config_unreadable"
  | "unknown_tool"
  | "tool_locked";

/** A config that cannot be read, or not be followed. */
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

/** Keys joined by dots; those that hold one, or anything but letters, are quoted. On one line. */
export function pathToText(path: readonly string[]): string {
  return path.map((key) => (/^[\w-]+$/.test(key) ? key : JSON.stringify(key))).join(".");
}
