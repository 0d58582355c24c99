/**
 * Finds programs by name. For those that jp runs for itself, relative entries of `PATH` are ignored: they refer to the
 * current folder, which may be a clone with a program of the same name.
 */

/** The systems' program folders; the last two belong to NixOS and Guix. */
const STANDARD_FOLDERS = [
  "/usr/bin",
  "/bin",
  "/run/current-system/sw/bin",
  "/run/current-system/profile/bin",
];

/** Searches the absolute folders of `searchPath`; without one, the system's own folders. */
export function findProgram(name: string, searchPath?: string): string | undefined {
  const folders = searchPath === undefined ? STANDARD_FOLDERS : absoluteFolders(searchPath);
  const path = process.getBuiltinModule("node:path");
  return folders.map((folder) => path.join(folder, name)).find(isProgram);
}

export interface SearchPlaces {
  readonly cwd: string;
  readonly searchPath: string | undefined;
}

/** The C library's default without a `PATH`. */
const DEFAULT_PATH = "/bin:/usr/bin";

/**
 * The file that the system would run for a user's command, including relative entries of `PATH`. An empty entry is the
 * current folder.
 */
export function resolveProgram(
  command: string,
  { cwd, searchPath = DEFAULT_PATH }: SearchPlaces,
): string | undefined {
  const path = process.getBuiltinModule("node:path");
  const folders = command.includes(path.sep) ? [""] : searchPath.split(path.delimiter);
  return folders.map((folder) => path.resolve(cwd, folder, command)).find(isProgram);
}

/** Removes relative entries from a `PATH`. Never empty, because that would mean the current folder. */
export function withoutRelativeFolders(searchPath: string | undefined): string {
  const folders = absoluteFolders(searchPath ?? "");
  const { delimiter } = process.getBuiltinModule("node:path");
  return (folders.length === 0 ? STANDARD_FOLDERS : folders).join(delimiter);
}

function absoluteFolders(searchPath: string): readonly string[] {
  const path = process.getBuiltinModule("node:path");
  return searchPath.split(path.delimiter).filter((folder) => path.isAbsolute(folder));
}

function isProgram(file: string): boolean {
  const { accessSync, constants, statSync } = process.getBuiltinModule("node:fs");
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
