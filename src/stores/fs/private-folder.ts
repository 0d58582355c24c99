/** A folder of the user, whose content no one else may read or have written: trust, markers, local conversations. */
import { chmodSync, statSync } from "node:fs";
import { systemErrorCode } from "../../util/index.ts";
import { readError, UnsafePathError } from "../storage-error.ts";

/** The mode of the user's folders. */
export const OWNER_FOLDER = 0o700;
/** The mode of the user's files. */
export const OWNER_FILE = 0o600;

/**
 * Takes the rights of others to the folder away, which an earlier version or a loose umask has left. Does nothing if it
 * does not exist. Throws `read_failed` if it belongs to another user. Windows has neither owners nor modes that Node could
 * show.
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
    // What cannot be changed can still be read.
    if (systemErrorCode(error) !== "EROFS") throw readError(folder, error);
  }
}
