/** Works out how paths of a workspace have to be mounted so that a command cannot change them, or move them away. */
import { lstatSync, type Stats } from "node:fs";
import path from "node:path";
import { isInside } from "./sandbox-place.ts";
import { isStandIn, type MissingPath } from "./stand-ins.ts";

export interface Mount {
  readonly file: string;
  /**
   * - `pinned`: mounted on itself, so that it cannot be renamed or removed. Its contents can change.
   * - `writable`: the same, in a folder that is read-only.
   */
  readonly access: "read_only" | "pinned" | "writable";
}

export interface CoverPlan {
  /** Outer ones first. */
  readonly mounts: readonly Mount[];
  readonly standIns: readonly MissingPath[];
}

/** A link on the way to a protected path: it cannot be mounted, so a command could replace it. */
export class LinkError extends Error {
  readonly link: string;

  constructor(link: string) {
    super(`${link} is a link`);
    this.name = "LinkError";
    this.link = link;
  }
}

/** Collects paths in any order. */
export class Cover {
  /** The workspace. */
  readonly root: string;
  readonly #access = new Map<string, Mount["access"]>();
  readonly #wanted = new Map<string, MissingPath["kind"]>();

  constructor(root: string) {
    this.root = root;
  }

  /** What is not there is replaced by an empty file or folder. Outside of the workspace, it stays missing. */
  readOnly(file: string, kind: MissingPath["kind"]): void {
    if (file !== this.root) this.#wanted.set(file, kind);
  }

  /** Even if it should be read-only for another reason. */
  writable(folder: string): void {
    if (findStats(folder) === undefined) return;
    this.#access.set(folder, isInside(this.root, folder) ? "pinned" : "writable");
  }

  /** Throws a `LinkError`. */
  plan(): CoverPlan {
    const access = new Map(this.#access);
    const standIns: MissingPath[] = [];
    for (const [file, kind] of [...this.#wanted].toSorted(byPath)) {
      if (this.#access.has(file) || this.#isReadOnlyIn(access, path.dirname(file))) continue;
      if (!isInside(this.root, file)) {
        if (findStats(file) !== undefined) access.set(file, "read_only");
        continue;
      }
      const { end, pinned } = this.#follow(file);
      for (const folder of pinned) if (!access.has(folder)) access.set(folder, "pinned");
      access.set(end, "read_only");
      if (isFree(end)) {
        standIns.push({ file: end, kind: end === file ? kind : "folder" });
      }
    }
    const mounts = [...access].toSorted(byPath).map(([file, each]) => ({ file, access: each }));
    return { mounts, standIns };
  }

  /** By the innermost mount. What is outside of the workspace is read-only anyway. */
  #isReadOnlyIn(access: ReadonlyMap<string, Mount["access"]>, folder: string): boolean {
    const own = access.get(folder);
    if (own !== undefined) return own === "read_only";
    if (folder === this.root) return false;
    const parent = path.dirname(folder);
    return parent === folder || this.#isReadOnlyIn(access, parent);
  }

  /** To the first name on the way that is missing or not a folder, and the folders before it, which are not the workspace. */
  #follow(file: string): { readonly end: string; readonly pinned: readonly string[] } {
    const pinned: string[] = [];
    let end = this.root;
    for (const name of path.relative(this.root, file).split(path.sep)) {
      if (end !== this.root) pinned.push(end);
      end = path.join(end, name);
      const stats = findStats(end);
      if (stats?.isSymbolicLink() === true) throw new LinkError(end);
      if (stats?.isDirectory() !== true) break;
    }
    return { end, pinned };
  }
}

/** Folders before what is in them. */
function byPath([left]: readonly [string, unknown], [right]: readonly [string, unknown]): number {
  return left < right ? -1 : 1;
}

/** Whether nothing is there, or only what stands in for it. */
export function isFree(file: string): boolean {
  return isStandIn(file) || findStats(file) === undefined;
}

/** Also undefined if a parent is not a folder, or cannot be read. */
export function findStats(file: string): Stats | undefined {
  try {
    return lstatSync(file);
  } catch {
    return undefined;
  }
}
