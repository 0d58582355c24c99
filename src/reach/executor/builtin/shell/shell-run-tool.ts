/** `shell_run`: runs a command line in the workspace. The implementation loads on the first call. */
import { defineTool, type ToolContent } from "../../../../record/tool/index.ts";
import { loadModule } from "../../../../util/index.ts";
import type { ShippedTool } from "../builtin-executor.ts";
import { DEFAULT_TIMEOUT_SECS, type ShellPlace, type ShellRunArguments } from "./shell-place.ts";

const DESCRIPTION =
  "Runs a command line with bash (or sh), without a terminal, and returns what it prints to standard output and standard error, " +
  "with its exit status. Of long output the beginning and the end are returned. Usually it runs in a sandbox: it can write to the " +
  "workspace only, sees neither the user's home nor other processes, has its own /tmp, and no network unless network is true. It " +
  "cannot change .jp, nor .git unless git is true, and never Git's config and hooks. Everything it started ends with it, so do not start servers in the background. Use " +
  "folder instead of cd, and one command per call where possible: the user may allow simple commands once and for all, which " +
  "does not work for lines with substitutions, variables, redirections or cd.";

/** `place` is needed only to run it. */
export function createShellRunTool(place?: ShellPlace): ShippedTool {
  const tool = defineTool<ShellRunArguments>({
    name: "shell_run",
    description: DESCRIPTION,
    parameters: {
      type: "object",
      properties: {
        command: {
          type: "string",
          minLength: 1,
          maxLength: 32_768,
          description: "the command line",
        },
        folder: { type: "string", description: "folder in the workspace to run it in; default: ." },
        timeout_secs: {
          type: "integer",
          minimum: 1,
          maximum: 3600,
          description: `seconds until it is stopped; default: ${DEFAULT_TIMEOUT_SECS}`,
        },
        stdin: { type: "string", description: "its standard input; default: empty" },
        network: {
          type: "boolean",
          description: "let it use the network; the user has to agree to each such call",
        },
        git: {
          type: "boolean",
          description:
            "let it write to .git, as git add, commit and fetch do; the user has to agree to each such call",
        },
      },
      required: ["command"],
      additionalProperties: false,
    },
    run: async (args, context): Promise<string | ToolContent> => {
      const { runShellCall } = await loadShellRun();
      return runShellCall(args, context, requirePlace(place));
    },
  });
  return {
    tool,
    config: {
      source: "builtin",
      group: "shell",
      enable: { state: false, allow_toggle: "if_named_or_group" },
      run: "ask",
      summary: "Run a command line in the workspace, in a sandbox if there is one.",
      description: DESCRIPTION,
    },
    argumentKinds: { "/command": "command", "/folder": "path", "/stdin": "input" },
    describeCall: async (args, options) => {
      const { describeShellCall } = await loadShellRun();
      return describeShellCall(args, requirePlace(place), options);
    },
  };
}

/** Throws `module_not_loaded`. */
export function loadShellRun() {
  return loadModule(() => import("./shell-run.ts"));
}

function requirePlace(place: ShellPlace | undefined): ShellPlace {
  if (place === undefined) throw new Error("shell_run has no place to run");
  return place;
}
