/**
 * The programs that jp runs for itself, by their absolute paths. In `PATH`, an empty or relative entry
 * means the current folder, and that may be a clone with a program of the same name in it.
 */
/** Where systems keep theirs; the last two are those of NixOS and Guix. */
const STANDARD_FOLDERS = [
  "/usr/bin",
  "/bin",
  "/run/current-system/sw/bin",
  "/run/current-system/profile/bin",
];

/** Looks in the absolute folders of `searchPath`; without one, where systems keep their programs. */
export function findProgram(name: string, searchPath?: string): string | undefined {
  const folders = searchPath === undefined ? STANDARD_FOLDERS : absoluteFolders(searchPath);
  const path = process.getBuiltinModule("node:path");
  return folders.map((folder) => path.join(folder, name)).find(isProgram);
}

/** The same `PATH` without the entries that depend on the current folder. Never empty: that means it, too. */
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
