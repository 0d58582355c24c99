/** Where turns run: a user's workspace on this machine, its folders, its environment and its clock. */
import path from "node:path";
import type { ServerRefusal } from "../reach/mcp/index.ts";
import type { ConfigPlaces } from "../settings/config/index.ts";
import {
  type Tenant,
  userConfigFolder,
  userDataFolder,
  type UserEnvironment,
  type Workspace,
} from "../stores/index.ts";
import { type Clock, isJpError } from "../util/index.ts";

/** The place of a turn that config describes, and how to tell the user something there. */
export interface Place {
  readonly environment: UserEnvironment;
  /** The user's working directory. */
  readonly cwd: string;
  /** jp's version. */
  readonly version: string;
  readonly clock: Clock;
  /**
   * Opened on first use. Outside a workspace, the folder itself. Throws `no_workspace` if the folder does not exist.
   */
  readonly workspace: Workspace;
  /** The state that all workspaces in the database share, opened on first use. Undefined with files. */
  readonly findTenant: () => Promise<Tenant | undefined>;
  /** Notices already given: each appears once per session. */
  readonly printed: Set<string>;
  /** One line of prose. Must not throw. */
  readonly notice: (text: string) => void;
  /** One line about something that is left out or refused. Must not throw. */
  readonly warn: (text: string) => void;
}

/** For warnings that recur with each message of a session, such as an unknown key in the config. */
export function warnOnce(text: string, { printed, warn }: Pick<Place, "printed" | "warn">): void {
  if (!printed.has(text)) warn(text);
  printed.add(text);
}

/** The machine from which tools and models are reached: its folder, environment and clock. */
export interface Machine {
  /** The working directory of tools and servers: the root of the workspace, if there is one. */
  readonly root: string;
  /** Empty outside of a workspace. */
  readonly workspaceId: string;
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** The user's data folder, where permissions are saved. Absent if they cannot be saved. */
  readonly dataFolder?: string;
  /** jp's version, which is sent to MCP servers. */
  readonly version: string;
  readonly clock: Clock;
  /** The user's own folder for the workspace. Absent if nothing is kept there. Throws `write_failed`. */
  readonly ensureUserFolder?: () => Promise<string>;
  /** Called when something is left out or refused. One line; must not throw. */
  readonly onWarning: (message: string) => void;
  /** Called when an MCP server wants the user to log in. Must not throw. */
  readonly onRefusal?: (refusal: ServerRefusal) => void;
}

export function machineOf(place: Place): Machine {
  const { environment, version, clock, warn: onWarning } = place;
  const workspace = findWorkspace(place);
  return {
    root: workspace?.root ?? place.cwd,
    workspaceId: workspace?.findId() ?? "",
    variables: environment.variables,
    dataFolder: userDataFolder(environment),
    version,
    clock,
    onWarning,
    ...(workspace !== undefined && { ensureUserFolder: () => workspace.ensureUserFolder() }),
  };
}

/** The workspace, or else the folder itself. Undefined if the folder does not exist. */
export function findWorkspace(place: Pick<Place, "workspace">): Workspace | undefined {
  try {
    return place.workspace;
  } catch (error) {
    if (isJpError(error) && error.code === "no_workspace") return undefined;
    throw error;
  }
}

/** The folders that config is read from. */
export function configPlaces(
  place: Pick<Place, "environment" | "cwd" | "workspace">,
): ConfigPlaces {
  const { environment, cwd } = place;
  const workspace = findWorkspace(place);
  const userWorkspaceFolder = workspace?.findUserFolder();
  return {
    userFolder: userConfigFolder(environment),
    ...(workspace !== undefined &&
      (workspace.isPlainFolder
        ? { plainFolder: workspace.root }
        : { workspaceRoot: workspace.root })),
    ...(userWorkspaceFolder !== undefined && {
      userWorkspaceFolder,
      isOfOtherWorkspace: workspace?.ownsUserFolder() !== true,
    }),
    cwd: path.resolve(cwd),
    variables: environment.variables,
  };
}
