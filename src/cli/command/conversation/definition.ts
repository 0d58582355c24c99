/** `jp conversation`: the words that describe its commands. */
import { type Command, Option } from "commander";
import { collect, command, formatOption, parseCount, repeatable } from "../../define.ts";
import { TARGET_HELP } from "../../target-help.ts";

const SORTS = ["activity", "created", "title"];
const SCOPES = [
  "title",
  "user",
  "assistant",
  "reasoning",
  "structured",
  "tool-call",
  "tool-result",
  "inquiry",
];

export function addConversationCommands(group: Command): void {
  addReaders(group);
  addSearch(group);
  addWriters(group);
}

function addReaders(group: Command): void {
  group
    .command("ls")
    .description("list conversations, the one used last at the bottom")
    .option("-a, --archived", "list the archived ones instead")
    .option("--local", "only those kept for you alone")
    .option("-n, --limit <count>", "only the last so many", parseCount)
    .addOption(new Option("--sort <key>", "what to sort by").choices(SORTS).default("activity"))
    .option("-r, --reverse", "the other way round")
    .addOption(formatOption("text", "json"))
    .action(command(async () => (await import("./ls.ts")).listConversations));
  group
    .command("show [target...]")
    .description("what there is to know about a conversation")
    .addOption(formatOption("text", "json"))
    .addHelpText("after", TARGET_HELP)
    .action(command(async () => (await import("./show.ts")).showConversations));
  withTurns(group.command("print [target]"))
    .description("read a conversation")
    .option("--full", "whole tool results, not their first lines")
    .option("--no-reasoning", "without the model's reasoning")
    .addOption(formatOption("text", "markdown", "json"))
    .addHelpText("after", TARGET_HELP)
    .action(command(async () => (await import("./print.ts")).printConversation));
  group
    .command("path [target]")
    .description("where a conversation is kept")
    .option("-e, --events", "the file of its events")
    .option("-m, --metadata", "the file of its metadata")
    .option("-b, --base-config", "the file of its base config")
    .addHelpText("after", TARGET_HELP)
    .action(command(async () => (await import("./show.ts")).printPath));
}

function addSearch(group: Command): void {
  group
    .command("grep <pattern...>")
    .description("search everything that was said; questions too, but never answers")
    .option("-r, --regex", "the patterns are regular expressions")
    .option("-i, --ignore-case", "ignore case (the default if no pattern has a capital)")
    .option("-s, --case-sensitive", "respect case")
    .option("--id <target>", "search only this conversation; may be repeated", collect)
    .option("-a, --archived", "search the archived ones too")
    .addOption(repeatable("--scope <scope>", "search only this; may be repeated", SCOPES))
    .option("-C, --context <lines>", "show so many lines around a match", parseCount)
    .option("-m, --max-count <count>", "stop after so many matches in a conversation", parseCount)
    .option("-l, --ids", "print only the ids of conversations with a match")
    .addOption(
      new Option("-c, --count", "print how many lines match in each conversation").conflicts("ids"),
    )
    .addHelpText(
      "after",
      "\nExit status: 0 if something matched, 1 if nothing did, 2 for a bad pattern.",
    )
    .action(command(async () => (await import("./grep.ts")).grepConversations));
}

function addWriters(group: Command): void {
  group
    .command("use [target]")
    .description("make a conversation the active one in this terminal (default: the previous one)")
    .addHelpText("after", TARGET_HELP)
    .action(command(async () => (await import("./manage.ts")).useConversation));
  withTurns(group.command("fork [target]"))
    .description("copy a conversation, or some of its turns, into a new one")
    .option("-t, --title <title>", "the title of the copy")
    .option("--activate", "make the copy the active one")
    .addHelpText("after", TARGET_HELP)
    .action(command(async () => (await import("./manage.ts")).forkConversation));
  group
    .command("rm [target...]")
    .description("delete conversations for good")
    .option("-y, --yes", "do not ask")
    .addHelpText("after", TARGET_HELP)
    .action(command(async () => (await import("./manage.ts")).removeConversations));
  group
    .command("edit [target]")
    .description("change a conversation's title and place, or its files in your editor")
    .option("-t, --title <title>", "give it a title")
    .option("--no-title", "take its title away")
    .option("--pin", "pin it")
    .option("--no-pin", "unpin it")
    .option("--local", "keep it for you alone, outside the workspace")
    .option("--no-local", "keep it with the workspace")
    .option("-e, --events", "edit its events (the default)")
    .option("-m, --metadata", "edit its metadata")
    .option("-b, --base-config", "edit its base config")
    .addHelpText("after", TARGET_HELP)
    .action(command(async () => (await import("./edit.ts")).editConversation));
  group
    .command("archive [target...]")
    .description("put conversations out of the way")
    .addHelpText("after", TARGET_HELP)
    .action(command(async () => (await import("./manage.ts")).archiveConversations));
  group
    .command("unarchive <target...>")
    .description("bring archived conversations back")
    .addHelpText("after", TARGET_HELP)
    .action(command(async () => (await import("./manage.ts")).unarchiveConversations));
}

function withTurns(definition: Command): Command {
  return definition
    .option("--first <count>", "only the first so many turns", parseCount)
    .option("--last <count>", "only the last so many turns", parseCount)
    .option("--turn <range>", "only these: 3, 2..5, 4.. or ..2");
}
