/** The extras of a workspace's store: the user's private conversations, the files of a record, and terminal sessions. */
import type { ConversationId } from "../record/conversation/index.ts";
import type { SeenState } from "./fs/seen-states.ts";
import type { SignedState } from "./signed-state.ts";
import type {
  ConversationStore,
  ConversationSummary,
  ConversationWriter,
  CreateOptions,
  ListOptions,
} from "./port.ts";

/** The conversations of a workspace: those in it, and the user's own. */
export interface WorkspaceStore extends ConversationStore {
  list(options?: ListOptions): Promise<WorkspaceSummary[]>;

  find(id: ConversationId): Promise<WorkspaceSummary | undefined>;

  create(options: WorkspaceCreateOptions): Promise<ConversationWriter>;

  /** Moves it to the user's own folder, or back to the workspace. Throws `conversation_locked`. */
  setLocal(id: ConversationId, isLocal: boolean): Promise<void>;

  /**
   * What was signed of the last turn, and what this machine has seen of it. Undefined if nothing is signed there, as in
   * files. Throws `conversation_not_found`, `read_failed`.
   */
  findSigned?(id: ConversationId): Promise<SignedTurn | undefined>;
}

/** The last turn of a conversation in a database. */
export interface SignedTurn {
  /** The name of the workspace: see `WorkspaceRows.name`. */
  readonly store: string;
  /** Its state, if an accepted key has signed it. */
  readonly signed?: SignedState;
  /** The newest state that this machine has signed or acted on. */
  readonly seen?: SeenState | undefined;
  /** States with which the user of this machine let newer ones go. */
  readonly restored: readonly SeenState[];
}

/** How a database knows the workspace that jp is in. */
export interface WorkspaceClaims {
  /**
   * The workspace in the database; undefined until something is stored. Throws `workspace_claimed`, `other_workspace`,
   * and what connecting throws.
   */
  findStored(): Promise<StoredWorkspace | undefined>;
  /**
   * Has `.jp/.store-id` name the workspace from now on, and clones without it refused. `isOther`: what the database has
   * under the same `.jp/.id` belongs to another repository, and this one gets a workspace of its own. Throws the same,
   * `workspace_unnamed` if the config names the workspace, and `write_failed`.
   */
  claim(isOther: boolean): Promise<ClaimedWorkspace>;
}

/** A workspace in a database. */
export interface StoredWorkspace {
  /** For lists, and for `storage.workspace`. */
  readonly name: string;
  /** It goes by the five digits of `.jp/.id`, which another repository may have as well. */
  readonly isUnclaimed: boolean;
}

/** `created`: it has nothing yet. `known`: it had been claimed with this clone's id before. */
export interface ClaimedWorkspace {
  readonly type: "created" | "claimed" | "known";
  readonly name: string;
}

/** The workspaces of one tenant of a shared database. */
export interface Tenant {
  /** The names of the workspaces that have data. Throws `store_unreachable`, `store_not_migrated`, `store_too_new`. */
  list(): Promise<readonly string[]>;
  /** The conversations of one workspace, which need not exist yet. */
  open(workspace: string): ConversationStore;
  readonly people: PeopleTable;
  readonly sessions: SessionTable;
  /** In all workspaces. Throws `read_failed`, and the same as `list`. */
  findSteppedBack(): Promise<readonly SteppedBackTurn[]>;
  /**
   * Lets go of what this machine has seen of the turn since, and records that, with the OS user. Returns false if someone
   * has the conversation open, or its turn has changed since. Throws the same as `findSteppedBack`.
   */
  acceptSteppedBack(turn: SteppedBackTurn, by: string): Promise<boolean>;
  /** Closes the connections, including those of the stores. */
  close(): Promise<void>;
}

/** A turn whose state is older than one that this machine has seen: see `ConversationWriter.steppedBack`. */
export interface SteppedBackTurn {
  /** The name of its workspace. */
  readonly workspace: string;
  readonly conversation: ConversationId;
  /** The counter of its signed state. */
  readonly counter: number;
  /** The newest state that this machine has seen. */
  readonly seen: SeenState;
}

/** The people of a tenant, in the order they were added. */
export interface PeopleTable {
  /**
   * The people as last loaded; the same array until one of them changes. After the first load, changes by any process
   * are picked up within a moment.
   */
  read(): readonly PersonRow[];
  /**
   * Resolves once `read` returns the current data, or data at most this many milliseconds old. Throws
   * `store_unreachable`, `store_not_migrated`, `store_too_new`.
   */
  load(maxAgeMs?: number): Promise<void>;
  /**
   * Makes one change at a time, across processes. `change` gets the ids of everyone who was removed, and returns
   * undefined if there is nothing to do. It may be called again if the connection was lost. Throws what it throws, and
   * the same as `load`.
   */
  change(
    change: (
      people: readonly PersonRow[],
      removed: ReadonlySet<string>,
    ) => PeopleChange | undefined,
  ): Promise<void>;
  /** The log of changes, or of those to one person, oldest first, as JSON. Throws the same as `load`. */
  readLog(personId?: string): Promise<readonly string[]>;
}

/** People after a change, and the entry that is logged in the same transaction. */
export interface PeopleChange {
  readonly people: readonly PersonRow[];
  readonly entry?: PeopleLogRow;
}

/** An entry of the log of changes to people. It is never changed or deleted. */
export interface PeopleLogRow {
  readonly personId: string;
  /** A code: `person_removed` prevents the person's id from being assigned again. */
  readonly what: string;
  /** JSON. */
  readonly entry: string;
}

/** A stored person. */
export interface PersonRow {
  /** Unique. */
  readonly name: string;
  /** JSON. */
  readonly person: string;
}

/** The logged-in sessions at the desks of a tenant. All methods throw `store_unreachable`. */
export interface SessionTable {
  find(key: string): Promise<SessionRow | undefined>;
  start(session: SessionRow, ended: EndedSessions): Promise<void>;
  /** Does nothing if it has ended, or was used after `before`. */
  use(key: string, times: { readonly now: number; readonly before: number }): Promise<void>;
  end(key: string): Promise<void>;
}

/** A session at a desk. Times are in milliseconds since 1970. */
export interface SessionRow {
  readonly key: string;
  readonly who: string;
  readonly startedAt: number;
  readonly usedAt: number;
}

/** Sessions that end when another one starts. */
export interface EndedSessions {
  readonly keys: readonly string[];
  readonly startedBefore: number;
  readonly usedBefore: number;
  /** How many sessions the same person keeps besides the new one: the most recently used. */
  readonly kept: number;
}

/** One conversation in a list. */
export interface WorkspaceSummary extends ConversationSummary {
  /** In the workspace, in the user's own folder, or in both. */
  readonly place: "workspace" | "local" | "both";
}

/** The initial contents of a conversation, and its place. */
export interface WorkspaceCreateOptions extends CreateOptions {
  /** Store it in the user's own folder, not in the workspace. */
  readonly isLocal?: boolean;
}

/** Which conversation is active in this terminal session, and which were before. */
export interface SessionStore {
  /** Most recent first. Empty if there is no session. */
  history(): Promise<readonly ConversationId[]>;
  /** Throws `no_session` if the terminal session cannot be identified. */
  activate(id: ConversationId): Promise<void>;
}

/** The files behind a record, for users who want to view or edit them. A database has their text, but no files. */
export interface RecordFiles {
  /** The files that jp reads. Throws `conversation_not_found`, `no_files`. */
  paths(id: ConversationId): RecordPaths;

  /** The location of a file, for display: its path, or a stand-in. Throws `conversation_not_found`. */
  nameOf(id: ConversationId, file: RecordFile | "folder"): string;

  /** Undefined if it does not exist. Throws `conversation_not_found`, `read_failed`. */
  read(id: ConversationId, file: RecordFile): Promise<string | undefined>;

  /**
   * Replaces the text of a file after validating it. Throws `invalid_record` with the reason,
   * `conversation_locked`, and `record_changed` if the file no longer contains the old text.
   */
  replace(id: ConversationId, file: RecordFile, edit: FileEdit): Promise<void>;
}

/** The text of a file before and after an edit. */
export interface FileEdit {
  readonly before: string;
  readonly after: string;
}

/** One of the files of a record. */
export type RecordFile = "events" | "metadata" | "baseConfig";

/** The paths of a record's files. */
export interface RecordPaths {
  readonly folder: string;
  readonly events: string;
  readonly metadata: string;
  readonly baseConfig: string;
}
