/** Storage errors, and the conversion of system errors. */
import type { ConversationId } from "../record/conversation/index.ts";
import { JpError, systemErrorCode } from "../util/index.ts";
import type { RecordProblem } from "./port.ts";

/** The codes of a `StorageError`. */
export type StorageErrorCode =
  | "conversation_not_found"
  | "conversation_exists"
  | "conversation_locked"
  | "conversation_archived"
  | "record_damaged"
  | "invalid_record"
  | "record_changed"
  | "not_loaded"
  | "write_failed"
  | "read_failed"
  | "invalid_store"
  | "no_files"
  | "no_local"
  | "store_unreachable"
  | "store_package_missing"
  | "store_not_migrated"
  | "store_too_new"
  | "store_busy"
  | "store_full"
  | "invalid_role"
  | "no_notifications"
  | "store_denied"
  | "too_many_turns"
  | "turn_stepped_back"
  | "no_session"
  | "no_workspace"
  | "foreign_workspace"
  | "workspace_moved"
  | "workspace_exists"
  | "workspace_id_damaged"
  | "workspace_claimed"
  | "other_workspace"
  | "workspace_unnamed";

/** A conversation, session, store or workspace cannot be read or written. */
export class StorageError extends JpError<StorageErrorCode> {}

/** The holder of a conversation that this process already has open. */
export const THIS_PROCESS = "this process";

/** A conversation is open for writing elsewhere. */
export class LockedError extends StorageError {
  /** Its holder: `process 123`, or `this process`. */
  readonly holder: string;

  constructor(id: ConversationId, holder: string, since = "") {
    const hint =
      holder === THIS_PROCESS
        ? "Use the writer that has it open, or release that first."
        : "Wait for it to finish, or use another conversation.";
    super("conversation_locked", `Conversation ${id} is in use by ${holder}${since}.`, { hint });
    this.holder = holder;
  }
}

/** A path leads to something jp refuses to open, such as a symbolic link. */
export class UnsafePathError extends Error {
  override readonly name = "UnsafePathError";
}

/** Thrown by a store for an unknown id. */
export function conversationNotFoundError(id: ConversationId): StorageError {
  return new StorageError("conversation_not_found", `Conversation ${id} not found.`, {
    commandHint: "`jp conversation ls` lists them; add --archived for archived ones.",
  });
}

/** Thrown by a store for a write to an archived conversation. */
export function archivedError(id: ConversationId): StorageError {
  return new StorageError("conversation_archived", `Conversation ${id} is archived.`, {
    hint: "Unarchive it first.",
    commandHint: `Unarchive it first: jp conversation unarchive ${id}`,
  });
}

/** Why a turn is not the user's own although an accepted key has signed it: see `ConversationWriter.steppedBack`. */
export function steppedBackError(id: string): StorageError {
  return new StorageError(
    "turn_stepped_back",
    `The last turn of ${id} is older than the state that this machine has seen: someone has put it back, or the ` +
      "database was restored from a backup.",
    {
      hint: "What was approved in it may have been used already.",
      commandHint:
        "What was approved in it may have been used already. If a backup was restored, run `jp store accept-restore` " +
        "on a terminal.",
    },
  );
}

/** Thrown by the target store of a copy. */
export function conversationExistsError(id: ConversationId): StorageError {
  return new StorageError(
    "conversation_exists",
    `Another conversation ${id} is there already, or it has changed since it was copied.`,
    { hint: "Nothing was overwritten. Remove one of the two, and copy again." },
  );
}

export function noFreeIdError(tried: number): StorageError {
  return new StorageError(
    "conversation_locked",
    `Cannot create a conversation: ${tried} consecutive ids are locked by other processes.`,
    { hint: "Try again." },
  );
}

/** Thrown for operations that need a workspace. */
export function noWorkspaceError(folder: string): StorageError {
  return new StorageError("no_workspace", `${folder} is not a jp workspace.`, {
    commandHint: "Create one with `jp init`, or select one with --workspace.",
  });
}

export function recordChangedError(file: string): StorageError {
  return new StorageError("record_changed", `${file} was changed by another program.`, {
    hint: "Nothing was written. Edit it again.",
  });
}

/** Thrown for entries that nobody has waited for. */
export function notLoadedError(): StorageError {
  return new StorageError(
    "not_loaded",
    "The conversation is open at its last turn, and its earlier entries have not been read yet.",
    { hint: "Await `stream.load?.()` before you use `stream.entries`, or open it without `only`." },
  );
}

export function damagedError(problem: RecordProblem): StorageError {
  return new StorageError("record_damaged", `${problem.file} is damaged: ${problem.message}.`, {
    hint: "jp does not write to damaged files: repair it in an editor.",
    commandHint:
      "jp does not write to damaged files. Run `jp conversation path` to find it, and repair it in an editor.",
  });
}

const REASONS: Readonly<Record<string, readonly [reason: string, hint: string]>> = {
  ENOSPC: [
    "the disk is full",
    "Free some space and try again. Everything recorded before is safe.",
  ],
  EDQUOT: ["the disk quota is exceeded", "Free some space and try again."],
  EFBIG: ["the file would become too large", "Start a new conversation."],
  EROFS: ["the file system is read-only", "Work on a copy, or make it writable."],
  EACCES: ["permission denied", "Check the owner and the permissions of the folder."],
  EPERM: ["not permitted", "Check the owner and the permissions of the folder."],
  ENOENT: ["it does not exist", "It may have been moved or deleted."],
  ENOTDIR: ["it does not exist", "It may have been moved or deleted."],
  EISDIR: ["it is a folder", "Replace it with a file."],
  EIO: ["the disk reported an error", "Check the disk before you continue."],
};

const UNSAFE_HINT =
  "Replace it with a regular file or folder. A link in a cloned project could expose your own files.";

/** Returns a `StorageError` unchanged. */
export function writeError(file: string, cause: unknown): StorageError {
  if (cause instanceof StorageError) return cause;
  const { reason, ...hint } = explain(cause);
  return new StorageError("write_failed", `Cannot write ${file}: ${reason}.`, { cause, ...hint });
}

export function readError(file: string, cause: unknown): StorageError {
  if (cause instanceof StorageError) return cause;
  const { reason, ...hint } = explain(cause);
  return new StorageError("read_failed", `Cannot read ${file}: ${reason}.`, { cause, ...hint });
}

/** Undefined if the file does not exist. Throws `read_failed`. */
export function readIfThere<Value>(file: string, read: () => Value): Value | undefined {
  try {
    return read();
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return undefined;
    throw readError(file, error);
  }
}

function explain(cause: unknown): { readonly reason: string; readonly hint?: string } {
  if (cause instanceof UnsafePathError) return { reason: cause.message, hint: UNSAFE_HINT };
  const [reason, hint] = REASONS[systemErrorCode(cause) ?? ""] ?? [];
  if (reason !== undefined && hint !== undefined) return { reason, hint };
  return { reason: cause instanceof Error ? cause.message : String(cause) };
}
