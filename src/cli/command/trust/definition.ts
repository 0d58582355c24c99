/** `jp trust`: the words that describe it. */
import type { Command } from "commander";
import { command } from "../../define.ts";

export function defineTrust(definition: Command): void {
  definition
    .option("-y, --yes", "trust it without being asked")
    .option(
      "--id <target>",
      "with the config that this conversation remembers (default: the active one)",
    )
    .option("--forget", "trust nothing of this workspace any more")
    .addHelpText(
      "after",
      `
The files of a workspace can name programs to run as tools, MCP servers to
start or reach, and places to which requests to models go. They can switch on
tools that change files, and answer their questions. They may have come with a
clone, so nothing of it is used before you have trusted it: here, or when jp
query or jp tool run asks. You are asked again when it changes.
What is trusted is kept with your own data, not in the workspace.

JP_TRUSTED_WORKSPACES names folders whose workspaces are trusted, for machines
at which nobody sits.

Exit status: 0 if all of it is trusted, 1 if not.`,
    )
    .action(command(async () => (await import("./trust.ts")).trust));
}
