/** `jp config set`: one key of one file. What does not fit the schema is not written. */
import { existsSync } from "node:fs";
import { readFile, realpath } from "node:fs/promises";
import path from "node:path";
import {
  findConfigFile,
  parseAssignment,
  parseConfigOrThrow,
  setInText,
  splitPath,
  valueAt,
} from "../../../config/index.ts";
import { writeDurably, makeFolder } from "../../../storage/index.ts";
import { isJsonObject, type Json } from "../../../util/index.ts";
import { neutralize } from "../../../render/index.ts";
import type { CommandContext } from "../../compose.ts";
import type { Call } from "../../define.ts";
import { usageError } from "../../exit-status.ts";
import { configPlaces } from "../../load-config.ts";

export interface SetConfigFlags {
  readonly in?: "workspace" | "local" | "user";
  readonly json?: boolean;
}

export async function setConfig({ words, options, context }: Call<SetConfigFlags>): Promise<void> {
  const [key = "", text = ""] = words;
  const keys = splitPath(key);
  const value = readValue(key, text, options);
  const place = options.in ?? "workspace";
  const file = await fileFor(place, context);
  const before = existsSync(file) ? await readFile(file, "utf8") : "";
  await makeFolder(path.dirname(file));
  const after = await setInText(file, before, { keys, value });
  // What is the user's own may hold what is nobody else's business.
  await writeDurably(file, Buffer.from(after), place === "workspace" ? 0o644 : 0o600);
  context.output.notice(neutralize(`${key} is set in ${file}`));
}

/** Throws `usage`, `config_invalid`. */
function readValue(key: string, text: string, { json }: SetConfigFlags): Json {
  if (key === "" || /[=:+]$/.test(key)) {
    throw usageError(
      "Give the key alone, then the value.",
      "For example: jp config set user.name Ada",
    );
  }
  const assignment = parseAssignment(`${key}${json === true ? ":=" : "="}${text}`);
  parseConfigOrThrow("jp config set", assignment?.value ?? {});
  const value = valueAt(assignment?.value, splitPath(key));
  if (value === undefined) {
    throw usageError("A key cannot be set to nothing.", "Take it out of the file in your editor.");
  }
  // A text that takes the place of others is written as the text that it is.
  const isReplacing = isJsonObject(value) && value["strategy"] === "replace";
  const plain = isReplacing && typeof value["value"] === "string" ? value["value"] : value;
  return plain as Json; // Parsed from JSON or text.
}

async function fileFor(
  place: NonNullable<SetConfigFlags["in"]>,
  context: CommandContext,
): Promise<string> {
  const folder = await folderFor(place, context);
  const found = findConfigFile(folder, "config");
  if (found === undefined) return path.join(folder, "config.toml");
  // People keep their own config elsewhere and link to it. A link of a workspace may lead anywhere.
  return place === "workspace" ? found : realpath(found);
}

async function folderFor(
  place: NonNullable<SetConfigFlags["in"]>,
  context: CommandContext,
): Promise<string> {
  if (place === "user") return configPlaces(context).userFolder;
  if (place === "local") return context.workspace.ensureUserFolder();
  return path.join(context.workspace.root, ".jp");
}
