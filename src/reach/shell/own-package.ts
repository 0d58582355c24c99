/**
 * jp's own package where it is installed in the workspace: jp loads code from it while it runs, with the user's rights, so a
 * command must not change it.
 */
import { existsSync, readFileSync, realpathSync } from "node:fs";
import path from "node:path";
import { isInside } from "./sandbox-place.ts";

/** The folders of jp, first, and of the packages that it needs. Empty if jp is elsewhere, or not in a `node_modules`, as in a checkout. `code` is any folder of jp's code. */
export function findOwnPackage(
  root: string,
  code: string | undefined = import.meta.dirname,
): readonly string[] {
  const own = code === undefined ? undefined : findPackage(code);
  if (own === undefined || !isInstalledIn(root, own.folder)) return [];
  const needed = own.needs.flatMap((name) => findInstalled(name, own.folder) ?? []);
  return [own.folder, ...needed.filter((folder) => isInside(root, folder))];
}

/** Undefined where jp is part of another program's bundle. */
function findPackage(
  code: string,
): { readonly folder: string; readonly needs: readonly string[] } | undefined {
  const folder = ancestorsOf(realpathSync(code)).find((parent) =>
    existsSync(path.join(parent, "package.json")),
  );
  if (folder === undefined) return undefined;
  const { name, optionalDependencies = {} } = readManifest(path.join(folder, "package.json"));
  return name === "jp-ts" ? { folder, needs: Object.keys(optionalDependencies) } : undefined;
}

interface Manifest {
  readonly name?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** Empty if it is damaged, as that of another program may be. */
function readManifest(file: string): Manifest {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Manifest;
  } catch {
    return {};
  }
}

function isInstalledIn(root: string, folder: string): boolean {
  return (
    isInside(root, folder) && path.relative(root, folder).split(path.sep).includes("node_modules")
  );
}

/** Where Node would find it. */
function findInstalled(name: string, from: string): string | undefined {
  const candidates = ancestorsOf(from).map((parent) => path.join(parent, "node_modules", name));
  const found = candidates.find((folder) => existsSync(folder));
  return found === undefined ? undefined : realpathSync(found);
}

/** The folder itself, its parent, and so on. */
function ancestorsOf(folder: string): readonly string[] {
  const parent = path.dirname(folder);
  return parent === folder ? [folder] : [folder, ...ancestorsOf(parent)];
}
