/** Options and help of `jp tool` and `jp permissions`, which share a command. */
import type { Command } from "commander";
import { define } from "../../define.ts";
import * as options from "./options.ts";

export function defineTool(group: Command): void {
  define(group.command("ls"), {
    description: "List tools and whether they are enabled",
    options: options.LIST_TOOLS,
    run: async () => (await import("./list.ts")).listTools,
  }).argument("[name]", "Only this tool, or the tools of this group");
  define(group.command("show <name>"), {
    description: "Show what the model sees of a tool, and its settings; list the tools of a group",
    options: options.SHOW_TOOL,
    run: async () => (await import("./list.ts")).showTool,
  });
  defineCheck(group.command("check <name>"));
  define(group.command("run <name>"), {
    description: "Run a tool without a model",
    options: options.RUN_TOOL,
    help: `
The result goes to stdout, progress to stderr, and questions to the terminal.

Exit status: 0 if the tool succeeded, 1 if it reported an error, 3 if jp could
not ask you a question that the tool needs answered, 130 if cancelled.`,
    run: async () => (await import("./run.ts")).runTool,
  });
}

const PERMISSIONS_HELP = `
At a prompt, s says yes and saves a rule, so that jp does not ask about calls
like this one. Rules are saved with your own data, for one workspace at its
path, and never in its files. A rule counts until it expires, and as long as
the program behind the tool stays as it is.`;

const PROPOSE_HELP = `
Reads what you have decided in this workspace, on this machine: not what rules,
config, models or other people have, and not what came with a clone. Proposes
the fewest and narrowest rules that would have answered what you always answered
the same way, each with the calls it covers. None is for calls that destroy
something. What you refused once is still asked about: a rule that would let it
run is not proposed, or follows one that asks.

On a terminal, jp asks which to save. Saved rules count for this workspace at
its path: see jp permissions ls and rm.`;

const TRY_HELP = `
Evaluates the rules of your config and the saved ones on each call that you have
decided about, and lists what would have been different. Runs nothing. A file
has one JSON object per line, as jp permissions propose and ls print them with
--format json: the tool, and the rule.

Exit status: 0, or 1 if a call that you refused would run without asking.`;

export function definePermissions(group: Command): void {
  define(group.command("ls"), {
    description: "List saved permissions, and when each was last used",
    options: options.LIST_PERMISSIONS,
    help: PERMISSIONS_HELP,
    run: async () => (await import("../permissions.ts")).listPermissions,
  });
  define(group.command("rm [permission...]"), {
    description: "Remove saved permissions by their IDs",
    options: options.REMOVE_PERMISSIONS,
    run: async () => (await import("../permissions.ts")).removePermissions,
  });
  defineCheck(group.command("check <name>"));
  define(group.command("propose"), {
    description: "Propose rules from what you have decided at prompts",
    options: options.PROPOSE,
    help: PROPOSE_HELP,
    run: async () => (await import("../propose-permissions.ts")).proposePermissions,
  });
  define(group.command("try"), {
    description: "Try rules on your past decisions",
    options: options.TRY,
    help: TRY_HELP,
    run: async () => (await import("../try-permissions.ts")).tryPermissions,
  });
}

function defineCheck(definition: Command): void {
  define(definition, {
    description: "Say whether a call would run without asking, and which rule decides",
    options: options.CHECK_TOOL,
    help: `
Runs nothing. The rules are those of your config, the files of this workspace
that you trust, and those that you saved at a prompt.`,
    run: async () => (await import("./check.ts")).checkTool,
  });
}
