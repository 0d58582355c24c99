/** Changes one key of a config file and keeps the rest as written. */
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import {
  isJsonObject,
  isNotLoaded,
  type JsonObject,
  loadModule,
  parseJson,
} from "../util/index.ts";
import { ConfigError, describeSyntaxError } from "./config-error.ts";
import { parseToml } from "./config-file.ts";
import { type Change, omitPaths, valueAt, withValue } from "./layers.ts";

const HINT = "Change it in your editor.";

/** A value to set, or keys to remove without one. */
export type Edit = Change | (Omit<Change, "value"> & { readonly value?: undefined });

/** Returns the new text of the file, with its comments. Throws `config_unreadable`. */
export async function setInText(file: string, text: string, change: Edit): Promise<string> {
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
    value = parseJson(text.replace(/^\uFEFF/, ""));
  } catch (error) {
    throw unreadable(file, error);
  }
  if (!isJsonObject(value)) {
    throw new ConfigError("config_unreadable", `${file}: expected a JSON object`);
  }
  const indentation = /^[ \t]+(?=")/m.exec(text)?.[0] ?? "  ";
  return `${JSON.stringify(applyEdit(value, change), null, indentation)}\n`;
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
  // A table reads better below a header of its own than inside of another one.
  const ways = isJsonObject(change.value) ? [appendToml, patchToml] : [patchToml, appendToml];
  for (const edit of ways) {
    try {
      const edited = await edit(text, change);
      if (isDeepStrictEqual(toPlainJson(await parseToml(edited)), wanted)) return edited;
    } catch (error) {
      if (isNotLoaded(error)) throw error;
      // Try the next way.
    }
  }
  throw new ConfigError(
    "config_unreadable",
    `Cannot edit ${file}: its tables are laid out in a way that cannot be changed safely.`,
    { hint: HINT },
  );
}

async function patchToml(text: string, change: Edit): Promise<string> {
  const toml = await loadModule(() => import("@decimalturn/toml-patch"));
  const current: unknown = toml.parse(text);
  // A list may end with a comma, an inline table may not.
  const format = toml.TomlFormat.autoDetectFormat(text);
  format.trailingComma = false;
  const changed = applyEdit(isJsonObject(current) ? current : {}, change);
  const patched = toml.patch(text, changed, format);
  return patched.endsWith("\n") ? patched : `${patched}\n`;
}

/** Adds a table at the end of the file. */
async function appendToml(text: string, change: Edit): Promise<string> {
  if (change.value === undefined) throw new TypeError("nothing to append");
  const { stringify } = await loadModule(() => import("smol-toml"));
  const added = stringify(withValue({}, change)).trim();
  const before = text.trimEnd();
  return before === "" ? `${added}\n` : `${before}\n\n${added}\n`;
}

/** A table that is empty without the key is removed too. */
function applyEdit(object: JsonObject, edit: Edit): JsonObject {
  if (edit.value !== undefined) return withValue(object, edit);
  const rest = omitPaths(object, [edit.keys]);
  const parent = edit.keys.slice(0, -1);
  const left = valueAt(rest, parent);
  const isEmpty = parent.length > 0 && isJsonObject(left) && Object.keys(left).length === 0;
  return isEmpty ? applyEdit(rest, { keys: parent }) : rest;
}

/** So that dates and prototypes make no difference when compared. */
function toPlainJson(value: unknown): JsonObject {
  return JSON.parse(JSON.stringify(value)) as JsonObject; // Of a table, which gives an object.
}

function unreadable(file: string, error: unknown): ConfigError {
  return new ConfigError("config_unreadable", `${file}: ${describeSyntaxError(error)}`);
}
