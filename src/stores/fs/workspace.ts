/** Finds, creates and opens a workspace: a folder with a `.jp` folder in it. */
import { existsSync, realpathSync, statSync } from "node:fs";
import path from "node:path";
import { type Clock, loaderOf, shellWord } from "../../util/index.ts";
import { DatabaseWorkspaceStore } from "../postgres/workspace-store.ts";
import type { PostgresStoreOptions, WorkspaceFiles } from "../postgres/store-options.ts";
import type { PortableStore } from "../portable.ts";
import { StorageError } from "../storage-error.ts";
import type {
  RecordFiles,
  SessionStore,
  WorkspaceClaims,
  WorkspaceStore,
} from "../workspace-port.ts";
import { findFile } from "./conversation-files.ts";
import { WORKSPACE_FOLDER } from "./conversation-folders.ts";
import { makeFolder, writeDurably } from "./durable.ts";
import type { OpenFile } from "./event-file.ts";
import { FsWorkspaceStore } from "./fs-workspace-store.ts";
import { securePrivateFolder } from "./private-folder.ts";
import { assertNotLink } from "./safe-open.ts";
import { findSessionId, FsSessionStore } from "./sessions.ts";
import {
  ensureWorkspaceData,
  findWorkspaceData,
  belongsToWorkspace,
  ensureFolderData,
  ensureOwnPart,
  findFolderData,
  findFormerRoot,
  findKnownIds,
  findOwnPart,
  headsFileIn,
  plainFoldersIn,
  rebind,
  userDataFolder,
  type UserEnvironment,
  workspacesIn,
} from "./user-data.ts";

/** An open workspace and its stores. */
export interface Workspace {
  readonly root: string;
  /**
   * A folder without a `.jp`, whose conversations are in the user's own folder. Nothing is read from it or written to
   * it.
   */
  readonly isPlainFolder: boolean;
  readonly conversations: WorkspaceStore;
  readonly files: RecordFiles;
  readonly session: SessionStore;
  /** Undefined with files. */
  readonly claims: WorkspaceClaims | undefined;
  /** Opens its conversations for copying to and from other stores. */
  openPortable(): Promise<PortableStore>;
  /** Undefined until something is stored. */
  findId(): string | undefined;
  /** The user's own folder for this workspace. Undefined until something is stored there. */
  findUserFolder(): string | undefined;
  /** Like `findUserFolder`, but creates it if missing. */
  ensureUserFolder(): Promise<string>;
  /**
   * The former path of the workspace, if it seems to have been moved. Until `adopt` is called, its local conversations
   * and sessions are not used or extended (`workspace_moved`).
   */
  findFormerRoot(): string | undefined;
  /**
   * With true, this path takes over the local conversations and sessions of the former one. With false, it gets its
   * own.
   */
  adopt(isMoved: boolean): Promise<void>;
  /** Whether the user's folder was created for this path, not for another workspace with the same id. */
  ownsUserFolder(): boolean;
}

/** The location of the workspace, and facts about the process and its user. */
export interface OpenWorkspaceOptions {
  /** Any path inside the workspace. */
  readonly from: string;
  /** Determines the user's data folder and the terminal session. */
  readonly environment: UserEnvironment;
  readonly clock: Clock;
  /** The id of this process, written to its locks. */
  readonly pid: number;
  /** If there is no workspace, opens the folder itself, and keeps its conversations in the user's own folder. */
  readonly allowsPlainFolder?: boolean;
  /**
   * False leaves out the user's own conversations: clones share them, so only one of several open clones should have
   * them.
   */
  readonly hasLocal?: boolean;
  /** Keeps its conversations in a database. Everything else of the workspace and the user stays in files. */
  readonly database?: DatabaseOptions;
  /** Replaced in tests. */
  readonly openFile?: OpenFile;
}

/** The database that a workspace keeps its conversations in. */
export interface DatabaseOptions extends Pick<
  PostgresStoreOptions,
  "url" | "tenant" | "keys" | "connecting"
> {
  /** Overrides what the files of the workspace say. */
  readonly workspace?: string;
  /** Called when a new workspace got its `.jp/.store-id`, which other clones need. Must not throw. */
  readonly onStoreId?: () => void;
}

/**
 * Does not write anything by itself. Throws `no_workspace`, `foreign_workspace` if it belongs to another user, and
 * `workspace_id_damaged`.
 */
export function openWorkspace(options: OpenWorkspaceOptions): Workspace {
  const { environment, clock, pid, hasLocal = true, openFile } = options;
  const isPlainFolder = options.allowsPlainFolder === true && isOutside(options.from);
  const root = isPlainFolder ? path.resolve(options.from) : findWorkspaceRoot(options.from);
  if (!isPlainFolder) assertOwnWorkspace(root, environment.variables);
  const data = userDataFolder(environment);
  const session = findSessionId(environment.variables);
  const user = isPlainFolder ? openFolderData(root, data) : openUserFolder(root, data, options);
  user.findId(); // Otherwise a command that needs no id would seem to find an empty workspace.
  const conversations =
    options.database === undefined
      ? new FsWorkspaceStore({
          storage: path.join(root, WORKSPACE_FOLDER),
          userFolder: user,
          hasLocal,
          isLocalOnly: isPlainFolder,
          environment,
          clock,
          pid,
          ...(session !== undefined && { session: session.id }),
          ...(openFile !== undefined && { openFile }),
        })
      : openDatabase(options.database, options, { root, user, isPlainFolder });
  const sessions = new FsSessionStore({
    session,
    findUserFolder: user.findOwn,
    ensureUserFolder: user.ensureOwn,
    clock,
  });
  return {
    root,
    isPlainFolder,
    conversations,
    files: conversations,
    claims: conversations instanceof DatabaseWorkspaceStore ? conversations : undefined,
    openPortable: async () => conversations.openPortable(),
    session: sessions,
    findId: user.findId,
    findUserFolder: user.find,
    ownsUserFolder: () => {
      const folder = user.find();
      return folder !== undefined && belongsToWorkspace(folder, root);
    },
    ensureUserFolder: user.ensure,
    findFormerRoot: user.findFormer,
    adopt: async (isMoved) => {
      const folder = await user.ensure();
      if (isMoved) await rebind(folder, root);
      else await ensureOwnPart(folder, root);
    },
  };
}

function openDatabase(
  database: DatabaseOptions,
  { clock, pid }: Pick<OpenWorkspaceOptions, "clock" | "pid">,
  place: {
    readonly root: string;
    readonly user: ReturnType<typeof openUserFolder>;
    readonly isPlainFolder: boolean;
  },
): DatabaseWorkspaceStore {
  const { root, user, isPlainFolder } = place;
  const { onStoreId, ...options } = database;
  const outside = () => {
    throw unnamedError(root);
  };
  const files: WorkspaceFiles = {
    root,
    findId: isPlainFolder ? outside : user.findId,
    ensureId: () => ensureWorkspaceId(root, { data: user.data, clock }),
    findStoreId: async () => (await loadStoreId()).findStoreId(root),
    ensureStoreId: async () => (await loadStoreId()).ensureStoreId(root),
    removeStoreId: async () => (await loadStoreId()).removeStoreId(root),
    onCreate: () => onStoreId?.(),
  };
  return new DatabaseWorkspaceStore({
    ...options,
    workspace: database.workspace ?? files,
    pid,
    ensurePrivateFolder: user.ensure,
    headsFile: headsFileIn(user.data),
    root,
  });
}

/** Files need no such id. */
const loadStoreId = loaderOf(() => import("./store-id.ts"));

/** The user's folder for the workspace, and the part of it for this path. */
function openUserFolder(
  root: string,
  data: string,
  { environment, clock }: Pick<OpenWorkspaceOptions, "environment" | "clock">,
) {
  const secured = new Set<string>();
  const findId = whileSame([path.join(root, WORKSPACE_FOLDER, ".id")], () =>
    findWorkspaceId(root, data),
  );
  const findFolder = whileSame(
    [path.join(root, WORKSPACE_FOLDER, ".id"), workspacesIn(data)],
    () => {
      const id = findId();
      return id === undefined ? undefined : findWorkspaceData(data, { id, root });
    },
  );
  /** Data from before this was a workspace. */
  const findKept = () => findFolderData(data, root);
  const find = () => {
    const folder = findFolder() ?? findKept();
    if (folder === undefined || secured.has(folder)) return folder;
    for (const each of [workspacesIn(data), folder]) securePrivateFolder(each);
    secured.add(folder);
    return folder;
  };
  const ensure = async () =>
    ensureWorkspaceData(data, { id: await ensureWorkspaceId(root, { data, clock }), root });
  const findFormer = () => {
    const folder = find();
    return folder === undefined ? undefined : findFormerRoot(folder, root);
  };
  return {
    findId,
    find,
    ensure,
    findFormer,
    findOwn: () => {
      const folder = find();
      return folder === undefined ? undefined : (findOwnPart(folder, root) ?? findKept());
    },
    ensureOwn: async () => {
      const former = findFormer();
      const isTrusted = isListedFolder(root, environment.variables["JP_TRUSTED_WORKSPACES"]);
      if (former !== undefined && !isTrusted) throw movedError(root, former);
      return ensureOwnPart(await ensure(), root, findKept());
    },
    parent: workspacesIn(data),
    data,
  };
}

const findNone = () => undefined;

/** Like `openUserFolder`, for a folder that is not a workspace. It has no id and is identified by its path. */
function openFolderData(root: string, data: string): ReturnType<typeof openUserFolder> {
  const parent = plainFoldersIn(data);
  const find = () => {
    const folder = findFolderData(data, root);
    if (folder !== undefined) for (const each of [parent, folder]) securePrivateFolder(each);
    return folder;
  };
  const ensure = () => ensureFolderData(data, root);
  return {
    findId: findNone,
    find,
    ensure,
    findFormer: findNone,
    findOwn: find,
    ensureOwn: ensure,
    parent,
    data,
  };
}

/** Caches a result until one of the files it depends on changes. */
function whileSame<Value>(files: readonly string[], find: () => Value): () => Value {
  let known: { readonly states: string; readonly value: Value } | undefined;
  return () => {
    const states = files.map(stateOf).join();
    if (known?.states !== states) known = { states, value: find() };
    return known.value;
  };
}

function stateOf(file: string): string {
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats === undefined ? "" : `${stats.ino} ${stats.size} ${stats.mtimeMs} ${stats.ctimeMs}`;
}

function movedError(root: string, former: string): StorageError {
  return new StorageError(
    "workspace_moved",
    `${root} has the id of a workspace that was at ${former}, whose sessions and local conversations are not used here.`,
    { commandHint: "Run `jp trust` on a terminal to say whether it was moved." },
  );
}

/** Reported, because otherwise the folder would seem empty. */
function unnamedError(folder: string): StorageError {
  return new StorageError(
    "no_workspace",
    `${folder} is not a jp workspace, so jp does not know which one to use in the database.`,
    {
      commandHint:
        "Run jp in a clone of the workspace, or set its name: storage.workspace in your own config, or JP_CFG_STORAGE_WORKSPACE.",
    },
  );
}

const ID_NOTE = "# The id of this workspace. Written by jp; do not edit.";

/** Whether the folder exists, and is in no workspace. Throws `read_failed` for a link. */
function isOutside(from: string): boolean {
  const isThere = statSync(from, { throwIfNoEntry: false })?.isDirectory() ?? false;
  return isThere && searchUpwards(from) === undefined;
}

function searchUpwards(from: string): string | undefined {
  for (let folder = path.resolve(from); ; folder = path.dirname(folder)) {
    if (isFolder(path.join(folder, WORKSPACE_FOLDER))) return folder;
    if (folder === path.dirname(folder)) return undefined;
  }
}

/** The nearest folder, upwards, with a `.jp` folder. Throws `no_workspace`, or `read_failed` for a link. */
export function findWorkspaceRoot(from: string): string {
  const found = searchUpwards(from);
  if (found !== undefined) return found;
  if (!existsSync(from)) {
    throw new StorageError("no_workspace", `There is no folder ${from}.`, {
      commandHint: "Select an existing one with --workspace.",
    });
  }
  throw new StorageError(
    "no_workspace",
    `No jp workspace found in ${from} or its parent folders.`,
    {
      commandHint: "Create one with `jp init`, or select one with --workspace.",
    },
  );
}

/**
 * Another user may have put it into a shared parent folder, such as `/tmp`. Under sudo, the calling user counts as
 * well. On Windows, Node shows no owners.
 */
function assertOwnWorkspace(root: string, variables: UserEnvironment["variables"]): void {
  const user = process.geteuid?.();
  if (user === undefined) return;
  const isOwn = (file: string) => {
    const { uid } = statSync(file);
    return uid === user || (user === 0 && String(uid) === variables["SUDO_UID"]);
  };
  if ([root, path.join(root, WORKSPACE_FOLDER)].every(isOwn)) return;
  const names = ["JP_SAFE_WORKSPACES", "JP_TRUSTED_WORKSPACES"];
  if (names.some((name) => isListedFolder(root, variables[name]))) return;
  throw new StorageError("foreign_workspace", `The workspace ${root} belongs to another user.`, {
    hint: `If you know whose it is, set JP_SAFE_WORKSPACES=${root}.`,
  });
}

/**
 * Whether the folder is one of those that a variable lists, or inside one. Relative ones are ignored: they could be
 * anywhere.
 */
export function isListedFolder(folder: string, list: string | undefined): boolean {
  const real = realpathSync(folder);
  return (list ?? "").split(path.delimiter).some((listed) => {
    if (!path.isAbsolute(listed) || !existsSync(listed)) return false;
    const relative = path.relative(realpathSync(listed), real);
    return relative.split(path.sep)[0] !== ".." && !path.isAbsolute(relative);
  });
}

/**
 * The last line of `.jp/.id`. Undefined if it is missing; only a writer creates it. `data`: the user's data folder, for
 * the hint. Throws `workspace_id_damaged`.
 */
export function findWorkspaceId(root: string, data: string): string | undefined {
  const file = path.join(root, WORKSPACE_FOLDER, ".id");
  const text = findFile(file)?.toString("utf8");
  if (text === undefined) return undefined;
  const id = text.trim().split("\n").at(-1)?.trim() ?? "";
  if (!/^[0-9a-z]{5}$/.test(id) || CONFLICT.test(text)) {
    throw damagedIdError(file, findKnownIds(data, root));
  }
  return id;
}

/** A line that a version control system leaves where it could not merge two versions. */
const CONFLICT = /^(?:<{7}|={7}|>{7}|\|{7})/m;

/** A new id would hide the user's own data for this workspace, so jp makes none. */
function damagedIdError(file: string, known: readonly string[]): StorageError {
  const message = `${file} is damaged: its last line has to be the id of the workspace.`;
  if (known.length === 0) {
    const hint =
      "Your data folder has no id for this path. Restore the file, for example with Git, or delete it to get a new id.";
    return new StorageError("workspace_id_damaged", message, { hint });
  }
  const hint = `Your data folder has ${known.length === 1 ? "this id" : "these ids"} for this path: ${known.join(", ")}.`;
  const commands = known.map((id) => `echo ${id} > ${shellWord(file)}`);
  return new StorageError("workspace_id_damaged", message, {
    hint,
    commandHint: `${hint} To put ${known.length === 1 ? "it" : "one"} back: ${commands.join(" or ")}`,
  });
}

/** Creates a missing id. Throws `workspace_id_damaged`, `write_failed`. */
export async function ensureWorkspaceId(
  root: string,
  { data, clock }: { readonly data: string; readonly clock: Clock },
): Promise<string> {
  return findWorkspaceId(root, data) ?? (await createWorkspaceId(root, clock));
}

/** Five base-36 digits of the time, like the Rust original. */
async function createWorkspaceId(root: string, clock: Clock): Promise<string> {
  const id = clock.now().getTime().toString(36).slice(-5).padStart(5, "0");
  await writeDurably(path.join(root, WORKSPACE_FOLDER, ".id"), Buffer.from(`${ID_NOTE}\n${id}`));
  return id;
}

/** Throws `workspace_exists`, `write_failed`. */
export async function createWorkspaceFolder(root: string, clock: Clock): Promise<string> {
  const folder = path.join(root, WORKSPACE_FOLDER);
  if (isFolder(folder)) {
    throw new StorageError("workspace_exists", `${root} is already a jp workspace.`, {
      hint: "Nothing was changed.",
    });
  }
  await makeFolder(folder);
  return createWorkspaceId(root, clock);
}

/** Throws `read_failed` for a link: data would end up at its target. */
function isFolder(file: string): boolean {
  const isThere = statSync(file, { throwIfNoEntry: false })?.isDirectory() ?? false;
  if (isThere) assertNotLink(file);
  return isThere;
}
