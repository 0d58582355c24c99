/** Changes one key of a config file and keeps the rest as written. */
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import {
  isJsonObject,
  isNotLoaded,
  type JsonObject,
  loadModule,
  parseJson,
} from "../../util/index.ts";
import { ConfigError, describeSyntaxError } from "./config-error.ts";
import { parseToml } from "./config-file.ts";
import { lineBreakOf } from "./key-lines.ts";
import { type Change, omitPaths, valueAt, withValue } from "./layers.ts";

const BYTE_ORDER_MARK = "\uFEFF";
const HINT = "Change it in your editor.";

/** A value to set; without one, the key is removed. */
export type Edit = Change | (Omit<Change, "value"> & { readonly value?: undefined });

/** Returns the new text of the file, with its comments. Throws `config_unreadable`. */
export async function setInText(file: string, text: string, change: Edit): Promise<string> {
  if (text.startsWith(BYTE_ORDER_MARK)) {
    return BYTE_ORDER_MARK + (await setInText(file, text.slice(1), change));
  }
  switch (path.extname(file)) {
    case ".toml":
      return setInToml(file, text, change);
    case ".json":
      return setInJson(file, text, change);
    default:
      throw new ConfigError(
        "config_unreadable",
        `Cannot edit ${file} without losing its comments.`,
        { hint: HINT },
      );
  }
}

function setInJson(file: string, text: string, change: Edit): string {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    throw unreadable(file, error);
  }
  if (!isJsonObject(value)) {
    throw new ConfigError("config_unreadable", `${file}: expected a JSON object`);
  }
  const indentation = /^[ \t]+(?=")/m.exec(text)?.[0] ?? "  ";
  const edited = `${JSON.stringify(applyEdit(value, change), null, indentation)}\n`;
  return edited.replaceAll("\n", lineBreakOf(text));
}

/** Reads its own result back, because not every layout of tables can be patched. */
async function setInToml(file: string, text: string, change: Edit): Promise<string> {
  let wanted: JsonObject;
  try {
    wanted = toPlainJson(applyEdit(toPlainJson(await parseToml(text)), change));
  } catch (error) {
    if (isNotLoaded(error)) throw error;
    throw unreadable(file, error);
  }
  for (const edit of [editInPlace, patchToml, appendToml]) {
    try {
      const edited = withFinalBreak(await edit(text, change));
      if (isDeepStrictEqual(toPlainJson(await parseToml(edited)), wanted)) return edited;
    } catch (error) {
      if (isNotLoaded(error)) throw error;
      // Try the next method.
    }
  }
  throw new ConfigError(
    "config_unreadable",
    `Cannot edit ${file}: its tables are laid out in a way that cannot be changed safely.`,
    { hint: HINT },
  );
}

/** Changes values in place, and inserts new keys where they belong. */
async function editInPlace(text: string, { keys, value }: Edit): Promise<string> {
  const toml = await loadModule(() => import("./edit-toml.ts")); // Loaded for edits only.
  const current = toPlainJson(await parseToml(text));
  if (value === undefined) {
    return toml.removeFromToml(text, emptiedBy(current, keys)) ?? (await patchToml(text, { keys }));
  }
  const old = valueAt(current, keys);
  if (isJsonObject(old) && isJsonObject(value))
    return await editMembers(text, { keys, value, old });
  const isReplaced = toml.hasHeader(text, keys) && !Array.isArray(value);
  const rest = isReplaced ? toml.removeFromToml(text, keys) : text;
  const inserted = await toml.insertInToml(rest ?? text, { keys, value });
  return inserted ?? (await patchToml(text, { keys, value }));
}

interface MembersEdit {
  readonly keys: readonly string[];
  readonly value: JsonObject;
  readonly old: JsonObject;
}

/** Adds before it removes, so that the table is never empty and keeps its place. */
async function editMembers(text: string, { keys, value, old }: MembersEdit): Promise<string> {
  const changed = Object.entries(value).filter(
    ([key, member]) => !isDeepStrictEqual(old[key], member),
  );
  const removed = Object.keys(old).filter((key) => !Object.hasOwn(value, key));
  const edits: readonly Edit[] = [
    ...changed.map(([key, member]) => ({ keys: [...keys, key], value: member })),
    ...removed.map((key) => ({ keys: [...keys, key] })),
  ];
  let edited = text;
  for (const edit of edits) edited = await editInPlace(edited, edit);
  return edited;
}

async function patchToml(text: string, change: Edit): Promise<string> {
  const toml = await loadModule(() => import("@decimalturn/toml-patch"));
  const current: unknown = toml.parse(text);
  // A list may end with a comma, but an inline table may not.
  const format = toml.TomlFormat.autoDetectFormat(text);
  format.trailingComma = false;
  const changed = applyEdit(isJsonObject(current) ? current : {}, change);
  return toml.patch(text, changed, format);
}

/** Adds a table at the end of the file. */
async function appendToml(text: string, change: Edit): Promise<string> {
  if (change.value === undefined) throw new TypeError("nothing to append");
  const { stringify } = await loadModule(() => import("smol-toml"));
  const added = stringify(withValue({}, change)).trim();
  const before = text.trimEnd();
  return before === "" ? `${added}\n` : `${before}\n\n${added}\n`;
}

function applyEdit(object: JsonObject, edit: Edit): JsonObject {
  if (edit.value !== undefined) return withValue(object, edit);
  return omitPaths(object, [emptiedBy(object, edit.keys)]);
}

/** The keys to remove: a table that would become empty is removed too. */
function emptiedBy(object: JsonObject, keys: readonly string[]): readonly string[] {
  const parent = keys.slice(0, -1);
  const table = valueAt(object, parent);
  const isEmptied = parent.length > 0 && isJsonObject(table) && Object.keys(table).length <= 1;
  return isEmptied ? emptiedBy(object, parent) : keys;
}

/** Ignores dates and prototypes in comparisons. */
function toPlainJson(value: unknown): JsonObject {
  return JSON.parse(JSON.stringify(value)) as JsonObject; // A table gives an object.
}

function withFinalBreak(text: string): string {
  return text.endsWith("\n") ? text : text + lineBreakOf(text);
}

function unreadable(file: string, error: unknown): ConfigError {
  return new ConfigError("config_unreadable", `${file}: ${describeSyntaxError(error)}`);
}
