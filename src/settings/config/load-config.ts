/** Loads the layers of config from files, environment and command line, in order of precedence. */
import { globSync, realpathSync } from "node:fs";
import path from "node:path";
import { assignmentKey, parseAssignment } from "./assignment.ts";
import {
  ConfigError,
  configError,
  type ConfigIssue,
  describeIssue,
  invalidConfigError,
} from "./config-error.ts";
import { loadModule, pathToText } from "../../util/index.ts";
import { classifiedValues } from "./classified-values.ts";
import {
  type ConfigFile,
  EXTENSIONS,
  findConfigFile,
  isFile,
  readConfigFile,
} from "./config-file.ts";
import { DEFAULTS } from "./defaults.ts";
import { readEnvironment } from "./environment.ts";
import { type Layer, omitPaths } from "./layers.ts";
import { parseConfig, type ParsedConfig } from "./parse-config.ts";
import { placeRules } from "./place-rules.ts";
import { type DeclaredIds, findQuestionIssues } from "./question-ids.ts";
import type { PartialConfig } from "./schema/config-schema.ts";
import type { PartialToolConfig } from "./schema/tool.ts";
import type { UngroupedLayers } from "./tool-groups.ts";

/** Where to look for config. */
export interface ConfigPlaces {
  /** The user's own config folder, for all workspaces. */
  readonly userFolder: string;
  /** Absent outside a workspace. */
  readonly workspaceRoot?: string;
  /** A folder that is not a workspace: no config is read from it, and a file in it that a flag names needs trust. */
  readonly plainFolder?: string;
  /** The user's folder for this workspace, if there is one. */
  readonly userWorkspaceFolder?: string;
  /** That folder was created for another workspace, so its config is not trusted here. */
  readonly isOfOtherWorkspace?: boolean;
  readonly cwd: string;
  readonly variables: Readonly<Record<string, string | undefined>>;
}

/** Where to look for config, and the layers that are not in files. */
export interface LoadOptions {
  readonly places: ConfigPlaces;
  /** The config of the builtin tools; the user's config merges over it. */
  readonly builtins?: PartialConfig;
  /** The builtin tools that only read. */
  readonly readOnlyTools?: readonly string[];
  /** The questions that the builtin tools ask. */
  readonly questionIds?: DeclaredIds;
  /** The recorded config of a conversation. */
  readonly conversation?: PartialConfig;
  /** The values of `--cfg`, in order. */
  readonly settings?: readonly string[];
  /** Config set by other flags; the highest layer. */
  readonly flags?: PartialConfig;
}

export interface LoadedLayers {
  /** Lowest first. */
  readonly layers: readonly Layer[];
  readonly warnings: readonly string[];
}

/** Throws `config_invalid`, `config_unreadable`, `config_not_found`. */
export async function loadLayers(options: LoadOptions): Promise<LoadedLayers> {
  const loader = new Loader();
  for (const { file, isFromWorkspace } of placesOf(options.places))
    await loader.addFile(file, isFromWorkspace);
  loader.addEnvironment(options.places.variables);
  loader.add("conversation", options.conversation, true);
  const standing = loader.layers.length;
  for (const words of options.settings ?? []) await loader.addSetting(words, options.places);
  loader.add("command line", options.flags);
  const ours: readonly Layer[] = [
    { name: "defaults", config: DEFAULTS, isBase: true },
    {
      name: "builtin tools",
      config: options.builtins ?? {},
      isBase: true,
      readOnlyTools: options.readOnlyTools ?? [],
    },
  ];
  const all = loader.layers.map((layer, index): Layer =>
    index < standing ? layer : { ...layer, isTemporary: true },
  );
  const { layers, issues } = await ungroup([...ours, ...all].map(placeRules));
  const unknown = findQuestionIssues(layers, options.questionIds ?? {});
  const warnings = [...issues, ...unknown].map(({ layer, ...issue }) =>
    describeIssue(layer, issue),
  );
  return { layers, warnings: [...loader.warnings, ...warnings] };
}

type ToolEntry = readonly [name: string, tool: PartialToolConfig];

function toolEntries({ config }: Layer): readonly ToolEntry[] {
  const tools: Readonly<Record<string, PartialToolConfig>> = config.conversation?.tools ?? {};
  return Object.entries(tools);
}

function isSourced([, { source }]: ToolEntry): boolean {
  return source !== undefined;
}

/** See `ungroupLayers`, which is loaded only if an entry may belong to a group. */
export async function ungroup(layers: readonly Layer[]): Promise<UngroupedLayers> {
  const ofUser = layers.filter(({ isFromWorkspace }) => isFromWorkspace !== true);
  const own = new Set(
    ofUser.flatMap((layer) =>
      toolEntries(layer)
        .filter(isSourced)
        .map(([name]) => name),
    ),
  );
  const mayHaveGroups = layers.flatMap(toolEntries).some((entry) => {
    const [name, { enable }] = entry;
    if (enable?.reads_only === true) return true;
    return name !== "*" && !own.has(name) && !isSourced(entry);
  });
  if (!mayHaveGroups) return { layers, issues: [] };
  const { ungroupLayers } = await loadModule(() => import("./tool-groups.ts"));
  return ungroupLayers(layers);
}

/** A file that jp reads config from, if it exists. */
export interface ConfigPlace {
  readonly file: string;
  readonly exists: boolean;
}

/** Every file that config can come from, lowest first. */
export function configFiles(places: ConfigPlaces): readonly ConfigPlace[] {
  return candidatesOf(places).map(({ folder, name }) => {
    const file = findConfigFile(folder, name);
    return { file: file ?? path.join(folder, `${name}.toml`), exists: file !== undefined };
  });
}

/** The config files that exist. */
export function existingConfigFiles(places: ConfigPlaces): readonly string[] {
  return placesOf(places).map(({ file }) => file);
}

interface PlacedFile {
  readonly file: string;
  readonly isFromWorkspace: boolean;
}

function placesOf(places: ConfigPlaces): readonly PlacedFile[] {
  return candidatesOf(places).flatMap(({ folder, name, isFromWorkspace }) => {
    const file = findConfigFile(folder, name);
    return file === undefined ? [] : [{ file, isFromWorkspace }];
  });
}

interface Candidate {
  readonly folder: string;
  /** Without its extension. */
  readonly name: string;
  readonly isFromWorkspace: boolean;
}

function candidatesOf(places: ConfigPlaces): readonly Candidate[] {
  const {
    userFolder,
    workspaceRoot,
    userWorkspaceFolder,
    isOfOtherWorkspace = false,
    cwd,
  } = places;
  const ofWorkspace =
    workspaceRoot === undefined
      ? []
      : [
          { folder: path.join(workspaceRoot, ".jp"), name: "config" },
          ...foldersBetween(workspaceRoot, cwd).map((folder) => ({ folder, name: ".jp" })),
        ];
  const ofUserHere =
    userWorkspaceFolder === undefined
      ? []
      : [{ folder: userWorkspaceFolder, name: "config", isFromWorkspace: isOfOtherWorkspace }];
  return [
    { folder: userFolder, name: "config", isFromWorkspace: false },
    ...ofWorkspace.map((place) => ({ ...place, isFromWorkspace: true })),
    ...ofUserHere,
  ];
}

/** From the root down to the folder; only the root if the folder is outside. */
function foldersBetween(root: string, folder: string): readonly string[] {
  if (!isWithin(root, folder)) return [root];
  const relative = path.relative(root, folder);
  const parts = relative === "" ? [] : relative.split(path.sep);
  return [root, ...parts.map((_part, index) => path.join(root, ...parts.slice(0, index + 1)))];
}

function isWithin(root: string, place: string): boolean {
  const relative = path.relative(root, place);
  const isOutside = relative === ".." || relative.startsWith(`..${path.sep}`);
  return !isOutside && !path.isAbsolute(relative);
}

/** Resolves links; returns the path as it is if nothing exists there. */
function real(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}

interface FileReading extends PlacedFile {
  /** The files that led here, to detect cycles. */
  readonly parents: readonly string[];
  /** The files already read for this file; each applies once. */
  readonly seen: Set<string>;
}

class Loader {
  readonly layers: Layer[] = [];
  readonly warnings: string[] = [];

  add(name: string, config: PartialConfig | undefined, isFromWorkspace = false): void {
    if (config === undefined || Object.keys(config).length === 0) return;
    this.layers.push({ name, config, isFromWorkspace });
  }

  /** Extended files are trusted like the file itself, wherever they are. */
  async addFile(file: string, isFromWorkspace: boolean): Promise<void> {
    await this.#addFile({ file, isFromWorkspace, parents: [], seen: new Set() });
  }

  addEnvironment(variables: Readonly<Record<string, string | undefined>>): void {
    const { settings, unknown } = readEnvironment(variables);
    for (const { variable, meant } of unknown) {
      const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
      this.warnings.push(`${variable}: unknown config key${hint}`);
    }
    for (const { variable, assignment } of settings) {
      const config = this.#accept(variable, parseConfig(assignment.value));
      const { cleared } = assignment;
      this.layers.push({ name: variable, config, cleared, isFromEnvironment: true });
    }
  }

  /**
   * An assignment, a file after `@`, or a name to look up. A file of the workspace needs trust even if the user names it:
   * they may not know its content.
   */
  async addSetting(words: string, places: ConfigPlaces): Promise<void> {
    const { workspaceRoot, plainFolder, cwd } = places;
    const root = workspaceRoot ?? plainFolder;
    const isInside = (file: string) =>
      root !== undefined && (isWithin(root, file) || isWithin(real(root), real(file)));
    if (words.startsWith("@")) {
      const file = path.resolve(cwd, words.slice(1));
      await this.addFile(file, isInside(file));
      return;
    }
    const assignment = parseAssignment(words);
    if (assignment === undefined) {
      for (const { file, isFromWorkspace } of this.#findNamed(words, places))
        await this.addFile(file, isFromWorkspace || isInside(file));
      return;
    }
    // Leave out the value: it may be an answer.
    const name = `--cfg ${assignmentKey(words)}`;
    const { config: parsed, errors, warnings } = parseConfig(assignment.value);
    const refused = [...errors, ...warnings.filter(({ isUnsupported }) => isUnsupported === true)];
    const config = this.#accept(name, { config: parsed, errors: refused, warnings });
    this.layers.push({ name, config, cleared: assignment.cleared });
  }

  async #addFile({ file, isFromWorkspace, parents, seen }: FileReading): Promise<void> {
    if (parents.includes(file)) {
      throw configError(file, { path: ["extends"], message: "this file extends itself" });
    }
    if (seen.has(file)) return;
    seen.add(file);
    const read = await readConfigFile(file);
    const config = this.#accept(file, parseConfig(read.value), read);
    const extended = (config.extends ?? []).map((entry) => findExtendedFiles(file, entry));
    for (const { pattern, isMissing } of extended) if (isMissing) this.#warnOf(pattern, read);
    const add = async (isAfter: boolean) => {
      for (const entry of extended.filter((one) => one.isAfter === isAfter))
        for (const other of entry.files)
          await this.#addFile({ file: other, isFromWorkspace, parents: [...parents, file], seen });
    };
    const lowest = this.layers.length;
    await add(false);
    const extendedBelow = this.layers.length - lowest;
    const own = isFromWorkspace ? this.#withoutOwn(file, config) : config;
    const { digest } = read;
    this.layers.push({ name: file, config: own, digest, extendedBelow, isFromWorkspace });
    await add(true);
  }

  /**
   * Trust is not enough to set how commands are confined, what runs without asking, who decides for others, and where
   * decisions are anchored: only the user's own config may.
   */
  #withoutOwn(file: string, config: PartialConfig): PartialConfig {
    const own = classifiedValues(config).filter(
      ({ trust, value }) => trust === "own" || (trust === "own_mode" && value !== "plan"),
    );
    for (const { path: keys, trust } of own) {
      const what = `${pathToText(keys)}${trust === "own_mode" ? " to anything but plan" : ""}`;
      this.warnings.push(`${file}: only your own config can set ${what}, so jp ignores it here`);
    }
    return omitPaths(
      config,
      own.map(({ path: keys }) => keys),
    );
  }

  #warnOf(pattern: string, read: ConfigFile): void {
    const issue = { path: ["extends"], message: `file not found: ${pattern}` };
    this.warnings.push(describeIssue(placeOf(read, issue.path), issue));
  }

  /** Collects the warnings, and throws on errors. */
  #accept(name: string, parsed: ParsedConfig, read?: ConfigFile): PartialConfig {
    const describe = (issue: ConfigIssue) => {
      if (read !== undefined) return describeIssue(placeOf(read, issue.path), issue);
      // The flag already names the key.
      const isNamed = name.endsWith(` ${pathToText(issue.path)}`);
      return describeIssue(name, isNamed ? { path: [], message: issue.message } : issue);
    };
    this.warnings.push(...parsed.warnings.map(describe));
    if (parsed.errors.length > 0) throw invalidConfigError(parsed.errors.map(describe));
    return parsed.config;
  }

  /** A file found through a load path of the workspace counts as the workspace's. */
  #findNamed(name: string, places: ConfigPlaces): readonly PlacedFile[] {
    const loadPaths = this.layers.flatMap(({ config, isFromWorkspace = false }) =>
      (config.config_load_paths ?? []).map((folder) => ({ folder, isFromWorkspace })),
    );
    const roots = [places.userFolder, places.workspaceRoot, places.userWorkspaceFolder];
    const files = roots
      .filter((root) => root !== undefined)
      .flatMap((root) =>
        loadPaths.map((load) => ({ ...load, folder: path.join(root, load.folder) })),
      )
      .flatMap(({ folder, isFromWorkspace }) =>
        [...EXTENSIONS.map((extension) => `${name}.${extension}`), name].map((found) => ({
          file: path.join(folder, found),
          isFromWorkspace,
        })),
      )
      .filter(({ file }) => isFile(file));
    if (files.length > 0) return files;
    // It may be a mistyped assignment that contains an answer.
    const shown = name.replace(/=[\s\S]*$/, "=…");
    throw new ConfigError("config_not_found", `Cannot find a config named ${shown}.`, {
      hint: "Write settings as key=value, key:=JSON, @file or {…}. Names are looked up in config_load_paths.",
    });
  }
}

function placeOf(read: ConfigFile, keys: readonly string[]): string {
  const line = read.findLine(keys);
  return line === undefined ? read.file : `${read.file}:${line}`;
}

interface ExtendedFiles {
  /** As written. */
  readonly pattern: string;
  /** Sorted by name. */
  readonly files: readonly string[];
  /** They apply after the file that extends them, not before. */
  readonly isAfter: boolean;
  /** The pattern names one file, which does not exist. */
  readonly isMissing: boolean;
}

type Extends = NonNullable<PartialConfig["extends"]>[number];

/** Finds the files of an `extends` entry, relative to the file it is in, and never that file itself. */
function findExtendedFiles(file: string, entry: Extends): ExtendedFiles {
  const { path: pattern, strategy = "before" } =
    typeof entry === "string" ? { path: entry } : entry;
  const cwd = path.dirname(file);
  const literal = path.resolve(cwd, pattern);
  const isNamed = isFile(literal);
  const files = isNamed ? [literal] : matching(pattern, cwd).filter((found) => found !== file);
  const isMissing = !isNamed && !/[*?[\]{}()!]/.test(pattern);
  return { pattern, files, isAfter: strategy === "after", isMissing };
}

function matching(pattern: string, cwd: string): readonly string[] {
  return globSync(pattern, { cwd })
    .map((name) => path.resolve(cwd, name))
    .filter((name) => EXTENSIONS.some((extension) => name.endsWith(`.${extension}`)))
    .filter(isFile)
    .toSorted();
}
