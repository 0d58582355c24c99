/** Options and help of `jp tool` and `jp permissions`, which share a command. */
import type { Command } from "commander";
import { define } from "../../define.ts";
import {
  CHECK_TOOL_OPTIONS,
  LIST_PERMISSIONS_OPTIONS,
  LIST_TOOLS_OPTIONS,
  PROPOSE_OPTIONS,
  REMOVE_PERMISSIONS_OPTIONS,
  RUN_TOOL_OPTIONS,
  SHOW_TOOL_OPTIONS,
  TRY_OPTIONS,
} from "./options.ts";

export function defineTool(group: Command): void {
  define(group.command("ls"), LIST_TOOLS_OPTIONS, async () => (await import("./list.ts")).listTools)
    .argument("[name]", "Only this tool, or the tools of this group")
    .description("List tools and whether they are enabled");
  define(
    group.command("show <name>"),
    SHOW_TOOL_OPTIONS,
    async () => (await import("./list.ts")).showTool,
  ).description("Show what the model sees of a tool, and its settings; list the tools of a group");
  defineCheck(group.command("check <name>"));
  define(
    group.command("run <name>"),
    RUN_TOOL_OPTIONS,
    async () => (await import("./run.ts")).runTool,
  )
    .description("Run a tool without a model")
    .addHelpText(
      "after",
      `
The result goes to stdout, progress to stderr, and questions to the terminal.

Exit status: 0 if the tool succeeded, 1 if it reported an error, 3 if jp could
not ask you a question that the tool needs answered, 130 if cancelled.`,
    );
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
  define(
    group.command("ls"),
    LIST_PERMISSIONS_OPTIONS,
    async () => (await import("../permissions.ts")).listPermissions,
  )
    .description("List saved permissions, and when each was last used")
    .addHelpText("after", PERMISSIONS_HELP);
  define(
    group.command("rm [permission...]"),
    REMOVE_PERMISSIONS_OPTIONS,
    async () => (await import("../permissions.ts")).removePermissions,
  ).description("Remove saved permissions by their IDs");
  defineCheck(group.command("check <name>"));
  define(
    group.command("propose"),
    PROPOSE_OPTIONS,
    async () => (await import("../propose-permissions.ts")).proposePermissions,
  )
    .description("Propose rules from what you have decided at prompts")
    .addHelpText("after", PROPOSE_HELP);
  define(
    group.command("try"),
    TRY_OPTIONS,
    async () => (await import("../try-permissions.ts")).tryPermissions,
  )
    .description("Try rules on your past decisions")
    .addHelpText("after", TRY_HELP);
}

function defineCheck(definition: Command): void {
  define(definition, CHECK_TOOL_OPTIONS, async () => (await import("./check.ts")).checkTool)
    .description("Say whether a call would run without asking, and which rule decides")
    .addHelpText(
      "after",
      `
Runs nothing. The rules are those of your config, the files of this workspace
that you trust, and those that you saved at a prompt.`,
    );
}
