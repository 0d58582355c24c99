/** A config file of any of the formats, read but not yet understood. */
import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import { parseJson } from "../../util/index.ts";
import { ConfigError } from "../config-error.ts";
import { describeSyntaxError } from "../syntax-error.ts";

export const EXTENSIONS = ["toml", "json", "yaml", "yml"] as const;

export interface ConfigFile {
  readonly file: string;
  readonly text: string;
  /** Of JSON's types only, whatever the format. */
  readonly value: unknown;
}

/** The first of `config.toml`, `config.json`, … that is there. Throws `config_unreadable`. */
export function findConfigFile(folder: string, name: string): string | undefined {
  return EXTENSIONS.map((extension) => path.join(folder, `${name}.${extension}`)).find(isFile);
}

/** Throws `config_not_found`, `config_unreadable`. */
export async function readConfigFile(file: string): Promise<ConfigFile> {
  if (!isFile(file)) {
    throw new ConfigError("config_not_found", `There is no config file ${file}.`);
  }
  const text = onDisk(file, () => readFileSync(file, "utf8"));
  try {
    const value = await parseText(path.extname(file), text.replace(/^\uFEFF/, ""));
    return { file, text, value: withTexts(value) };
  } catch (error) {
    // No cause: it would show what stands in the file.
    throw new ConfigError("config_unreadable", `${file}: ${describeSyntaxError(error)}`);
  }
}

/** Throws `config_unreadable` where it cannot be told. */
export function isFile(file: string): boolean {
  return onDisk(file, () => statSync(file, { throwIfNoEntry: false })?.isFile() ?? false);
}

async function parseText(extension: string, text: string): Promise<unknown> {
  if (extension === ".json") return parseJson(text);
  if (extension === ".yaml" || extension === ".yml") {
    // The parser refuses a text without a document.
    if (text.split("\n").every((line) => /^\s*(?:#.*)?$/.test(line))) return {};
    const { load } = await import("js-yaml");
    return load(text) ?? {};
  }
  const { parse } = await import("smol-toml");
  return parse(text);
}

/** A few lines of aliases can stand for more than a memory holds, or for themselves. */
const MOST_VALUES = 100_000;
const MOST_LEVELS = 1000;

/** Dates as the text they are: JSON has none. */
function withTexts(document: unknown): unknown {
  let count = 0;
  const copy = (value: unknown, level: number): unknown => {
    count += 1;
    if (count > MOST_VALUES) throw new SyntaxError(`it has more than ${MOST_VALUES} values`);
    if (level > MOST_LEVELS)
      throw new SyntaxError(`it is nested deeper than ${MOST_LEVELS} levels`);
    if (value instanceof Date) return value.toISOString();
    if (Array.isArray(value)) return value.map((member) => copy(member, level + 1));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [key, copy(member, level + 1)] as const),
    );
  };
  return copy(document, 0);
}

function onDisk<Result>(file: string, look: () => Result): Result {
  try {
    return look();
  } catch (error) {
    const reason = error instanceof Error && "code" in error ? ` (${String(error.code)})` : "";
    throw new ConfigError("config_unreadable", `${file} cannot be read${reason}.`, {
      cause: error,
    });
  }
}
