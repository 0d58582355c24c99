/** Errors that a model can act on: what was not done, why, and what to do instead. */
export class Refusal extends Error {
  override readonly name = "Refusal";
}

/** What the system said, in words. Refusals, and what is no error of the system, stay as they are. */
export function explainFailure(action: string, shown: string, error: unknown): Error {
  const code = systemCode(error);
  if (code === undefined || code === "ABORT_ERR") {
    return error instanceof Error ? error : new Error(String(error));
  }
  return new Refusal(`Cannot ${action} ${shown}: ${REASONS[code] ?? code}.`);
}

export function changedMeanwhile(shown: string): Refusal {
  return new Refusal(
    `${shown} changed meanwhile, and nothing was done to it. Look at it again before you retry.`,
  );
}

export function notThere(shown: string): Refusal {
  return new Refusal(`${shown} does not exist. fs_list_files shows what is there.`);
}

/** The code of a system error, if it is one. */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || error instanceof Refusal) return undefined;
  return "code" in error && typeof error.code === "string" ? error.code : undefined;
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "it does not exist",
  ENOTDIR: "a part of its path is not a folder",
  EISDIR: "it is a folder",
  EEXIST: "something of that name exists already",
  EACCES: "permission denied",
  EPERM: "not permitted",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EFBIG: "the file would become too large",
  ENAMETOOLONG: "its name is too long",
  ELOOP: "a symbolic link is in the way",
  EMLINK: "a symbolic link is in the way",
  ENXIO: "it is not a regular file",
  ETXTBSY: "it is a program that is running",
  EBUSY: "it is in use",
  EIO: "the disk reported an error",
};
