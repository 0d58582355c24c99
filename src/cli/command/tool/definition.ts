/** Options and help of `jp tool`, and of `jp permissions`, which has a command in common with it. */
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
