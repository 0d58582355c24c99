/** `jp inquiry`: the words that describe its commands. */
import type { Command } from "commander";
import { collect, command, formatOption, repeatable } from "../../define.ts";

const OUTCOMES = ["answered", "redacted", "cancelled", "unanswered"];
const DECIDERS = ["user", "assistant", "config", "remembered", "policy", "default"];

export function addInquiryCommands(group: Command): void {
  group
    .command("ls")
    .description("list the questions of all conversations, archived ones included")
    .option("-c, --conversation <target>", "only those of this one; may be repeated", collect)
    .addOption(
      repeatable("--outcome <outcome>", "only those that ended so; may be repeated", OUTCOMES),
    )
    .addOption(repeatable("--by <who>", "only those answered by; may be repeated", DECIDERS))
    .addOption(formatOption("text", "json"))
    .addHelpText(
      "after",
      "\n--format json prints one object a line, with everything the record has.",
    )
    .action(command(async () => (await import("./ls.ts")).listInquiries));
  group
    .command("show <id>")
    .description("one question in full; an id that was used more than once gives several")
    .option("-c, --conversation <target>", "only in this one; may be repeated", collect)
    .addOption(formatOption("text", "json"))
    .action(command(async () => (await import("./show.ts")).showInquiry));
}
