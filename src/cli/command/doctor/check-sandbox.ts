/** How commands written by models run: whether in a sandbox, and with which environment. */
import {
  findProblemIn,
  findSandboxProblem,
  realPath,
  type SandboxProblem,
  shellEnvironment,
} from "../../../reach/shell/index.ts";
import { foldLayers, type Layer, resolveShell } from "../../../settings/config/index.ts";
import type { Workspace } from "../../../stores/index.ts";
import type { CommandContext } from "../../context.ts";
import type { Finding } from "./finding.ts";

const check = "sandbox";

export async function checkSandbox(
  { environment: { home, platform, variables } }: Pick<CommandContext, "environment">,
  workspace: Pick<Workspace, "root"> | undefined,
): Promise<Finding> {
  const problem =
    workspace === undefined
      ? await findSandboxProblem()
      : await findProblemIn({
          root: realPath(workspace.root),
          home: realPath(home),
          hidden: [],
          readable: [],
          variables,
        });
  if (problem === undefined) {
    const program = platform === "darwin" ? "sandbox-exec, which is untested" : "bubblewrap";
    return { check, state: "ok", message: `shell_run confines commands (${program})` };
  }
  return { check, state: "warning", ...describeProblem(problem) };
}

/** Lists the variables that commands with a network get. */
export function checkEnvironment(
  { environment }: CommandContext,
  layers: readonly Layer[],
  { isSandboxed }: { readonly isSandboxed: boolean },
): Finding {
  const own = layers.filter(({ isFromWorkspace }) => isFromWorkspace !== true);
  const { env: added, hideEnv: hidden } = resolveShell(foldLayers(own));
  const rules = { added, hidden, isSandboxed, hasNetwork: true };
  const { variables, leftOut } = shellEnvironment(environment.variables, rules);
  const passed = Object.keys(environment.variables).filter(
    (name) => variables[name] !== undefined && variables[name] === environment.variables[name],
  );
  const message = `shell_run passes on ${listed(passed)}. Left out: ${listed(leftOut)}.`;
  const hint = "To pass on more, name them in shell.env in your own config.";
  return { check: "environment", state: "ok", message, ...(leftOut.length > 0 && { hint }) };
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? "nothing" : names.toSorted().join(", ");
}

function describeProblem({
  reason,
  detail = "",
}: SandboxProblem): Pick<Finding, "message" | "hint"> {
  switch (reason) {
    case "not_installed":
      return {
        message:
          "bubblewrap is not installed, so shell_run has no sandbox and asks before every command.",
        hint: "Install it: sudo apt install bubblewrap (dnf on Fedora, pacman -S on Arch).",
      };
    case "namespaces_disabled":
      return {
        message: "This system does not let users create namespaces, so shell_run has no sandbox.",
        hint:
          "Debian: sudo sysctl kernel.unprivileged_userns_clone=1. Ubuntu: sudo sysctl " +
          "kernel.apparmor_restrict_unprivileged_userns=0, or add an AppArmor profile for bwrap.",
      };
    case "failed":
      return {
        message: `bubblewrap does not start, so shell_run has no sandbox. ${detail}`.trim(),
        hint: "In a container, allow user namespaces and mounting /proc.",
      };
    case "unsupported_platform":
      return {
        message: "shell_run has no sandbox on this platform, and asks before every command.",
      };
    case "workspace_has_home":
      return {
        message:
          "The workspace contains your home, which a sandbox could not hide: shell_run has none here.",
        hint: "Use a folder inside your home as the workspace.",
      };
    case "protected_link":
      return {
        message: `${detail} is a link, which a command could replace, so shell_run has no sandbox here.`,
        hint: "Replace it with what it leads to.",
      };
    case "git_config":
      return {
        message: `What Git would run here cannot be protected, so shell_run has no sandbox. ${detail}`,
        hint: "Run git status and git config --list here, and look for an error or a strange core.hooksPath.",
      };
    default:
      return reason satisfies never;
  }
}
