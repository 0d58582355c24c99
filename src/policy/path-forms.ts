/**
 * The names of the file that a path stands for. A rule that lets a call run must hold for every one of them, because a tool may
 * take any; a rule that stops one needs only one of them.
 */
import { lstat, realpath } from "node:fs/promises";
import path from "node:path";
import { systemErrorCode } from "../util/index.ts";

/** Relative to the workspace with forward slashes, or absolute if outside of it. */
export interface PathForms {
  /** Undefined if no one can say which file it is: then nothing allows it. */
  readonly exact: readonly string[] | undefined;
  /** Including those that another file system would take for the same. */
  readonly possible: readonly string[];
}

/** Follows links, as far as there are any. Never throws. */
export async function findPathForms(root: string, written: string): Promise<PathForms> {
  const plain = written.replaceAll("\0", "");
  const realRoot = await realpath(root).catch(() => root);
  const roots = [path.resolve(root), realRoot];
  const lexical = relativeTo(roots, path.resolve(root, plain));
  // As the system would go there: `..` after a link is not where it looks.
  const walked = await follow(path.isAbsolute(plain) ? plain : `${root}/${plain}`);
  const straight = await follow(path.resolve(root, plain));
  const isSure = plain === written && plain !== "" && !plain.startsWith("~");
  const real = [walked, straight].map((file) => file && relativeTo(roots, file));
  const [first, second] = real;
  const exact =
    isSure && first !== undefined && second !== undefined ? [lexical, first, second] : undefined;
  const known = [lexical, ...real.filter((file) => file !== undefined)];
  const slashed = plain.includes("\\")
    ? [relativeTo(roots, path.resolve(root, plain.replaceAll("\\", "/")))]
    : [];
  const possible = [...known, ...slashed, path.resolve(root, plain)];
  return {
    exact: exact && [...new Set(exact)],
    possible: [...new Set(possible.flatMap((file) => [file, foldPath(file)]))],
  };
}

/** As a rule names it. */
export function normalizePath(root: string, written: string): string {
  return relativeTo([path.resolve(root)], path.resolve(root, written));
}

/** What file systems may ignore: case, Unicode forms, invisible characters, and dots and spaces at the end of a name. */
export function foldPath(file: string): string {
  return file
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/\p{Cf}/gu, "")
    .split("/")
    .map((name) => (/^\.+$/.test(name) ? name : name.replace(/:.*$/s, "").replace(/[. ]+$/, "")))
    .join("/");
}

export function isPathWithin(folder: string, file: string): boolean {
  if (folder === ".") return !path.posix.isAbsolute(file);
  return file === folder || file.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}

function relativeTo(roots: readonly string[], absolute: string): string {
  for (const root of roots) {
    const relative = path.relative(root, absolute);
    const isOutside = relative === ".." || relative.startsWith(`..${path.sep}`);
    if (isOutside || path.isAbsolute(relative)) continue;
    return relative === "" ? "." : relative.split(path.sep).join("/");
  }
  return absolute;
}

/** The real path, with names that do not exist yet. Undefined if it cannot be known. */
async function follow(absolute: string): Promise<string | undefined> {
  const names = absolute.split("/").filter((name) => name !== "" && name !== ".");
  for (let count = names.length; count >= 0; count -= 1) {
    const rest = names.slice(count);
    const existing = `/${names.slice(0, count).join("/")}`;
    try {
      const real = await realpath(existing);
      return rest.includes("..") ? undefined : path.join(real, ...rest);
    } catch (error) {
      const code = systemErrorCode(error);
      if (code !== "ENOENT" && code !== "ENOTDIR") return undefined;
      if (await isLink(existing)) return undefined; // To something that does not exist.
    }
  }
  return undefined;
}

function isLink(file: string): Promise<boolean> {
  return lstat(file).then(
    (stats) => stats.isSymbolicLink(),
    () => false,
  );
}
