/**
 * Finds programs by name. Those that jp starts for itself never come from the workspace, where a command that a model wrote
 * could have put them.
 */

/** The systems' program folders; the last two belong to NixOS and Guix. They count as outside of every workspace. */
const SYSTEM_FOLDERS = [
  "/usr/bin",
  "/bin",
  "/run/current-system/sw/bin",
  "/run/current-system/profile/bin",
];

/** The `PATH` of programs that need only what every system has. */
export const SYSTEM_PATH = SYSTEM_FOLDERS.join(":");

/** A program that every system has, whatever the `PATH`. */
export function findSystemProgram(name: string): string | undefined {
  return programsIn(SYSTEM_FOLDERS, name).find(isProgram);
}

/** Where to look for a program of the user's that jp starts for itself. */
export interface OwnPlaces {
  /** The workspace, which never provides it. */
  readonly root: string;
  /** The user's `PATH`. */
  readonly searchPath: string | undefined;
}

/** A sandboxed command must not influence a later search, so each place is looked at once per process. */
const foundFolders = new Map<string, readonly string[]>();
const foundPrograms = new Map<string, string>();

/** Looks in the folders of `PATH` that `searchPathOutside` keeps. */
export function findProgram(name: string, places: OwnPlaces): string | undefined {
  const key = JSON.stringify([name, places.root, places.searchPath]);
  const known = foundPrograms.get(key);
  if (known !== undefined) return known;
  const isOutside = outsideOf(places.root);
  const found = programsIn(foldersOutside(places), name).find(
    (file) => isProgram(file) && isOutside(file),
  );
  if (found !== undefined) foundPrograms.set(key, found);
  return found;
}

/**
 * The `PATH` without relative folders, which refer to the current one, and without those that are or lead into the
 * workspace. Links are resolved, because one in the workspace could be redirected. Never empty, because that would mean the
 * current folder: without any such folder, the system's own.
 */
export function searchPathOutside(places: OwnPlaces): string {
  const { delimiter } = process.getBuiltinModule("node:path");
  return foldersOutside(places).join(delimiter);
}

function foldersOutside({ root, searchPath }: OwnPlaces): readonly string[] {
  const key = JSON.stringify([root, searchPath]);
  const known = foundFolders.get(key);
  if (known !== undefined) return known;
  const isOutside = outsideOf(root);
  const folders = absoluteFolders(searchPath ?? "").flatMap((folder) => {
    const real = findRealPath(folder);
    return real !== undefined && isOutside(real) ? [real] : [];
  });
  const found = folders.length === 0 ? SYSTEM_FOLDERS : [...new Set(folders)];
  foundFolders.set(key, found);
  return found;
}

/** Whether a program, or the folder in which it was found, really lies in the workspace. */
export function isInWorkspace(file: string, root: string): boolean {
  const isOutside = outsideOf(root);
  return !isOutside(file) || !isOutside(process.getBuiltinModule("node:path").dirname(file));
}

function outsideOf(root: string): (file: string) => boolean {
  const path = process.getBuiltinModule("node:path");
  const real = findRealPath(root) ?? path.resolve(root);
  const system = SYSTEM_FOLDERS.map((folder) => findRealPath(folder) ?? folder);
  const isIn = (folder: string, file: string) => {
    const relative = path.relative(folder, file);
    const leadsOut = relative === ".." || relative.startsWith(`..${path.sep}`);
    return !leadsOut && !path.isAbsolute(relative);
  };
  return (file) => {
    const found = findRealPath(file) ?? path.resolve(file);
    return !isIn(real, found) || system.some((folder) => isIn(folder, found));
  };
}

function findRealPath(file: string): string | undefined {
  try {
    // The native one also has the case in which the system keeps a name.
    return process.getBuiltinModule("node:fs").realpathSync.native(file);
  } catch {
    return undefined;
  }
}

function programsIn(folders: readonly string[], name: string): readonly string[] {
  const path = process.getBuiltinModule("node:path");
  return folders.map((folder) => path.join(folder, name));
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

const resolvedPrograms = new Map<string, string>();

/**
 * Like `resolveProgram`, but once per process: where a name led when the user was asked about it, it still leads, even if a
 * command has placed a program of that name in the workspace since.
 */
export function resolveProgramOnce(command: string, places: SearchPlaces): string | undefined {
  const path = process.getBuiltinModule("node:path");
  if (command.includes(path.sep)) return resolveProgram(command, places);
  const folders = places.searchPath?.split(path.delimiter) ?? [];
  const isAbsolute = folders.every((folder) => path.isAbsolute(folder));
  const key = JSON.stringify([command, places.searchPath, isAbsolute ? "" : places.cwd]);
  const found = resolvedPrograms.get(key) ?? resolveProgram(command, places);
  if (found !== undefined) resolvedPrograms.set(key, found);
  return found;
}

/** Removes relative entries from a `PATH`. Never empty, because that would mean the current folder. */
export function withoutRelativeFolders(searchPath: string | undefined): string {
  const folders = absoluteFolders(searchPath ?? "");
  const { delimiter } = process.getBuiltinModule("node:path");
  return (folders.length === 0 ? SYSTEM_FOLDERS : folders).join(delimiter);
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
