/** Loads a command's config from files, variables and the command line. */
import path from "node:path";
import {
  applyDirectives,
  type ConfigPlaces,
  findUnusable,
  foldLayers,
  type Layer,
  loadLayers,
  type PartialConfig,
  type ToolDirective,
} from "../settings/config/index.ts";
import { pathToText, isJpError } from "../util/index.ts";
import { type Machine, shippedConfig } from "../assemble/index.ts";
import { type Conversation, userDataFolder, type Workspace } from "../stores/index.ts";
import { type CommandContext, warn, warnOnce } from "./context.ts";
import { resolveTarget } from "./conversations.ts";
import { rememberedConfig } from "./remembered-config.ts";
import { userConfigFolder } from "./user-config-folder.ts";

/** In `.jp`, beside the config, so that the reference to it works on every machine. */
export const SCHEMA_FILE = "config.schema.json";

export interface ConfigFlags {
  /** The values of `--cfg`, in order. */
  readonly cfg?: readonly string[];
  /** A conversation whose remembered config also applies. */
  readonly id?: string;
  /** The same conversation, if it is already loaded. */
  readonly conversation?: Conversation;
  /** Whether the workspace's `AGENTS.md` is used and has to be trusted. */
  readonly usesInstructions?: boolean;
  /** From `-t` and `-T`, in order. */
  readonly directives?: readonly ToolDirective[];
}

/** Prints warnings. Throws `ConfigError` for an invalid config. */
export async function loadConfig(
  context: CommandContext,
  { cfg = [], id, conversation }: ConfigFlags,
): Promise<readonly Layer[]> {
  const { layers, warnings } = await loadLayers({
    places: configPlaces(context),
    ...shippedConfig(),
    ...(id !== undefined && {
      conversation: await rememberedConfig(
        (conversation ?? (await loadTarget(context, id))).stream,
      ),
    }),
    settings: cfg,
  });
  for (const warning of warnings) warnOnce(warning, context);
  for (const { path: keys, message } of findUnusable(foldLayers(layers)))
    warnOnce(`${pathToText(keys)}: ${message}`, context);
  return layers;
}

/** All layers folded into one, with `-t` and `-T` applied. */
export async function effectiveConfig(
  context: CommandContext,
  flags: ConfigFlags,
): Promise<PartialConfig> {
  const config = foldLayers(await loadConfig(context, flags));
  return applyDirectives(config, flags.directives ?? []);
}

async function loadTarget(context: CommandContext, target: string): Promise<Conversation> {
  const { id } = await resolveTarget(context, target);
  return context.workspace.conversations.load(id);
}

export function configPlaces(context: CommandContext): ConfigPlaces {
  const { environment, cwd } = context;
  const workspace = findWorkspace(context);
  const userWorkspaceFolder = workspace?.findUserFolder();
  return {
    userFolder: userConfigFolder(environment),
    ...placeOf(workspace),
    ...(userWorkspaceFolder !== undefined && {
      userWorkspaceFolder,
      isOfOtherWorkspace: workspace?.ownsUserFolder() !== true,
    }),
    cwd: path.resolve(cwd),
    variables: environment.variables,
  };
}

function placeOf(
  workspace: Workspace | undefined,
): Pick<ConfigPlaces, "workspaceRoot" | "plainFolder"> {
  if (workspace === undefined) return {};
  return workspace.isPlainFolder
    ? { plainFolder: workspace.root }
    : { workspaceRoot: workspace.root };
}

/** The machine from which tools and models are reached. */
export function machineOf(context: CommandContext): Machine {
  const { environment, version, clock, output } = context;
  const workspace = findWorkspace(context);
  return {
    root: workspace?.root ?? context.cwd,
    workspaceId: workspace?.findId() ?? "",
    variables: environment.variables,
    dataFolder: userDataFolder(environment),
    version,
    clock,
    onWarning: (message) => warn(message, output),
    ...(workspace !== undefined && { ensureUserFolder: () => workspace.ensureUserFolder() }),
  };
}

/** The workspace, or else the folder itself. Undefined if the folder does not exist. */
export function findWorkspace(context: CommandContext): Workspace | undefined {
  try {
    return context.workspace;
  } catch (error) {
    if (isJpError(error) && error.code === "no_workspace") return undefined;
    throw error;
  }
}
