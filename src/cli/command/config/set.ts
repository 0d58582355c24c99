/** `jp config set`: one key of one file. What does not fit the schema is not written. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
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
import type { Json } from "../../../util/index.ts";
import { neutralize } from "../../../render/index.ts";
import type { CommandContext } from "../../compose.ts";
import type { Call } from "../../define.ts";
import { configPlaces } from "../../load-config.ts";

export interface SetConfigFlags {
  readonly in?: "workspace" | "local" | "user";
  readonly json?: boolean;
}

export async function setConfig({ words, options, context }: Call<SetConfigFlags>): Promise<void> {
  const [key = "", text = ""] = words;
  const sign = options.json === true ? ":=" : "=";
  const assignment = parseAssignment(`${key}${sign}${text}`);
  const keys = splitPath(key);
  const value = valueAt(assignment?.value, keys);
  parseConfigOrThrow(`jp config set ${key}`, assignment?.value ?? {});
  const file = await fileFor(options.in ?? "workspace", context);
  const before = existsSync(file) ? await readFile(file, "utf8") : "";
  await makeFolder(path.dirname(file));
  const after = await setInText(file, before, { keys, value: value as Json });
  await writeDurably(file, Buffer.from(after));
  context.output.notice(neutralize(`${key} is set in ${file}`));
}

async function fileFor(
  place: NonNullable<SetConfigFlags["in"]>,
  context: CommandContext,
): Promise<string> {
  const folder = await folderFor(place, context);
  return findConfigFile(folder, "config") ?? path.join(folder, "config.toml");
}

async function folderFor(
  place: NonNullable<SetConfigFlags["in"]>,
  context: CommandContext,
): Promise<string> {
  if (place === "user") return configPlaces(context).userFolder;
  if (place === "local") return context.workspace.ensureUserFolder();
  return path.join(context.workspace.root, ".jp");
}
