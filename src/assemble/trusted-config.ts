/** Reads the config of a place, without the parts that the user has not trusted. */
import path from "node:path";
import {
  EDITOR_VARIABLES,
  findUnusable,
  foldLayers,
  type Layer,
  loadLayers,
  omitPaths,
  parseToolSource,
  type PartialConfig,
  type ToolDirective,
  transportType,
  valueAt,
} from "../settings/config/index.ts";
import {
  isInWorkspace,
  resolveProgram,
  resolveProgramOnce,
  withoutRelativeFolders,
} from "../reach/process/index.ts";
import {
  describeWithheld,
  type FoundProgram,
  resolveTrustedConfig,
  TRUST_HINT,
  type TrustedConfig,
  type TrustRequest,
  WorkspaceTrust,
} from "../settings/trust/index.ts";
import {
  type Conversation,
  type ConversationWriter,
  userDataFolder,
  type Workspace,
} from "../stores/index.ts";
import { pathToText } from "../util/index.ts";
import { configPlaces, findWorkspace, type Place, warnOnce } from "./place.ts";
import { rememberedConfig } from "./remembered-config.ts";
import { shippedConfig } from "./shipped-tools.ts";
import { findInstructions, type InstructionFile } from "./surroundings.ts";

/** The config to read, besides that of files and variables. */
export interface ConfigRequest {
  /** The values of `--cfg`, in order. */
  readonly cfg?: readonly string[] | undefined;
  /** Its remembered config also applies. */
  readonly conversation?: Conversation | undefined;
}

/** Warns about what has no effect. Throws `ConfigError` for an invalid config. */
export async function readConfig(
  place: Place,
  { cfg = [], conversation }: ConfigRequest,
): Promise<readonly Layer[]> {
  const { layers, warnings } = await loadLayers({
    places: configPlaces(place),
    ...shippedConfig(),
    ...(conversation !== undefined && {
      conversation: await rememberedConfig(conversation.stream),
    }),
    settings: cfg,
  });
  for (const warning of warnings) warnOnce(warning, place);
  for (const { path: keys, message } of findUnusable(foldLayers(layers)))
    warnOnce(`${pathToText(keys)}: ${message}`, place);
  return layers;
}

/** Asks the user for trust. */
export type AskTrust = (
  question: Parameters<NonNullable<TrustRequest["ask"]>>[0],
) => Promise<boolean>;

/** The settings before and after the user is asked for trust. */
export interface UntrustedConfig extends Pick<TrustedConfig, "config" | "withheld"> {
  /** Applies if the user says yes. */
  readonly wanted: PartialConfig;
}

/** The config to read, and who is asked to trust what the workspace adds to it. */
export interface TrustedConfigRequest extends ConfigRequest {
  /** From `-t` and `-T`, in order. */
  readonly directives?: readonly ToolDirective[] | undefined;
  /** Whether the workspace's `AGENTS.md` is used and has to be trusted. */
  readonly usesInstructions?: boolean | undefined;
  /** Finds out whom to ask. Absent, or returns undefined, if no one can be asked. */
  readonly findTruster?: ((config: PartialConfig) => AskTrust | undefined) | undefined;
  /** Called before the user is asked. Its errors replace the question. */
  readonly beforeAsking?: ((untrusted: UntrustedConfig) => Promise<void>) | undefined;
}

/** Throws config errors, and `workspace_not_trusted`. */
export async function readTrustedConfig(
  place: Place,
  request: TrustedConfigRequest,
): Promise<TrustedConfig> {
  const { conversation, directives, usesInstructions = false } = request;
  const layers = await readConfig(place, request);
  const workspace = findWorkspace(place);
  const trusted = await resolveTrustedConfig(workspace && workspaceTrust(place, workspace), {
    layers,
    conversationId: conversation?.id,
    instructions: usesInstructions ? workspaceInstructions(place, layers) : [],
    directives,
    ask: async (question, without) => {
      const wanted = foldLayers(layers);
      const ask = request.findTruster?.(wanted);
      if (ask === undefined) return undefined;
      await request.beforeAsking?.({ ...without, wanted });
      return ask(question);
    },
  });
  return { ...trusted, config: withoutForeignTools(trusted, place) };
}

/**
 * Leaves out tools that only the conversation's record has, of MCP servers that are not configured here: the
 * conversation may come from another machine.
 */
function withoutForeignTools({ config, layers }: TrustedConfig, place: Place): PartialConfig {
  const own = foldLayers(layers.filter(({ name }) => name !== "conversation"));
  const foreign = Object.keys(config.conversation?.tools ?? {}).flatMap((name) => {
    const keys = ["conversation", "tools", name];
    const source = valueAt(config, [...keys, "source"]);
    if (typeof source !== "string" || valueAt(own, [...keys, "source"]) === source) return [];
    const { type, server = "" } = { server: undefined, ...parseToolSource(source) };
    const isKnown = type !== "mcp" || config.providers?.mcp?.[server] !== undefined;
    return isKnown ? [] : [{ name, server, keys }];
  });
  for (const [server, tools] of Map.groupBy(foreign, (tool) => tool.server)) {
    const names = tools.map(({ name }) => name).join(", ");
    const missing = `the conversation's tools of the MCP server ${server} are missing: ${names}.`;
    warnOnce(`${missing} The server is not configured here.`, place);
  }
  return omitPaths(
    config,
    foreign.map(({ keys }) => keys),
  );
}

/** The `AGENTS.md` files for the current folder, trusted or not; none if the config disables them. */
export function workspaceInstructions(
  place: Pick<Place, "cwd" | "workspace">,
  layers: readonly Layer[],
): readonly InstructionFile[] {
  const workspace = findWorkspace(place);
  const { agents_md: isWanted = true } = foldLayers(layers).conversation?.surroundings ?? {};
  if (workspace === undefined || !isWanted) return [];
  return findInstructions({ folder: place.cwd, root: workspace.root });
}

export function workspaceTrust(
  { environment }: Pick<Place, "environment">,
  { root }: Pick<Workspace, "root">,
): WorkspaceTrust {
  return new WorkspaceTrust({
    root,
    dataFolder: userDataFolder(environment),
    variables: environment.variables,
    findPrograms: (config) => findPrograms(config, { root, environment }),
  });
}

/**
 * Finds programs that the config, or a variable for the editor, names without a path, and that `PATH` leads to in the
 * workspace. Where that has the home, there is no sandbox that such a program could help to leave.
 */
function findPrograms(
  config: PartialConfig,
  { root, environment }: Pick<Place, "environment"> & Pick<Workspace, "root">,
): readonly FoundProgram[] {
  const { variables, home } = environment;
  const { PATH: searchPath } = variables;
  const places = { cwd: root, searchPath };
  const { providers, notify, editor } = config;
  const servers = Object.entries(providers?.mcp ?? {}).map(([name, server]) => ({
    path: ["providers", "mcp", name],
    name: transportType(server) === "stdio" ? server.command : undefined,
    find: resolveProgramOnce,
  }));
  const notifier = {
    path: ["notify", "command"],
    name: notify?.command?.program,
    find: resolveProgramOnce,
  };
  // A shell finds it, each time, and without relative folders.
  const inShell = { ...places, searchPath: withoutRelativeFolders(searchPath) };
  const editors = editorWords(editor, variables).map((name) => ({
    path: editor?.cmd === undefined ? [] : ["editor", "cmd"],
    name,
    find: () => resolveProgram(name, inShell),
  }));
  return [...servers, notifier, ...editors].flatMap(({ path: keys, name, find }) => {
    if (name === undefined || name.includes(path.sep)) return [];
    const file = find(name, places);
    if (file === undefined || !isInWorkspace(file, root) || isInWorkspace(home, root)) return [];
    const relative = path.relative(root, file);
    return [{ path: keys, name, file: relative.startsWith("..") ? file : relative }];
  });
}

/** The words of its command line, which may name the program after others: `env LANG=C vim`. */
function editorWords(
  { cmd, envs = EDITOR_VARIABLES }: NonNullable<PartialConfig["editor"]> = {},
  variables: Place["environment"]["variables"],
): readonly string[] {
  const command = typeof cmd === "object" ? cmd.program : cmd;
  const line = [command, ...envs.map((name) => variables[name])].find(Boolean) ?? "";
  return line
    .replaceAll(/["'\\]/g, "")
    .split(/\s+/)
    .filter((word) => word !== "" && !word.startsWith("-"));
}

export function warnWithheld({ withheld }: TrustedConfig, place: Place): void {
  if (withheld.length > 0) warnOnce(`${describeWithheld(withheld)} ${TRUST_HINT}`, place);
}

/** Trusts the config now recorded in the conversation: see `WorkspaceTrust.trustRecord`. */
export async function trustRecord(
  place: Place,
  trusted: TrustedConfig,
  { id, stream }: ConversationWriter,
): Promise<void> {
  const trust = workspaceTrust(place, place.workspace);
  await trust.trustRecord(trusted, { id, config: await rememberedConfig(stream) });
}
