/** From unknown JSON to a layer of config, with everything that is wrong about it. */
import * as v from "valibot";
import { isTooDeep } from "../util/index.ts";
import { configError, type ConfigIssue, pathToText } from "./config-error.ts";
import { configSchema, type PartialConfig } from "./schema/config-schema.ts";
import { findUnknownKeys } from "./unknown-keys.ts";

/** A config that was read, and what is wrong with it. */
export interface ParsedConfig {
  /** What could be read; empty if there are errors. */
  readonly config: PartialConfig;
  readonly errors: readonly ConfigIssue[];
  readonly warnings: readonly ConfigIssue[];
}

/** Reads a config. Never throws: what is wrong is told in the result. */
export function parseConfig(value: unknown): ParsedConfig {
  if (isTooDeep(value, MOST_LEVELS)) {
    const message = `it is nested deeper than ${MOST_LEVELS} levels`;
    return { config: {}, errors: [{ path: [], message }], warnings: [] };
  }
  const unknown = findUnknownKeys(configSchema, value);
  const result = v.safeParse(configSchema, value, { abortPipeEarly: true });
  if (result.success) return { config: result.output, errors: [], warnings: unknown.map(toTold) };
  const strict = unknown.filter(({ isError }) => isError);
  const keys = new Set(strict.map(({ path }) => pathToText(path)));
  // Of unknown keys, more is known here than the library says.
  const wrong = result.issues.flatMap(toIssues).filter(({ path }) => !keys.has(pathToText(path)));
  return {
    config: {},
    errors: [...wrong, ...strict.map(toTold)],
    warnings: unknown.filter(({ isError }) => !isError).map(toTold),
  };
}

/** For words of the user. Throws `config_invalid`; what is unknown is wrong here too. */
export function parseConfigOrThrow(where: string, value: unknown): PartialConfig {
  const { config, errors, warnings } = parseConfig(value);
  const issues = [...errors, ...warnings];
  if (issues.length > 0) throw configError(where, ...issues);
  return config;
}

/** As deep as YAML is read, and deeper than any key is. */
const MOST_LEVELS = 100;

/** Where several forms are allowed and one of them is a table: all that is wrong inside the table. */
function toIssues(issue: v.GenericIssue): readonly ConfigIssue[] {
  const path = (issue.path ?? []).map(({ key }) => String(key));
  const inside = (issue.issues ?? []).flatMap(toIssues).filter((inner) => inner.path.length > 0);
  if (inside.length > 0) {
    return inside.map((inner) => ({ path: [...path, ...inner.path], message: inner.message }));
  }
  return [{ path, message: describe(issue, path.at(-1)) }];
}

function toTold({ path, message }: ConfigIssue): ConfigIssue {
  return { path, message };
}

function describe(issue: v.GenericIssue, key: string | undefined): string {
  if (issue.kind !== "schema" || issue.expected === null) return issue.message;
  if (issue.expected === "never") return "there is no such key";
  if (issue.input === undefined && key !== undefined) return `${key} is missing`;
  return `expected ${readable(issue.expected)}, got ${received(issue)}`;
}

/** Never the value: the file may be a link to a private one. */
function received({ input, expected }: v.GenericIssue): string {
  if (Array.isArray(input)) return "a list";
  if (input instanceof Date) return "a date";
  if (input === null) return "null";
  if (typeof input === "object") return "a table";
  // A closed set of strings is told in quotes.
  return `${typeof input === "string" && expected?.includes('"') ? "another" : "a"} ${typeof input}`;
}

/** `("ask" | "skip")` is how the library says it. */
function readable(expected: string): string {
  // Words in quotes are values and stay as they are.
  return expected.replaceAll(/"[^"]*"|[()]| \| |\bObject\b|\bArray\b/g, (part) => {
    const words: Readonly<Record<string, string>> = WORDS;
    return words[part] ?? part;
  });
}

const WORDS = { "(": "", ")": "", " | ": " or ", Object: "a table", Array: "a list" };
