/** Protects files of a workspace from commands: those of jp, and those of Git that make it run programs. Some may not exist yet. */
import { readdirSync, rmSync } from "node:fs";
import path from "node:path";
import { isProtectedName } from "../files/index.ts";
import { messageOf } from "../../util/index.ts";
import { Cover, type CoverPlan, findStats, LinkError, type Mount } from "./cover.ts";
import {
  coverBareNames,
  type CoverOptions,
  coverRepository,
  findSharedFolder,
  unreservedNames,
} from "./cover-git.ts";
import { findOwnPackage } from "./own-package.ts";
import { findRepositories, isRepository, type Repository } from "./repositories.ts";
import type { SandboxPlace, SandboxProblem } from "./sandbox-place.ts";
import { standIn } from "./stand-ins.ts";

export interface ProtectedPaths {
  /** Outer ones first. */
  readonly mounts: readonly Mount[];
  /** Outside the workspace: the repository of a linked worktree. */
  readonly readable: readonly string[];
  /** The tops of the repositories in which the user's Git runs programs by itself. */
  readonly folders: readonly string[];
  /**
   * Call it once, when the command has ended: removes the stand-ins, and anything the command created under a protected
   * name. Returns the names of the latter.
   */
  readonly release: () => readonly string[];
}

/** A run of a command in the sandbox. */
export interface ConfinedRun {
  readonly paths: ProtectedPaths;
  readonly network: boolean;
  /** It can change nothing in the workspace. */
  readonly isReadOnly?: boolean;
}

export interface ProtectOptions extends CoverOptions {
  /** The command can change nothing in the workspace anyway. */
  readonly isReadOnly?: boolean;
}

/** Prepares a command, which has to be started right away. Throws if the workspace cannot be written. */
export async function protectPaths(
  place: SandboxPlace,
  options: ProtectOptions,
): Promise<ProtectedPaths | SandboxProblem> {
  const { root } = place;
  const found = await findPlan(place, options);
  if ("reason" in found) return found;
  const { repositories, plan } = found;
  const common = {
    readable: repositories.flatMap((repository) => findSharedFolder(repository, root) ?? []),
    folders: repositories.map(({ folder }) => folder),
  };
  if (options.isReadOnly === true) return { ...common, mounts: [], release: () => [] };
  const own = ownOf(root, repositories);
  const watched = options.git ? repositories.flatMap(unreservedNames) : [];
  // If its own repository loses its HEAD, Git may take the workspace itself for one.
  const bareHead = path.join(root, "HEAD");
  const isLost = () => own !== undefined && own !== root && !isRepository(own);
  const listed = () => {
    const names = protectedNames(root).filter((name) => name !== ".git" && name !== ".jp");
    const others = [...watched, bareHead].filter((file) => findStats(file) !== undefined);
    return [...names.map((name) => path.join(root, name)), ...others];
  };
  const before = new Set(listed());
  const guards = plan.standIns.flatMap((missing) => standIn(missing) ?? []);
  return {
    ...common,
    mounts: plan.mounts,
    release: () => {
      for (const guard of guards) guard[Symbol.dispose]();
      const added = listed().filter((file) => !before.has(file) && (file !== bareHead || isLost()));
      for (const file of added) rmSync(file, { recursive: true, force: true });
      return added.map((file) => path.relative(root, file));
    },
  };
}

/** Why paths could not be protected. */
export async function findProtectionProblem(
  place: SandboxPlace,
): Promise<SandboxProblem | undefined> {
  const found = await findPlan(place, { git: false });
  return "reason" in found ? found : undefined;
}

interface FoundPlan {
  readonly repositories: readonly Repository[];
  readonly plan: CoverPlan;
}

/** The plan is made last, because stand-ins of other commands come and go. */
async function findPlan(
  place: SandboxPlace,
  options: CoverOptions,
): Promise<FoundPlan | SandboxProblem> {
  const { root } = place;
  try {
    const repositories = await findRepositories(place);
    const cover = new Cover(root);
    for (const name of protectedNames(root)) {
      if (name !== ".git") cover.readOnly(path.join(root, name), "folder");
    }
    for (const folder of findOwnPackage(root)) cover.readOnly(folder, "folder");
    for (const repository of repositories) coverRepository(cover, repository, options);
    if (ownOf(root, repositories) === undefined) {
      cover.readOnly(path.join(root, ".git"), "folder");
      coverBareNames(cover);
    }
    return { repositories, plan: cover.plan() };
  } catch (error) {
    return error instanceof LinkError
      ? { reason: "protected_link", detail: path.relative(root, error.link) }
      : { reason: "git_config", detail: lastLineOf(messageOf(error)) };
  }
}

/** Git's own message, without the command before it. */
function lastLineOf(message: string): string {
  return message.trim().split("\n").at(-1) ?? "";
}

/** The folder of the workspace's own repository. */
function ownOf(root: string, repositories: readonly Repository[]): string | undefined {
  return repositories.find(({ folder }) => folder === root)?.own;
}

/** `.jp`, and the other names of jp and Git that exist. `.git` is in a repository, or stands for one that is missing. */
function protectedNames(root: string): readonly string[] {
  return [...new Set([".jp", ".git", ...readdirSync(root).filter(isProtectedName)])];
}
