/**
 * Reads settings from the environment, such as `JP_CFG_ASSISTANT_MODEL_ID=…`. Underscores separate keys but also occur in
 * keys, so the schema decides how to read a name. A value may start with `:` (JSON) and `+` (append).
 */
import { findClosest } from "../../util/index.ts";
import * as v from "valibot";
import { assign, type Assignment } from "./assignment.ts";

import { nodeOf, writtenTables, type WrittenTable } from "./schema-node.ts";
import { configSchema } from "./schema/config-schema.ts";

const PREFIX = "JP_CFG_";

interface EnvironmentSetting {
  readonly variable: string;
  readonly assignment: Assignment;
}

export interface Environment {
  /** Sorted by name. */
  readonly settings: readonly EnvironmentSetting[];
  /** Variables that match no key, each with the closest match. */
  readonly unknown: readonly { readonly variable: string; readonly meant: string | undefined }[];
}

/** Throws `config_invalid` for a value that cannot be read. */
export function readEnvironment(
  variables: Readonly<Record<string, string | undefined>>,
): Environment {
  const settings: EnvironmentSetting[] = [];
  const unknown: Environment["unknown"][number][] = [];
  const names = Object.keys(variables).filter((name) => name.startsWith(PREFIX));
  for (const variable of names.toSorted()) {
    const path = findPath(configSchema, variable.slice(PREFIX.length).toLowerCase().split("_"));
    if (path === undefined) unknown.push({ variable, meant: findMeant(variable) });
    else settings.push({ variable, assignment: read(variable, path, variables[variable] ?? "") });
  }
  return { settings, unknown };
}

function read(variable: string, path: readonly string[], value: string): Assignment {
  const [, json, adds, text = ""] = /^(:)?(\+)?([\s\S]*)$/.exec(value) ?? [];
  return assign(path, { text, isJson: json !== undefined, isAdding: adds !== undefined }, variable);
}

function findMeant(variable: string): string | undefined {
  const known = keysBelow(configSchema).map((keys) => PREFIX + keys.join("_").toUpperCase());
  return findClosest(variable, known);
}

/** The paths of all keys with a fixed name. */
function keysBelow(schema: v.GenericSchema): readonly (readonly string[])[] {
  const node = nodeOf(schema);
  if (node.kind !== "group") return [[]];
  return Object.entries(node.entries).flatMap(([key, child]) =>
    keysBelow(child).map((rest) => [key, ...rest]),
  );
}

/** For each schema, the numbers of remaining words without a match. */
type DeadEnds = Map<v.GenericSchema, Set<number>>;

/** Finds the path whose keys, joined by underscores, equal these words. */
function findPath(
  schema: v.GenericSchema,
  words: readonly string[],
  deadEnds: DeadEnds = new Map(),
): string[] | undefined {
  if (words.length === 0) return [];
  if (deadEnds.get(schema)?.has(words.length) === true) return undefined;
  const tables = writtenTables(schema);
  // Longest key first, `max_tokens` before `max`. For names that a user chooses, shortest first: `policy_run` is more
  // likely a key of the tool `x` than `run` one of `x_policy`.
  const lengths = words.map((_word, index) => index + 1);
  const isKey = (length: number) =>
    tables.some(({ entries }) => Object.hasOwn(entries, words.slice(0, length).join("_")));
  const keys = lengths.filter(isKey).toReversed();
  for (const length of [...keys, ...lengths.filter((each) => !isKey(each))]) {
    const key = words.slice(0, length).join("_");
    const isLast = length === words.length;
    const child = tables.map((table) => findKey(table, key, isLast)).find((found) => found);
    const rest = child && findPath(child, words.slice(length), deadEnds);
    if (rest !== undefined) return [key, ...rest];
  }
  // Names may have any length, so without this the same words would be tried repeatedly.
  deadEnds.set(schema, (deadEnds.get(schema) ?? new Set()).add(words.length));
  return undefined;
}

/** In a table that allows any key, an unknown key takes all words. */
function findKey(table: WrittenTable, key: string, isLast: boolean): v.GenericSchema | undefined {
  if (key === "") return undefined;
  const { entries, rest, isOpen } = table;
  if (!Object.hasOwn(entries, key))
    return rest ?? (isOpen === true && isLast ? v.unknown() : undefined);
  // A key that requires another one cannot be meant: `aliases.my_name`.
  const isEnough = Object.entries(entries).every(
    ([other, { type }]) => other === key || type === "optional",
  );
  return isEnough ? entries[key] : undefined;
}
