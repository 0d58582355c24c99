/** Errors of the file tools, worded so that a model can act on them: what failed, why, what to do. */
import { systemErrorCode } from "../../util/index.ts";

/** The message is a sentence for a model or a person. */
export class FileError extends Error {
  override readonly name = "FileError";
}

/** Words a system error. File errors and all others stay as they are. */
export function toFileError(action: string, displayPath: string, error: unknown): Error {
  const code = systemErrorCode(error);
  if (code === undefined || code === "ABORT_ERR") {
    return error instanceof Error ? error : new Error(String(error));
  }
  return new FileError(`Cannot ${action} ${displayPath}: ${REASONS[code] ?? code}.`);
}

export function fileChangedError(displayPath: string): FileError {
  return new FileError(
    `${displayPath} changed in the meantime and was left as it is. Look at it again before you retry.`,
  );
}

export function notFoundError(displayPath: string): FileError {
  return new FileError(
    `${displayPath} does not exist. Use fs_list_files to see which files exist.`,
  );
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "it does not exist",
  ENOTDIR: "part of its path is not a folder",
  EISDIR: "it is a folder",
  EEXIST: "it already exists",
  EACCES: "permission denied",
  EPERM: "operation not permitted",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is exceeded",
  EFBIG: "the file would be too large",
  ENAMETOOLONG: "its name is too long",
  ELOOP: "its path contains a symbolic link that cannot be followed",
  EMLINK: "its path contains a symbolic link that cannot be followed",
  ENXIO: "it is not a regular file",
  ETXTBSY: "it is a program that is running",
  EBUSY: "it is in use",
  EIO: "the disk reported an error",
};
