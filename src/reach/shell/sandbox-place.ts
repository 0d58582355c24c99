/** What a sandbox has to know about a workspace, and why there may be none. */
import { realpathSync } from "node:fs";
import path from "node:path";

/** The paths are real ones, without links. */
export interface SandboxPlace {
  /** The workspace. */
  readonly root: string;
  readonly home: string;
  /** Folders of jp, wherever they are. */
  readonly hidden: readonly string[];
  /** What the user wants commands to see of what is hidden otherwise. */
  readonly readable: readonly string[];
}

/**
 * - `unsupported_platform`: neither Linux nor macOS.
 * - `not_installed`: bubblewrap is missing.
 * - `namespaces_disabled`: the system does not let users make namespaces.
 * - `failed`: it does not start, for another reason.
 * - `workspace_has_home`: the home is the workspace, or in it, and cannot be hidden.
 * - `protected_link`: `.git` or `.jp` is a symbolic link, which a command could replace.
 */
export interface SandboxProblem {
  readonly reason:
    | "unsupported_platform"
    | "not_installed"
    | "namespaces_disabled"
    | "failed"
    | "workspace_has_home"
    | "protected_link";
  /** The words of the program that failed. */
  readonly detail?: string;
}

/** Also if they are the same. */
export function isInside(folder: string, file: string): boolean {
  return (
    file === folder || file.startsWith(folder.endsWith(path.sep) ? folder : `${folder}${path.sep}`)
  );
}

/** Without links; as it is if nothing exists there. */
export function realPath(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return path.resolve(file);
  }
}
