/** The config in force for a command: from all its places, with what the command line adds. */
import path from "node:path";
import {
  applyDirectives,
  type ConfigPlaces,
  findUnusable,
  foldLayers,
  type Layer,
  loadLayers,
  type PartialConfig,
  pathToText,
  type ToolDirective,
} from "../config/index.ts";
import type { UserEnvironment, Workspace } from "../storage/index.ts";
import { isCodedError } from "../util/index.ts";
import type { CommandContext } from "./compose.ts";
import { rememberedConfig } from "./remembered-config.ts";
import { shippedLayer } from "./shipped-tools.ts";
import { resolveTarget } from "./target.ts";
import { warn } from "./warnings.ts";

export interface ConfigFlags {
  /** The values of `--cfg`, in their order. */
  readonly cfg?: readonly string[];
  /** A conversation that remembers some config of its own. */
  readonly id?: string;
  /** What `-t` and `-T` say, in their order. */
  readonly directives?: readonly ToolDirective[];
}

/** Warnings are told. Throws what is wrong with a config. */
export async function loadConfig(
  context: CommandContext,
  { cfg = [], id }: ConfigFlags,
): Promise<readonly Layer[]> {
  const { layers, warnings } = await loadLayers({
    places: configPlaces(context),
    ...shippedLayer(),
    ...(id !== undefined && { conversation: await remembered(context, id) }),
    settings: cfg,
  });
  for (const warning of warnings) warn(warning, context.output);
  for (const { path: keys, message } of findUnusable(foldLayers(layers)))
    warn(`${pathToText(keys)}: ${message}`, context.output);
  return layers;
}

/** All of them as one, with the tools that the command line switches on and off. */
export async function configInForce(
  context: CommandContext,
  flags: ConfigFlags,
): Promise<PartialConfig> {
  const config = foldLayers(await loadConfig(context, flags));
  return applyDirectives(config, flags.directives ?? []);
}

async function remembered(context: CommandContext, target: string): Promise<PartialConfig> {
  const { id } = await resolveTarget(context, target);
  const { stream } = await context.workspace.conversations.load(id);
  return rememberedConfig(stream);
}

export function configPlaces(context: CommandContext): ConfigPlaces {
  const { environment, cwd } = context;
  const workspace = findWorkspace(context);
  const userWorkspaceFolder = workspace?.findUserFolder();
  return {
    userFolder: userConfigFolder(environment),
    ...(workspace !== undefined && { workspaceRoot: workspace.root }),
    ...(userWorkspaceFolder !== undefined && {
      userWorkspaceFolder,
      isOfOtherWorkspace: workspace?.ownsUserFolder() !== true,
    }),
    cwd: path.resolve(cwd),
    variables: environment.variables,
  };
}

/** Config is of use outside of a workspace too. */
export function findWorkspace(context: CommandContext): Workspace | undefined {
  try {
    return context.workspace;
  } catch (error) {
    if (isCodedError(error) && error.code === "no_workspace") return undefined;
    throw error;
  }
}

function userConfigFolder({ variables, home, platform }: UserEnvironment): string {
  const own = variables["JP_GLOBAL_CONFIG_DIR"];
  if (own !== undefined && own !== "") return own;
  const xdg = variables["XDG_CONFIG_HOME"];
  if (xdg !== undefined && path.isAbsolute(xdg)) return path.join(xdg, "jp");
  if (platform === "darwin") return path.join(home, "Library", "Application Support", "jp");
  if (platform === "win32") return path.join(home, "AppData", "Roaming", "jp");
  return path.join(home, ".config", "jp");
}
