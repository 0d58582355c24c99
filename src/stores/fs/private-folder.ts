/** A folder of the user that no one else may read or write: trust, markers, local conversations. */
import { chmodSync, statSync } from "node:fs";
import { systemErrorCode } from "../../util/index.ts";
import { readError, UnsafePathError } from "../storage-error.ts";

/** The mode of the user's folders. */
export const OWNER_FOLDER = 0o700;
/** The mode of the user's files. */
export const OWNER_FILE = 0o600;

/**
 * Removes other users' access to the folder, left by an earlier version or a loose umask. Does nothing if it does not
 * exist. Throws `read_failed` if it belongs to another user. On Windows, Node shows neither owners nor modes.
 */
export function securePrivateFolder(folder: string): void {
  const user = process.geteuid?.();
  const stats = statSync(folder, { throwIfNoEntry: false });
  if (user === undefined || stats === undefined) return;
  if (stats.uid !== user) {
    throw readError(folder, new UnsafePathError("it belongs to another user"));
  }
  if ((stats.mode & 0o077) === 0) return;
  try {
    chmodSync(folder, stats.mode & OWNER_FOLDER);
  } catch (error) {
    // A read-only folder can still be read.
    if (systemErrorCode(error) !== "EROFS") throw readError(folder, error);
  }
}
