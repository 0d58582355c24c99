/** `jp tool`: the words that describe its commands. */
import type { Command } from "commander";
import { collect, command, formatOption, withDirectives, withSettings } from "../../define.ts";

export function addToolCommands(group: Command): void {
  withDirectives(withSettings(group.command("ls")))
    .description("list tools: what they are, whether they are on, and where they come from")
    .addOption(formatOption("text", "json"))
    .action(command(async () => (await import("./ls.ts")).listTools));
  withSettings(group.command("show <name>"))
    .description("what a model is told about a tool, and how it is configured")
    .addOption(formatOption("text", "json"))
    .action(command(async () => (await import("./show.ts")).showTool));
  withSettings(group.command("run <name>"))
    .description("run a tool without a model, its questions included")
    .option("-a, --arg <key=value>", "an argument; key:=JSON for other values than text", collect)
    .option("--args <json>", "all arguments as one JSON object")
    .option("--non-interactive", "ask nobody: only configured answers count")
    .addHelpText(
      "after",
      `
The result goes to standard output, questions to the terminal, progress to
standard error.

Exit status: 0 if the tool succeeded, 1 if it reported an error, 3 if jp could
not ask you what the tool wants to know, 130 if it was cancelled.`,
    )
    .action(command(async () => (await import("./run.ts")).runTool));
}
