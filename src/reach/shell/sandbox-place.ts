/** The paths that a sandbox needs, and the reasons for having none. */
import { realpathSync } from "node:fs";
import path from "node:path";

/** All paths are real, without links. */
export interface SandboxPlace {
  /** The workspace. */
  readonly root: string;
  readonly home: string;
  /** jp's own folders. */
  readonly hidden: readonly string[];
  /** Otherwise hidden paths that the user lets commands read. */
  readonly readable: readonly string[];
  /** The user's environment, which says where Git and its config are. */
  readonly variables: Readonly<Record<string, string | undefined>>;
}

/**
 * - `unsupported_platform`: neither Linux nor macOS.
 * - `not_installed`: bubblewrap is missing.
 * - `namespaces_disabled`: the system does not let users make namespaces.
 * - `failed`: it does not start, for another reason.
 * - `workspace_has_home`: the home is the workspace, or in it, and cannot be hidden.
 * - `protected_link`: `.git`, `.jp` or a path that Git's config names is a symbolic link, which a command could replace.
 * - `git_config`: Git's config or index cannot be read, or the workspace itself is its folder of hooks.
 */
export interface SandboxProblem {
  readonly reason:
    | "unsupported_platform"
    | "not_installed"
    | "namespaces_disabled"
    | "failed"
    | "workspace_has_home"
    | "protected_link"
    | "git_config";
  /** The message of the program that failed. For `protected_link`, the link. */
  readonly detail?: string;
}

/** Also true if they are equal. */
export function isInside(folder: string, file: string): boolean {
  return (
    file === folder || file.startsWith(folder.endsWith(path.sep) ? folder : `${folder}${path.sep}`)
  );
}

/** Resolves links; returns the absolute path if nothing exists there. */
export function realPath(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return path.resolve(file);
  }
}
