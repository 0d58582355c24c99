/** Puts together everything that is kept of a workspace. */
import { type Clock, findProgram } from "../../util/index.ts";
import type { ConversationStore, RecordFiles, SessionStore } from "../port.ts";
import type { OpenFile } from "./event-file.ts";
import { Flock } from "./flock.ts";
import { FsConversationStore } from "./fs-store.ts";
import { FsSessionStore } from "./session-file.ts";
import { findSessionId } from "./session-id.ts";
import {
  ensureWorkspaceData,
  findWorkspaceData,
  isDataOf,
  type UserEnvironment,
  userDataFolder,
} from "./user-data.ts";
import {
  ensureWorkspaceId,
  findWorkspaceId,
  findWorkspaceRoot,
  storageFolder,
} from "./workspace-folder.ts";

/** A folder with a `.jp` folder in it, and everything that is kept for it. */
export interface Workspace {
  readonly root: string;
  readonly conversations: ConversationStore;
  readonly files: RecordFiles;
  readonly session: SessionStore;
  /** Undefined until something is kept for it. */
  findId(): string | undefined;
  /** The user's own folder for this workspace; undefined until something is kept there. */
  findUserFolder(): string | undefined;
  /** The same, made if it is missing. */
  ensureUserFolder(): Promise<string>;
  /** Whether that folder was made for this place, and not for another workspace of the same id. */
  ownsUserFolder(): boolean;
}

/** Where the workspace is, and what is to be known of the process and its user. */
export interface OpenWorkspaceOptions {
  /** Anywhere inside the workspace. */
  readonly from: string;
  /** Tells where the user's own data is, and which session this is. */
  readonly environment: UserEnvironment;
  readonly clock: Clock;
  /** Of this process: its locks name it. */
  readonly pid: number;
  /** Told what does not work as it should, and is no reason to stop. */
  readonly onWarning?: (message: string) => void;
  /** Other than by the system, in tests. */
  readonly openFile?: OpenFile;
}

/** Writes nothing until something is written to. Throws `no_workspace`. */
export function openWorkspace(options: OpenWorkspaceOptions): Workspace {
  const { environment, clock, pid, openFile } = options;
  const root = findWorkspaceRoot(options.from);
  const data = userDataFolder(environment);
  const session = findSessionId(environment.variables);
  const findUserFolder = () => {
    const id = findWorkspaceId(root);
    return id === undefined ? undefined : findWorkspaceData(data, { id, root });
  };
  const ensureUserFolder = async () =>
    ensureWorkspaceData(data, { id: await ensureWorkspaceId(root, clock), root });
  const flock = findFlock(options);
  const conversations = new FsConversationStore({
    storage: storageFolder(root),
    findUserFolder,
    ensureUserFolder,
    clock,
    pid,
    ...(session !== undefined && { session: session.id }),
    ...(openFile !== undefined && { openFile }),
    ...(flock !== undefined && { flock }),
  });
  const sessions = new FsSessionStore({ session, findUserFolder, ensureUserFolder, clock });
  return {
    root,
    conversations,
    files: conversations,
    session: sessions,
    findId: () => findWorkspaceId(root),
    findUserFolder,
    ownsUserFolder: () => {
      const folder = findUserFolder();
      return folder !== undefined && isDataOf(folder, root);
    },
    ensureUserFolder,
  };
}

/** Only on Linux is the lock of the Rust original another one than ours. */
function findFlock({ environment, onWarning }: OpenWorkspaceOptions): Flock | undefined {
  if (environment.platform !== "linux") return undefined;
  return new Flock({
    findProgram: () => findProgram("flock", environment.variables["PATH"]),
    ...(onWarning !== undefined && { onFailure: onWarning }),
  });
}
