/** `jp init`: the words that describe it. */
import type { Command } from "commander";
import { command } from "../../define.ts";

export function defineInit(definition: Command): void {
  definition
    .argument("[folder]", "the folder; without it, the one you are in")
    .option("--non-interactive", "ask nothing, and leave what would be asked open in the config")
    .addHelpText("after", "\nNothing that is there is ever overwritten.")
    .action(command(async () => (await import("./init.ts")).init));
}
