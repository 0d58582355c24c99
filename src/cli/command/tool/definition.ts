/** Options and help of `jp tool` and `jp permissions`, which share a command. */
import type { Command } from "commander";
import { collect, command, formatOption, withToolOptions, withConfigOption } from "../../define.ts";

export function defineTool(group: Command): void {
  withToolOptions(withConfigOption(group.command("ls")))
    .argument("[name]", "Only this tool, or the tools of this group")
    .description("List tools and whether they are enabled")
    .addOption(formatOption("text", "json"))
    .action(command(async () => (await import("./list.ts")).listTools));
  withConfigOption(group.command("show <name>"))
    .description("Show what the model sees of a tool, and its settings; list the tools of a group")
    .addOption(formatOption("text", "json"))
    .action(command(async () => (await import("./list.ts")).showTool));
  defineCheck(group.command("check <name>"));
  withArguments(withConfigOption(group.command("run <name>")))
    .description("Run a tool without a model")
    .option("--non-interactive", "Never prompt; use only configured answers")
    .addHelpText(
      "after",
      `
The result goes to stdout, progress to stderr, and questions to the terminal.

Exit status: 0 if the tool succeeded, 1 if it reported an error, 3 if jp could
not ask you a question that the tool needs answered, 130 if cancelled.`,
    )
    .action(command(async () => (await import("./run.ts")).runTool));
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
  group
    .command("ls")
    .description("List saved permissions, and when each was last used")
    .option("--all", "Of all workspaces")
    .addOption(formatOption("text", "json"))
    .addHelpText("after", PERMISSIONS_HELP)
    .action(command(async () => (await import("../permissions.ts")).listPermissions));
  group
    .command("rm [permission...]")
    .description("Remove saved permissions by their IDs")
    .option("--expired", "Remove those of this workspace that no longer count")
    .option("--all", "Remove all of this workspace")
    .option("-y, --yes", "Do not ask for confirmation")
    .action(command(async () => (await import("../permissions.ts")).removePermissions));
  defineCheck(group.command("check <name>"));
  withRecord(group.command("propose"))
    .description("Propose rules from what you have decided at prompts")
    .option("--save", "Save them all, without asking")
    .addHelpText("after", PROPOSE_HELP)
    .action(command(async () => (await import("../propose-permissions.ts")).proposePermissions));
  withRecord(group.command("try"))
    .description("Try rules on your past decisions")
    .option("--rules <file>", "Try the rules in this file, not the saved ones")
    .addHelpText("after", TRY_HELP)
    .action(command(async () => (await import("../try-permissions.ts")).tryPermissions));
}

function withRecord(definition: Command): Command {
  return withConfigOption(definition)
    .option("--from <time>", "Only decisions since then: today, 3d (ago), a date or an ID", "8w")
    .option("--until <time>", "Only decisions before then")
    .addOption(formatOption("text", "json"));
}

function defineCheck(definition: Command): void {
  withArguments(withConfigOption(definition))
    .description("Say whether a call would run without asking, and which rule decides")
    .addOption(formatOption("text", "json"))
    .addHelpText(
      "after",
      `
Runs nothing. The rules are those of your config, the files of this workspace
that you trust, and those that you saved at a prompt.`,
    )
    .action(command(async () => (await import("./check.ts")).checkTool));
}

function withArguments(tool: Command): Command {
  return tool
    .option(
      "-a, --arg <key=value>",
      "Pass an argument as text, or as JSON with key:=JSON; repeatable",
      collect,
    )
    .option("--args <json>", "Pass all arguments as a JSON object");
}
