/** Reads a config file of any format, without interpreting it. */
import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import {
  isJsonObject,
  isNotLoaded,
  loadModule,
  parseJson,
  sha256,
  systemErrorCode,
} from "../../util/index.ts";
import { ConfigError, describeSyntaxError, syntaxError } from "./config-error.ts";
import { type FindLine, keysInJson, keysInToml, lineFinder } from "./key-lines.ts";

export const EXTENSIONS = ["toml", "json", "yaml", "yml"] as const;

/** The content of a config file, with the lines of its keys. */
export interface ConfigFile {
  readonly file: string;
  /** JSON, regardless of the file's format, without the address of its schema. */
  readonly value: unknown;
  readonly findLine: FindLine;
  /** The SHA-256 of its bytes. */
  readonly digest: () => string;
}

/** The first of `config.toml`, `config.json`, … that exists. Throws `config_unreadable`. */
export function findConfigFile(folder: string, name: string): string | undefined {
  return EXTENSIONS.map((extension) => path.join(folder, `${name}.${extension}`)).find(isFile);
}

/** Also reads other files in these formats; `kind` names the purpose. Throws `config_not_found`, `config_unreadable`. */
export async function readConfigFile(file: string, kind = "Config file"): Promise<ConfigFile> {
  if (!isFile(file)) throw new ConfigError("config_not_found", `${kind} not found: ${file}`);
  const bytes = readDisk(file, () => readFileSync(file));
  const text = bytes.toString("utf8").replace(/^\uFEFF/, "");
  try {
    const { value, findLine } = await parseText(path.extname(file), text);
    const json = withoutSchemaAddress(toJsonValue(value));
    return { file, value: json, findLine, digest: () => sha256(bytes) };
  } catch (error) {
    if (isNotLoaded(error)) throw error;
    // No cause, because it would quote the file.
    throw new ConfigError("config_unreadable", `${file}: ${describeSyntaxError(error)}`);
  }
}

/** Throws `config_unreadable` if the disk reports an error. */
export function isFile(file: string): boolean {
  return readDisk(file, () => statSync(file, { throwIfNoEntry: false })?.isFile() ?? false);
}

/** Throws a `SyntaxError` that is safe to show. */
export async function parseToml(text: string): Promise<Record<string, unknown>> {
  const { parse, TomlError } = await loadModule(() => import("smol-toml")); // Most commands read no TOML.
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const { line, column, message } = error;
    // Its message is a fixed prefix, the reason, and then the code.
    const reason = message.slice(message.indexOf(": ") + 2);
    throw syntaxError({ format: "TOML", reason, line, column });
  }
}

async function parseText(
  extension: string,
  text: string,
): Promise<Pick<ConfigFile, "value" | "findLine">> {
  switch (extension) {
    case ".json":
      return { value: parseJson(text), findLine: lineFinder(() => keysInJson(text)) };
    case ".yaml":
    case ".yml": {
      const { parseYaml } = await loadModule(() => import("./yaml.ts")); // Loaded for YAML files only.
      const { value, keys } = parseYaml(text);
      return { value, findLine: lineFinder(keys) };
    }
    default:
      return { value: await parseToml(text), findLine: lineFinder(() => keysInToml(text)) };
  }
}

/** `$schema` tells editors how to check the file. It is not config. */
function withoutSchemaAddress(value: unknown): unknown {
  if (!isJsonObject(value) || typeof value["$schema"] !== "string") return value;
  const { $schema: _address, ...config } = value;
  return config;
}

/** A few lines of YAML aliases can expand beyond memory, or refer to themselves. */
const MAX_VALUES = 100_000;
const MAX_LEVELS = 1000;

/** Converts dates to text, because JSON has none. */
function toJsonValue(document: unknown): unknown {
  let count = 0;
  const copy = (value: unknown, level: number): unknown => {
    count += 1;
    if (count > MAX_VALUES) throw new SyntaxError(`more than ${MAX_VALUES} values`);
    if (level > MAX_LEVELS) throw new SyntaxError(`nested deeper than ${MAX_LEVELS} levels`);
    if (value instanceof Date) return value.toISOString();
    if (Array.isArray(value)) return value.map((member) => copy(member, level + 1));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [key, copy(member, level + 1)] as const),
    );
  };
  return copy(document, 0);
}

function readDisk<Result>(file: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    const code = systemErrorCode(error);
    const reason = code === undefined ? "" : ` (${code})`;
    throw new ConfigError("config_unreadable", `Cannot read ${file}${reason}.`, { cause: error });
  }
}
