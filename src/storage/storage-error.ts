/** The errors of a storage, and how the system's own become ours. */
import type { ConversationId } from "../conversation/index.ts";
import { CodedError } from "../util/index.ts";

/** The codes of a `StorageError`. */
export type StorageErrorCode =
  | "conversation_not_found"
  | "conversation_locked"
  | "conversation_archived"
  | "record_damaged"
  | "invalid_record"
  | "record_changed"
  | "write_failed"
  | "read_failed"
  | "no_session"
  | "no_workspace"
  | "workspace_exists";

/** A record that cannot be read or written. */
export class StorageError extends CodedError<StorageErrorCode> {}

/** What stands in the place of a record is nothing that jp opens. */
export class UnsafePathError extends Error {
  override readonly name = "UnsafePathError";
}

export function notFoundError(id: ConversationId): StorageError {
  return new StorageError("conversation_not_found", `There is no conversation ${id}.`, {
    hint: "`jp conversation ls` lists them; `jp conversation ls --archived` those put away.",
  });
}

export function archivedError(id: ConversationId): StorageError {
  return new StorageError("conversation_archived", `Conversation ${id} is archived.`, {
    hint: `Bring it back first: jp conversation unarchive ${id}`,
  });
}

export function noFreeIdError(tried: number): StorageError {
  return new StorageError(
    "conversation_locked",
    `Cannot start a conversation: ${tried} ids in a row are locked by other processes.`,
    { hint: "Try again. If no other jp is running, check that the command `flock` works." },
  );
}

export function recordChangedError(file: string): StorageError {
  return new StorageError("record_changed", `${file} was changed by somebody else meanwhile.`, {
    hint: "Nothing was written. Edit it again.",
  });
}

const REASONS: Readonly<Record<string, readonly [reason: string, hint: string]>> = {
  ENOSPC: ["the disk is full", "Free some space and try again; nothing recorded before is lost."],
  EDQUOT: ["the disk quota is used up", "Free some space and try again."],
  EFBIG: ["the file would become too large", "Start a new conversation."],
  EROFS: ["the file system is read-only", "Work on a copy, or make it writable."],
  EACCES: ["permission denied", "Check the owner and the permissions of the folder."],
  EPERM: ["not permitted", "Check the owner and the permissions of the folder."],
  ENOENT: ["it is not there", "`jp conversation path` shows where it should be."],
  ENOTDIR: ["it is not there", "`jp conversation path` shows where it should be."],
  EISDIR: ["it is a folder", "`jp conversation path` shows where it is."],
  EIO: ["the disk reported an error", "Check the disk before going on."],
};

const UNSAFE_HINT =
  "Replace it with a regular file or folder. A link in a cloned project could expose files of yours.";

/** An error that is ours already says enough. */
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

/** The code of a system error, if it is one. */
export function systemErrorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string"
    ? error.code
    : undefined;
}

function explain(cause: unknown): { readonly reason: string; readonly hint?: string } {
  if (cause instanceof UnsafePathError) return { reason: cause.message, hint: UNSAFE_HINT };
  const [reason, hint] = REASONS[systemErrorCode(cause) ?? ""] ?? [];
  if (reason !== undefined && hint !== undefined) return { reason, hint };
  return { reason: cause instanceof Error ? cause.message : String(cause) };
}
