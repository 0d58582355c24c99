/** The user's folder for what jp can make again. It decides who may have written there, not what is in it. */
import { chmodSync, mkdirSync, statSync } from "node:fs";
import path from "node:path";

/** The parts of the environment that say where it is. */
export interface CacheEnvironment {
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  readonly platform: NodeJS.Platform;
}

/**
 * A folder for one kind of thing, created if missing. Only below a folder that this user owns, so that no one else can
 * put anything there: not the temporary folder, and not another user's home under sudo. Undefined if there is no such
 * folder, or it cannot be made.
 */
export function findUserCache(
  { variables, home, platform }: CacheEnvironment,
  ...names: readonly string[]
): string | undefined {
  const caches = variables["XDG_CACHE_HOME"] ?? "";
  const [owned, below] = path.isAbsolute(caches)
    ? [caches, ""]
    : [home, platform === "darwin" ? "Library/Caches" : ".cache"];
  try {
    if (!path.isAbsolute(owned) || !isOwn(owned)) return undefined;
    let folder = path.join(owned, below, "jp-ts");
    mkdirSync(path.join(folder, ...names), { recursive: true, mode: 0o700 });
    for (const name of ["", ...names]) {
      folder = path.join(folder, name);
      if (!isOwn(folder)) return undefined;
      if ((statSync(folder).mode & 0o077) !== 0) chmodSync(folder, 0o700);
    }
    return folder;
  } catch {
    return undefined;
  }
}

function isOwn(folder: string): boolean {
  return statSync(folder).uid === process.getuid?.();
}
