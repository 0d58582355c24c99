/**
 * Confines a command to the workspace: without the home, the network, other processes, and the files that protect the
 * workspace itself.
 */
import { existsSync } from "node:fs";
import path from "node:path";
import type { Program } from "../process/index.ts";
import { openBubblewrapPipes } from "./bubblewrap-pipes.ts";
import { type Bubblewrap, bubblewrapArguments, findBubblewrap } from "./bubblewrap.ts";
import { inheritedDescriptors } from "./inherited-descriptors.ts";
import { findProtectionProblem, type ProtectOptions, protectPaths } from "./protected-paths.ts";
import { findNewRepositories } from "./new-repositories.ts";
import { findSubmodules } from "./repositories.ts";
import { isInside, type SandboxPlace, type SandboxProblem } from "./sandbox-place.ts";
import { SANDBOX_EXEC, seatbeltProfile } from "./seatbelt.ts";

type Machine = Bubblewrap | { readonly program: typeof SANDBOX_EXEC };

let machine: Promise<Machine | SandboxProblem> | undefined;

/** Whether this machine lacks a working sandbox. Checked once. */
export async function findSandboxProblem(): Promise<SandboxProblem | undefined> {
  const found = await findMachine();
  return "reason" in found ? found : undefined;
}

function findMachine(): Promise<Machine | SandboxProblem> {
  machine ??= (async () => {
    if (process.platform === "linux") return findBubblewrap();
    if (process.platform === "darwin" && existsSync(SANDBOX_EXEC)) return { program: SANDBOX_EXEC };
    return { reason: "unsupported_platform" };
  })();
  return machine;
}

export interface ConfinedProgram {
  readonly program: Program;
  /** Call it once, when the program has ended. Removes anything created under a protected name, and returns the names. */
  readonly release: () => readonly string[];
  /** Call it afterwards: the folders in which Git runs what a config names that the command could write. */
  readonly findNewRepositories?: () => Promise<readonly string[]>;
  /** Whether the program was started. Absent where that is unknown: on macOS. */
  readonly hasStarted?: () => boolean;
}

/** Like `findSandboxProblem`, for one workspace. */
export async function findProblemIn(place: SandboxPlace): Promise<SandboxProblem | undefined> {
  if (isInside(place.root, place.home)) return { reason: "workspace_has_home" };
  return (await findSandboxProblem()) ?? findProtectionProblem(place);
}

export interface SandboxOptions extends ProtectOptions {
  readonly network: boolean;
}

/** Prepares a program to be started once in the sandbox, right away. Throws if the workspace cannot be written. */
export async function confine(
  program: Program,
  place: SandboxPlace,
  { network, git, isReadOnly = false }: SandboxOptions,
): Promise<ConfinedProgram | SandboxProblem> {
  if (isInside(place.root, place.home)) return { reason: "workspace_has_home" };
  const found = await findMachine();
  if ("reason" in found) return found;
  const startedMs = Date.now();
  const paths = await protectPaths(place, { git, isReadOnly });
  if ("reason" in paths) return paths;
  const options = { paths, network, isReadOnly };
  const wrapped =
    "options" in found
      ? inBubblewrap(program, found, bubblewrapArguments(found, place, options))
      : { program: inSandboxExec(program, seatbeltProfile(place, options)) };
  return {
    ...wrapped,
    release: paths.release,
    findNewRepositories: async () => {
      if (isReadOnly) return [];
      const made = await findNewRepositories(place.root, startedMs);
      // With `git`, a folder can become a submodule, into which Git goes by itself.
      const submodules = git ? await findSubmodules(place).catch(() => []) : [];
      const added = submodules.filter((folder) => !paths.folders.includes(folder));
      const folders = [...new Set([...made, ...added])];
      return folders.map((folder) => path.relative(place.root, folder)).toSorted();
    },
  };
}

function inSandboxExec(inner: Program, profile: string): Program {
  return { ...inner, program: SANDBOX_EXEC, args: ["-p", profile, inner.program, ...inner.args] };
}

function inBubblewrap(
  { program, args, cwd, variables }: Program,
  found: Bubblewrap,
  options: readonly string[],
): Omit<ConfinedProgram, "release"> {
  const { words, pipes, hasStarted } = openBubblewrapPipes(variables, found.filter);
  const all = [...options, ...words, "--chdir", cwd, "--", program, ...args];
  const withheld = inheritedDescriptors();
  return {
    program: { program: found.program, args: all, cwd, variables: {}, pipes, withheld },
    hasStarted,
  };
}
