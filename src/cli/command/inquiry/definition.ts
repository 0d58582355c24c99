/** `jp inquiry`: the words that describe its commands. */
import { type Command, Option } from "commander";
import { command, formatOption } from "../../define.ts";

const OUTCOMES = ["answered", "redacted", "cancelled", "unanswered"];
const DECIDERS = ["user", "assistant", "config", "remembered", "policy", "default"];

export function addInquiryCommands(group: Command): void {
  group
    .command("ls")
    .description("list the questions of all conversations, archived ones included")
    .option("-c, --conversation <target...>", "only those of these conversations")
    .addOption(new Option("--outcome <outcome...>", "only those that ended so").choices(OUTCOMES))
    .addOption(new Option("--by <who...>", "only those answered by").choices(DECIDERS))
    .addOption(formatOption("text", "json"))
    .addHelpText(
      "after",
      "\n--format json prints one object a line, with everything the record has.",
    )
    .action(command(async () => (await import("./ls.ts")).listInquiries));
  group
    .command("show <id>")
    .description("one question in full; an id that was used more than once gives several")
    .option("-c, --conversation <target...>", "only in these conversations")
    .addOption(formatOption("text", "json"))
    .action(command(async () => (await import("./show.ts")).showInquiry));
}
