/** `jp doctor`: the words that describe it. */
import type { Command } from "commander";
import { command, formatOption, parseCount } from "../../define.ts";

export function defineDoctor(definition: Command): void {
  definition
    .option("--timeout <seconds>", "how long MCP servers may take to start", parseCount)
    .addOption(formatOption("text", "json"))
    .addHelpText(
      "after",
      `
A line for each check: ok, a warning, or a problem, with what to do about it.
MCP servers of tools that are on are started, and ended again. Nothing on the
disk is changed.

Exit status: 0 if there is no problem, 1 if there is one.`,
    )
    .action(command(async () => (await import("./doctor.ts")).doctor));
}
