/** `jp model`: the words that describe its commands. */
import type { Command } from "commander";
import { command, formatOption } from "../../define.ts";
import { withSettings } from "../config/definition.ts";

export function addModelCommands(group: Command): void {
  withSettings(group.command("ls [provider]"))
    .description("list models, of one provider or of all that can be reached")
    .addOption(formatOption("text", "json"))
    .action(command(async () => (await import("./ls.ts")).listModels));
}
