/** The user's cache folder. Decides who may have written there, not what it contains. */
import { chmodSync, mkdirSync, realpathSync, type Stats, statSync } from "node:fs";
import path from "node:path";

/** The environment variables that determine its location. */
export interface CacheEnvironment {
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  readonly platform: NodeJS.Platform;
}

/**
 * The folder for one kind of cached data, created if missing. Only below a folder that this user owns, so that no one
 * else can put anything there: not the temporary folder, and not another user's home under sudo. Undefined if there
 * is no such folder, or it cannot be created.
 */
export function makeUserCache(
  environment: CacheEnvironment,
  ...names: readonly string[]
): string | undefined {
  const { owned, below } = placeOf(environment);
  const found = findUserCache(environment, ...names);
  if (found !== undefined) return found;
  try {
    if (!path.isAbsolute(owned) || !isOwn(statSync(owned))) return undefined;
    mkdirSync(path.join(owned, below, ...names), { recursive: true, mode: 0o700 });
    return findUserCache(environment, ...names);
  } catch {
    return undefined;
  }
}

/** The existing cache folder; undefined if it is missing. */
export function findUserCache(
  environment: CacheEnvironment,
  ...names: readonly string[]
): string | undefined {
  const { owned, below } = placeOf(environment);
  let folder = path.join(owned, below);
  try {
    if (!path.isAbsolute(owned) || !isOwn(statSync(owned))) return undefined;
    for (const name of ["", ...names]) {
      folder = path.join(folder, name);
      const stats = statSync(folder);
      if (!isOwn(stats)) return undefined;
      if ((stats.mode & 0o077) !== 0) chmodSync(folder, 0o700);
    }
    return folder;
  } catch {
    return undefined;
  }
}

/**
 * Whether the cache is, or would be, inside a folder: files that come with a clone must not become a cache. `root` is
 * a real path.
 */
export function isUserCacheIn(root: string, environment: CacheEnvironment): boolean {
  const { owned, below } = placeOf(environment);
  try {
    return path.join(realpathSync(owned), below).startsWith(path.join(root, path.sep));
  } catch {
    return false; // Then there is no cache.
  }
}

/** The folder that this user has to own, and the path of jp's folder below it. */
function placeOf({ variables, home, platform }: CacheEnvironment) {
  const caches = variables["XDG_CACHE_HOME"] ?? "";
  if (path.isAbsolute(caches)) return { owned: caches, below: "jp-ts" };
  const parent = platform === "darwin" ? "Library/Caches" : ".cache";
  return { owned: home, below: path.join(parent, "jp-ts") };
}

function isOwn({ uid }: Stats): boolean {
  return uid === process.getuid?.();
}
