/** The user's own folder for a workspace: local conversations, sessions and locks live there. */
import { existsSync, readdirSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { symlink } from "node:fs/promises";
import path from "node:path";
import { systemErrorCode, writeError } from "../storage-error.ts";
import { makeFolder } from "./durable.ts";

/** What is read of the environment; passed in, never taken from the process. */
export interface UserEnvironment {
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  readonly platform: NodeJS.Platform;
}

/** From a workspace's folder back to its `.jp`. */
const LINK = "storage";

export interface WorkspaceName {
  readonly id: string;
  /** The workspace's folder: part of the name for people's sake. */
  readonly root: string;
}

/** Where what is kept for a user stands, for all workspaces. */
export function userDataFolder({ variables, home, platform }: UserEnvironment): string {
  const own = nonEmpty(variables["JP_USER_DATA_DIR"]);
  if (own !== undefined) return own;
  const xdg = variables["XDG_DATA_HOME"];
  if (xdg !== undefined && path.isAbsolute(xdg)) return path.join(xdg, "jp");
  if (platform === "darwin") return path.join(home, "Library", "Application Support", "jp");
  if (platform === "win32") {
    return path.join(
      nonEmpty(variables["LOCALAPPDATA"]) ?? path.join(home, "AppData", "Local"),
      "jp",
      "data",
    );
  }
  return path.join(home, ".local", "share", "jp");
}

/**
 * The folder of this workspace, told by its id at the end of the name, so that clones and worktrees
 * share one. Where there are several, the one of this root counts, else the youngest.
 */
export function findWorkspaceData(
  dataFolder: string,
  { id, root }: WorkspaceName,
): string | undefined {
  const parent = path.join(dataFolder, "workspace");
  const names = listFolders(parent).filter((name) => name === id || name.endsWith(`-${id}`));
  const exact = names.find((name) => name === folderNameOf(id, root));
  const [youngest] = names
    .map((name) => ({ name, changed: statSync(path.join(parent, name)).mtimeMs }))
    .toSorted((left, right) => right.changed - left.changed);
  const name = exact ?? youngest?.name;
  return name === undefined ? undefined : path.join(parent, name);
}

/**
 * Whether the folder was made for the workspace at this place. An id proves nothing: a clone may bring
 * that of another workspace, and so find the folder that the user has for it.
 */
export function belongsToWorkspace(folder: string, root: string): boolean {
  try {
    const storage = readlinkSync(path.join(folder, LINK));
    // Only of the folder around it: `.jp` could itself be a link to where another workspace is.
    return realpathSync(path.dirname(storage)) === realpathSync(root);
  } catch {
    return false;
  }
}

/** Creates what is missing. Throws `write_failed`. */
export async function ensureWorkspaceData(
  dataFolder: string,
  name: WorkspaceName,
): Promise<string> {
  const found = findWorkspaceData(dataFolder, name);
  if (found !== undefined) return found;
  const folder = path.join(dataFolder, "workspace", folderNameOf(name.id, name.root));
  await makeFolder(folder);
  await linkBack(folder, path.join(name.root, ".jp"));
  return folder;
}

function folderNameOf(id: string, root: string): string {
  return `${path.basename(root)}-${id}`;
}

/** For people: which workspace this folder belongs to. */
async function linkBack(folder: string, storage: string): Promise<void> {
  try {
    await symlink(storage, path.join(folder, LINK));
  } catch (error) {
    if (systemErrorCode(error) === "EPERM" && process.platform === "win32") return; // Needs a right there.
    if (systemErrorCode(error) !== "EEXIST") throw writeError(path.join(folder, LINK), error);
  }
}

function listFolders(parent: string): string[] {
  if (!existsSync(parent)) return [];
  return readdirSync(parent, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name);
}

function nonEmpty(value: string | undefined): string | undefined {
  return value === "" ? undefined : value;
}
