/** `jp config`: `show`, `get`, `set`, `path` and `schema`. */
import { configPlaces } from "../../assemble/index.ts";
import { existsSync } from "node:fs";
import { readFile, realpath } from "node:fs/promises";
import path from "node:path";
import {
  configFiles,
  configJsonSchema,
  configToJson,
  type Edit,
  type ExplainedValue,
  explainLayers,
  findConfigFile,
  foldLayers,
  type Layer,
  parseAssignment,
  parseConfig,
  parseConfigOrThrow,
  setInText,
  splitPath,
  valueAt,
  withValue,
} from "../../settings/config/index.ts";
import {
  isJsonObject,
  JpError,
  type Json,
  jsonLine,
  loadModule,
  neutralize,
  pathToText,
} from "../../util/index.ts";
import { makeFolder, noWorkspaceError, writeDurably } from "../../stores/index.ts";
import type { CommandContext } from "../context.ts";
import type { Call } from "../define.ts";
import { usageError } from "../exit-status.ts";
import { loadConfig } from "../load-config.ts";
import { trustWritten } from "../trust.ts";
import type { GET_CONFIG, SET_CONFIG, SHOW_CONFIG } from "./options.ts";
import type { FORMAT_OPTIONS, FlagsOf } from "../options.ts";

export async function showConfig({
  args,
  options,
  context,
}: Call<typeof SHOW_CONFIG>): Promise<void> {
  const { output } = context;
  const layers = await loadConfig(context, options);
  const prefix = splitPath(args[0] ?? "");
  for (const value of [...explainLayers(layers), ...explainLayers(groupLayers(layers))]) {
    if (!prefix.every((key, depth) => value.path[depth] === key)) continue;
    if (options.format === "json") {
      output.print(jsonLine(toJson(value)));
      continue;
    }
    const line = `${pathToText(value.path)} = ${valueText(value)}`;
    const [origin = "", ...overridden] = value.layers;
    const over = overridden.length === 0 ? "" : ` (over ${overridden.join(", ")})`;
    const note = options.explain === true ? `  # ${origin}${over}` : "";
    output.print(neutralize(line) + output.paint("dim", neutralize(note)));
  }
}

/** The layers' settings for tool groups, which the tools themselves inherit. */
function groupLayers(layers: readonly Layer[]): readonly Layer[] {
  return layers.flatMap(({ groups, name }) =>
    groups === undefined ? [] : [{ name, config: groups }],
  );
}

/** A configured answer may be a secret, so only its presence is shown. */
function valueText({ value, isPrivate }: ExplainedValue): string {
  return isPrivate ? '"<set>"' : jsonLine(value);
}

function toJson({ path: keyPath, value, isPrivate, layers }: ExplainedValue) {
  return { key: pathToText(keyPath), ...(isPrivate ? { private: true } : { value }), from: layers };
}

export async function getConfig({
  args,
  options,
  context,
}: Call<typeof GET_CONFIG>): Promise<void> {
  const [key = ""] = args;
  const layers = await loadConfig(context, options);
  const keys = splitPath(key);
  const shown = [layers, groupLayers(layers)].map((each) =>
    valueAt(configToJson(foldLayers(each), "shown"), keys),
  );
  const value = shown.find((found) => found !== undefined);
  const hidden = explainLayers(layers).find(
    ({ path: keyPath, isPrivate }) => isPrivate && pathToText(keyPath) === pathToText(keys),
  );
  if (hidden !== undefined) {
    throw new JpError(
      "config_private",
      `${key} is set but not shown, because it may be a secret.`,
      {
        hint: `It is set in ${hidden.layers[0] ?? "the config"}.`,
      },
    );
  }
  if (value === undefined) {
    throw new JpError("config_not_found", `${key} is not set.`, {
      hint: "`jp config show` lists what is set; `jp config schema` lists every key.",
    });
  }
  context.output.print(typeof value === "string" ? neutralize(value) : jsonLine(value));
}

export async function setConfig({
  args,
  options,
  context,
}: Call<typeof SET_CONFIG>): Promise<void> {
  const [key = "", text = ""] = args;
  const keys = splitPath(key);
  const value = readValue(key, text, options);
  const { assertMeaningful } = await loadModule(() => import("./check-setting.ts"));
  const added = withValue({}, { keys, value });
  await assertMeaningful("jp config set", added, context);
  const place = options.in ?? (context.workspace.isPlainFolder ? "local" : "workspace");
  const file = await trustWritten(context, parseConfig(added).config, () =>
    editConfigFile(place, [{ keys, value }], context),
  );
  context.output.notice(neutralize(`Set ${key} in ${file}`));
}

/** Which config file to change. */
export type ConfigFilePlace = NonNullable<FlagsOf<typeof SET_CONFIG>["in"]>;

/** The workspace and the user whose config is changed. */
export type EditingPlace = Pick<CommandContext, "environment" | "cwd" | "workspace">;

/** Changes keys of a config file together, and returns the file. Throws `config_unreadable`. */
export async function editConfigFile(
  place: ConfigFilePlace,
  edits: readonly Edit[],
  context: EditingPlace,
): Promise<string> {
  const file = await fileFor(place, context);
  const before = existsSync(file) ? await readFile(file, "utf8") : "";
  await makeFolder(path.dirname(file));
  let after = before;
  for (const edit of edits) after = await setInText(file, after, edit);
  // The user's own files may hold private values.
  await writeDurably(file, Buffer.from(after), place === "workspace" ? 0o644 : 0o600);
  return file;
}

/** Throws `usage`, `config_invalid`. */
function readValue(key: string, text: string, { json }: FlagsOf<typeof SET_CONFIG>): Json {
  if (key === "" || /[=:+]$/.test(key)) {
    throw usageError(
      "Give the key and the value as separate arguments.",
      "For example: jp config set user.name Ada",
    );
  }
  const assignment = parseAssignment(`${key}${json === true ? ":=" : "="}${text}`);
  parseConfigOrThrow("jp config set", assignment?.value ?? {});
  const value = valueAt(assignment?.value, splitPath(key));
  if (value === undefined) {
    throw usageError(
      "The value is empty.",
      "To remove a key, delete it from the file in your editor.",
    );
  }
  // A replaced text parses to a strategy with a value; write it as the plain text it was.
  const isReplacing = isJsonObject(value) && value["strategy"] === "replace";
  const plain = isReplacing && typeof value["value"] === "string" ? value["value"] : value;
  return plain as Json; // Parsed from JSON or text.
}

/** The config file of this place, which may not exist yet. */
export async function fileFor(place: ConfigFilePlace, context: EditingPlace): Promise<string> {
  const folder = await folderFor(place, context);
  const found = findConfigFile(folder, "config");
  if (found === undefined) return path.join(folder, "config.toml");
  // Users may symlink their own config, so links are followed. A link in a workspace may lead anywhere.
  return place === "workspace" ? found : realpath(found);
}

async function folderFor(
  place: NonNullable<FlagsOf<typeof SET_CONFIG>["in"]>,
  context: EditingPlace,
): Promise<string> {
  if (place === "user") return configPlaces(context).userFolder;
  const { workspace } = context;
  if (place === "local") return workspace.ensureUserFolder();
  if (workspace.isPlainFolder) throw noWorkspaceError(workspace.root);
  return path.join(workspace.root, ".jp");
}

/** Prints only existing files to standard output, for scripts. */
export async function printConfigPaths({
  options,
  context,
}: Call<typeof FORMAT_OPTIONS>): Promise<void> {
  const { output } = context;
  const files = configFiles(configPlaces(context));
  const names = Object.keys(context.environment.variables).filter((name) =>
    name.startsWith("JP_CFG_"),
  );
  if (options.format === "json") {
    for (const file of files) output.print(jsonLine(file));
    for (const variable of names) output.print(jsonLine({ variable, exists: true }));
    return;
  }
  for (const { file, exists } of files) {
    if (exists) output.print(output.isTerminal ? neutralize(file) : file);
    else output.notice(output.paintNotice("dim", neutralize(`${file} (does not exist)`)));
  }
  for (const name of names) output.notice(neutralize(`${name} (environment variable)`));
}

export async function printSchema({ context }: Call): Promise<void> {
  context.output.print(JSON.stringify(await configJsonSchema(), null, 2));
}
