/** The user's own folder for a workspace, with local conversations, sessions and locks. */
import { existsSync, readdirSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { rename, rm, symlink } from "node:fs/promises";
import path from "node:path";
import type { ConversationId } from "../../record/conversation/index.ts";
import { StorageError, writeError } from "../storage-error.ts";
import { makeFolder } from "./durable.ts";
import { OWNER_FOLDER } from "./private-folder.ts";
import { messageOf, systemErrorCode } from "../../util/index.ts";

/** The parts of the environment that storage reads. Passed in, never read from the process. */
export interface UserEnvironment {
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  readonly platform: NodeJS.Platform;
}

/** The name of the link from the user's folder back to the workspace's `.jp`. */
const LINK = "storage";

export interface WorkspaceName {
  readonly id: string;
  /** The workspace's folder. Part of the name for readability. */
  readonly root: string;
}

/** The folder through which processes exchange files about a conversation. Clones of a workspace share the folder. */
export interface PrivatePlace {
  /** See `FsContext.findPrivateFolder`. */
  readonly privateFolder: string;
  readonly id: ConversationId;
  /** The real path of the workspace. Undefined in a store, which does not share its folder. */
  readonly workspace: string | undefined;
}

/** The folder of the user's own config, for all workspaces. */
export function userConfigFolder({ variables, home, platform }: UserEnvironment): string {
  const own = nonEmpty(variables["JP_GLOBAL_CONFIG_DIR"]);
  if (own !== undefined) return own;
  const xdg = variables["XDG_CONFIG_HOME"];
  if (xdg !== undefined && path.isAbsolute(xdg)) return path.join(xdg, "jp");
  if (platform === "darwin") return path.join(home, "Library", "Application Support", "jp");
  if (platform === "win32") return path.join(home, "AppData", "Roaming", "jp");
  return path.join(home, ".config", "jp");
}

/** The user's data folder, for all workspaces. */
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

/** The log of heads in the user's data folder, or in a store. `chain-file.ts` writes it. */
export function headsFileIn(folder: string): string {
  return path.join(folder, "heads.jsonl");
}

/** The parent of the folders of all workspaces. */
export function workspacesIn(dataFolder: string): string {
  return path.join(dataFolder, "workspace");
}

/** The parent of the data kept for folders that are not workspaces. */
export function plainFoldersIn(dataFolder: string): string {
  return path.join(dataFolder, "folder");
}

/** Data kept for a folder without a `.jp`, by its real path alone. Undefined until something is stored. */
export function findFolderData(dataFolder: string, root: string): string | undefined {
  if (!existsSync(plainFoldersIn(dataFolder))) return undefined;
  const folder = folderDataOf(dataFolder, root);
  return existsSync(folder) ? folder : undefined;
}

/** Like `findFolderData`, but creates it if missing. Throws `write_failed`. */
export async function ensureFolderData(dataFolder: string, root: string): Promise<string> {
  const folder = folderDataOf(dataFolder, root);
  if (existsSync(folder)) return folder;
  await makeUserFolder(folder);
  await linkBack(folder, path.join(root, ".jp"));
  return folder;
}

function folderDataOf(dataFolder: string, root: string): string {
  const real = realpathSync(root);
  return path.join(plainFoldersIn(dataFolder), `${path.basename(real)}-${pathDigest(real)}`);
}

/**
 * Moves a folder's data to the workspace that it has become. Leaves a link, for processes that still use the folder,
 * and in case the workspace is deleted. Throws `write_failed`.
 */
async function moveFolderData(from: string, to: string): Promise<void> {
  try {
    await makeUserFolder(path.dirname(to));
    await rename(realpathSync(from), to);
    await rm(from, { force: true });
    await symlink(to, from, "junction"); // Other links need a privilege on Windows.
  } catch (error) {
    throw writeError(to, error);
  }
}

/**
 * Finds the folder by the workspace id at the end of its name, so that clones and worktrees share
 * one. If there are several, prefers the one created for this root, then the one named after it, then the most recent.
 */
export function findWorkspaceData(
  dataFolder: string,
  { id, root }: WorkspaceName,
): string | undefined {
  const parent = workspacesIn(dataFolder);
  const names = listFolders(parent).filter((name) => name === id || name.endsWith(`-${id}`));
  const own =
    names.length > 1 && names.find((name) => belongsToWorkspace(path.join(parent, name), root));
  if (typeof own === "string") return path.join(parent, own);
  const exact = names.find((name) => name === folderNameOf(id, root));
  const [latest] = names
    .map((name) => ({ name, changed: statSync(path.join(parent, name)).mtimeMs }))
    .toSorted((left, right) => right.changed - left.changed);
  const name = exact ?? latest?.name;
  return name === undefined ? undefined : path.join(parent, name);
}

/** The ids under which data is kept for the workspace at this path. The one that was used last comes first. */
export function findKnownIds(dataFolder: string, root: string): readonly string[] {
  const parent = workspacesIn(dataFolder);
  const known = listFolders(parent).flatMap((name) => {
    const folder = path.join(parent, name);
    const [id] = /(?<=^|-)[0-9a-z]{5}$/.exec(name) ?? [];
    const isOurs = belongsToWorkspace(folder, root) || existsSync(partOfClone(folder, root));
    return id !== undefined && isOurs ? [{ id, changed: statSync(folder).mtimeMs }] : [];
  });
  return known.toSorted((left, right) => right.changed - left.changed).map(({ id }) => id);
}

/**
 * Whether the folder was created for the workspace at this path. The id alone proves nothing: a
 * clone may come with the id of another workspace, and so find the user's folder for that one.
 */
export function belongsToWorkspace(folder: string, root: string): boolean {
  try {
    const storage = readlinkSync(path.join(folder, LINK));
    // Resolve only the parent: `.jp` itself could be a link into another workspace.
    return realpathSync(path.dirname(storage)) === realpathSync(root);
  } catch {
    return false;
  }
}

/**
 * The part of the folder with local conversations and sessions, which belong to both the path and the id. A clone with
 * the id of another workspace has its own part, undefined until something is stored there. A folder without a link back
 * belongs to any workspace with the id.
 */
export function findOwnPart(folder: string, root: string): string | undefined {
  if (findLink(path.join(folder, LINK)) === undefined || belongsToWorkspace(folder, root)) {
    return folder;
  }
  const apart = partOfClone(folder, root);
  return existsSync(apart) ? apart : undefined;
}

/** Like `findOwnPart`, but creates it if missing, or moves the data kept for the folder before. */
export async function ensureOwnPart(folder: string, root: string, kept?: string): Promise<string> {
  const found = findOwnPart(folder, root);
  if (found !== undefined) return found;
  const apart = partOfClone(folder, root);
  if (kept === undefined) await makeUserFolder(apart);
  else await moveFolderData(kept, apart);
  return apart;
}

/** The former path of the workspace with this id, if nothing is there any more and this path has no part of its own yet. */
export function findFormerRoot(folder: string, root: string): string | undefined {
  const storage = findLink(path.join(folder, LINK));
  if (storage === undefined || findOwnPart(folder, root) !== undefined) return undefined;
  const former = path.dirname(storage);
  return isWorkspace(former) ? undefined : former;
}

/** Binds the folder to this path. Throws `write_failed`. */
export async function rebind(folder: string, root: string): Promise<void> {
  await rm(path.join(folder, LINK), { force: true });
  await linkBack(folder, path.join(root, ".jp"));
}

function partOfClone(folder: string, root: string): string {
  return path.join(folder, "clones", pathDigest(realpathSync(root)));
}

function pathDigest(real: string): string {
  const { createHash } = process.getBuiltinModule("node:crypto"); // Slow to load at start-up.
  return createHash("sha256").update(real).digest("hex").slice(0, 16);
}

/**
 * The roots of the workspaces in the user's data folder that still exist, and the folders in which jp was used without
 * one. Clones and worktrees share a folder, which knows only the root it was created for.
 */
export function knownWorkspaces(environment: UserEnvironment): readonly string[] {
  const data = userDataFolder(environment);
  return [
    ...rootsIn(workspacesIn(data)).filter(isWorkspace),
    ...rootsIn(plainFoldersIn(data)).filter((root) => existsSync(root)),
  ];
}

function rootsIn(parent: string): readonly string[] {
  return listFolders(parent).flatMap((name) => {
    const storage = findLink(path.join(parent, name, LINK));
    return storage === undefined ? [] : [path.dirname(storage)];
  });
}

/** Whether a workspace still exists at this path. */
export function isWorkspace(root: string): boolean {
  return existsSync(path.join(root, ".jp"));
}

function findLink(file: string): string | undefined {
  try {
    return readlinkSync(file);
  } catch {
    return undefined;
  }
}

/** Creates the folder if it is missing. Throws `write_failed`. */
export async function ensureWorkspaceData(
  dataFolder: string,
  name: WorkspaceName,
): Promise<string> {
  const found = findWorkspaceData(dataFolder, name);
  if (found !== undefined) {
    const isBound = findLink(path.join(found, LINK)) !== undefined;
    if (!isBound) await linkBack(found, path.join(name.root, ".jp"));
    return found;
  }
  const folder = path.join(workspacesIn(dataFolder), folderNameOf(name.id, name.root));
  const kept = findFolderData(dataFolder, name.root);
  if (kept === undefined) await makeUserFolder(folder);
  else await moveFolderData(kept, folder);
  await linkBack(folder, path.join(name.root, ".jp"));
  return folder;
}

/** The user's home may be read-only, as in a container. Throws `write_failed`. */
async function makeUserFolder(folder: string): Promise<void> {
  try {
    await makeFolder(folder, OWNER_FOLDER);
  } catch (error) {
    const hint = "Check its owner and permissions, or set JP_USER_DATA_DIR to another folder.";
    throw new StorageError("write_failed", messageOf(error), { cause: error, hint });
  }
}

function folderNameOf(id: string, root: string): string {
  return `${path.basename(root)}-${id}`;
}

/** Links to the workspace that this folder belongs to. */
async function linkBack(folder: string, storage: string): Promise<void> {
  try {
    await symlink(storage, path.join(folder, LINK), "junction"); // Other links need a privilege on Windows.
  } catch (error) {
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
