/** Options and help of `jp tool`. */
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
  withArguments(withConfigOption(group.command("check <name>")))
    .description("Say whether a call would run without asking, and which rule decides")
    .addOption(formatOption("text", "json"))
    .addHelpText(
      "after",
      `
Runs nothing. The rules are those of your config, the files of this workspace
that you trust, and those that you saved at a prompt.`,
    )
    .action(command(async () => (await import("./check.ts")).checkTool));
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

function withArguments(tool: Command): Command {
  return tool
    .option(
      "-a, --arg <key=value>",
      "Pass an argument as text, or as JSON with key:=JSON; repeatable",
      collect,
    )
    .option("--args <json>", "Pass all arguments as a JSON object");
}
