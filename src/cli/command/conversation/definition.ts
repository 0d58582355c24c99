/** Options and help of `jp conversation`. */
import { type Command, InvalidArgumentError, Option } from "commander";
import {
  collect,
  command,
  COMPACT_HELP,
  compactOption,
  formatOption,
  parseCount,
  repeatableChoice,
  targetHelp,
  withConfigOption,
  withTurns,
} from "../../define.ts";
import { defineVerify } from "../definitions.ts";
import { labelOption } from "../../labels.ts";

const SORT_KEYS = ["activity", "created", "title"];
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

const SUBCOMMANDS: Readonly<Record<string, (group: Command) => void>> = {
  ls: defineList,
  show: defineShow,
  print: definePrint,
  path: definePath,
  grep: defineGrep,
  use: defineUse,
  fork: defineFork,
  compact: defineCompact,
  rm: defineRemove,
  edit: defineEdit,
  archive: defineArchive,
  unarchive: defineUnarchive,
  label: defineLabels,
  verify: (group) =>
    defineVerify(group.command("verify").description("Rerun a conversation and show what differs")),
};

/** Defines only the named subcommands, or all if none is named. */
export function defineConversation(group: Command, isNamed: (word: string) => boolean): void {
  const all = Object.entries(SUBCOMMANDS);
  const named = all.filter(([name]) => isNamed(name));
  for (const [, define] of named.length === 0 ? all : named) define(group);
}

function defineList(group: Command): void {
  withSelection(group.command("ls"))
    .description("List conversations, the most recent last")
    .option("-a, --archived", "List archived conversations instead")
    .option("--local", "List only conversations stored outside the workspace, for you alone")
    .option("-n, --limit <count>", "List only the last <count>", parseCount)
    .addOption(new Option("--sort <key>", "Sort by <key>").choices(SORT_KEYS).default("activity"))
    .option("-r, --reverse", "Reverse the order")
    .addOption(formatOption("text", "json"))
    .action(command(async () => (await import("./ls.ts")).listConversations));
}

function defineShow(group: Command): void {
  group
    .command("show [target...]")
    .description("Show details of a conversation")
    .addOption(formatOption("text", "json"))
    .addHelpText("after", targetHelp("active"))
    .action(command(async () => (await import("./show.ts")).showConversations));
}

function definePrint(group: Command): void {
  withTurns(group.command("print [target]"))
    .description("Print a conversation")
    .option("--full", "Print tool results in full")
    .option("--no-reasoning", "Leave out the model's reasoning")
    .option("--compacted", "Print what the model sees: with compactions applied")
    .addOption(formatOption("text", "markdown", "json"))
    .addHelpText("after", targetHelp("active"))
    .action(command(async () => (await import("./print.ts")).printConversation));
}

function definePath(group: Command): void {
  group
    .command("path [target]")
    .description("Print the folder of a conversation, or the path of one of its files")
    .option("-e, --events", "Print the path of its events")
    .option("-m, --metadata", "Print the path of its metadata")
    .option("-b, --base-config", "Print the path of its base config")
    .addHelpText("after", targetHelp("active"))
    .action(command(async () => (await import("./show.ts")).printPath));
}

/** Which conversations are listed or searched. */
function withSelection(definition: Command): Command {
  return definition
    .addOption(labelOption("Only with this label: key or key=value; repeatable"))
    .option("--from <time>", "Only those started since then: today, 3d (ago), a date or an ID")
    .option("--until <time>", "Only those started before then");
}

function defineLabels(group: Command): void {
  const labels = withTargets(group.command("label")).description(
    "Manage the labels of conversations",
  );
  withTargets(labels.command("add <label...>"))
    .description("Add labels: key or key=value")
    .action(command(async () => (await import("./label.ts")).addLabels));
  withTargets(labels.command("rm [label...]"))
    .description("Remove labels by key (default: all)")
    .action(command(async () => (await import("./label.ts")).removeLabels));
  withTargets(labels.command("ls", { isDefault: true }))
    .description("List labels (default)")
    .addOption(formatOption("text", "json"))
    .action(command(async () => (await import("./label.ts")).listLabels));
}

function withTargets(definition: Command): Command {
  return definition.option(
    "--id <target>",
    "The conversation (default: the active one); repeatable",
    collect,
  );
}

function defineGrep(group: Command): void {
  withSelection(group.command("grep <pattern...>"))
    .description("Search messages, tool calls and questions, but never answers to questions")
    .option("-r, --regex", "Treat the patterns as regular expressions")
    .option("-i, --ignore-case", "Ignore case (default unless a pattern has a capital letter)")
    .option("-s, --case-sensitive", "Match case")
    .option("--id <target>", "Search only this conversation; repeatable", collect)
    .option("-a, --archived", "Also search archived conversations")
    .addOption(repeatableChoice("--scope <scope>", "Search only this part; repeatable", SCOPES))
    .option("-C, --context <lines>", "Show <lines> lines around each match", parseCount)
    .option("-m, --max-count <count>", "Stop after <count> matches per conversation", parseCount)
    .option("-l, --ids", "Print only the IDs of conversations that match")
    .addOption(
      new Option(
        "-c, --count",
        "Print only the number of matching lines per conversation",
      ).conflicts("ids"),
    )
    .addHelpText(
      "after",
      "\nExit status: 0 if something matched, 1 if nothing did, 2 for an invalid pattern.",
    )
    .action(command(async () => (await import("./grep.ts")).grepConversations));
}

function defineCompact(group: Command): void {
  withTurns(withConfigOption(group.command("compact [target...]")))
    .description("Shorten old turns for the model; the record keeps them")
    .option("--keep-first <turns>", "Keep this many turns at the start, or a duration such as 5h")
    .option("--keep-last <turns>", "Keep this many turns at the end, or a duration such as 2h")
    .option("--from <turn>", "Start here: 3, -3, 5h (ago) or last-compaction")
    .option("--to <turn>", "End here: 3, -3 or 2h (ago)")
    .option("-r, --reasoning", "Leave out the model's reasoning")
    .option(
      "-t, --tools [mode]",
      "Empty tool calls: strip (default), strip-requests, strip-responses or omit",
    )
    .option("-s, --summarize [focus]", "Replace the turns with a summary by a model")
    .option("-m, --model <model>", "Summarize with this model")
    .addOption(compactOption())
    .option("--dry-run", "Show what would change, and change nothing")
    .option(
      "--reset [number]",
      "Undo all compactions, or the one with this number in `show`",
      parsePosition,
    )
    .addOption(formatOption("text", "json"))
    .addHelpText(
      "after",
      `
Without -r, -t, -s or -k, jp applies conversation.compaction.rules of the config;
by default, it strips reasoning and tool calls, and keeps the first and last
turn. jp also compacts by itself before the model's context window is full
(conversation.compaction.auto).

${COMPACT_HELP}
${targetHelp("active")}`,
    )
    .action(command(async () => (await import("./compact.ts")).compact));
}

function parsePosition(text: string): number {
  const position = Number(text);
  if (Number.isInteger(position) && position > 0 && position < 1_000_000) return position;
  throw new InvalidArgumentError(
    "Expected a positive number. Put the conversation before --reset.",
  );
}

function defineUse(group: Command): void {
  group
    .command("use [target]")
    .description("Make a conversation the active one of this terminal")
    .addHelpText("after", targetHelp("previous"))
    .action(command(async () => (await import("./manage.ts")).useConversation));
}

function defineFork(group: Command): void {
  withTurns(group.command("fork [target]"))
    .description("Copy a conversation, or some of its turns, into a new one")
    .option("-t, --title <title>", "Title of the copy")
    .addOption(labelOption("Label the copy: key or key=value; repeatable"))
    .option("--reset-labels", "Do not copy the labels")
    .option("--activate", "Make the copy the active conversation")
    .addOption(compactOption())
    .addHelpText("after", `\n${COMPACT_HELP}\n${targetHelp("active")}`)
    .action(command(async () => (await import("./manage.ts")).forkConversation));
}

function defineRemove(group: Command): void {
  group
    .command("rm [target...]")
    .description("Delete conversations permanently")
    .option("-y, --yes", "Do not ask for confirmation")
    .addHelpText("after", targetHelp("active"))
    .action(command(async () => (await import("./manage.ts")).removeConversations));
}

function defineEdit(group: Command): void {
  group
    .command("edit [target]")
    .description("Change a conversation's title, pin or location, or edit its files")
    .option("-t, --title <title>", "Set the title")
    .option("--no-title", "Remove the title")
    .option("--pin", "Pin it")
    .option("--no-pin", "Unpin it")
    .option("--local", "Move it out of the workspace, for you alone")
    .option("--no-local", "Move it into the workspace")
    .option("-e, --events", "Edit its events (default)")
    .option("-m, --metadata", "Edit its metadata")
    .option("-b, --base-config", "Edit its base config")
    .addHelpText("after", targetHelp("active"))
    .action(command(async () => (await import("./edit.ts")).editConversation));
}

function defineArchive(group: Command): void {
  group
    .command("archive [target...]")
    .description("Archive conversations")
    .addHelpText("after", targetHelp("active"))
    .action(command(async () => (await import("./manage.ts")).archiveConversations));
}

function defineUnarchive(group: Command): void {
  group
    .command("unarchive <target...>")
    .description("Restore archived conversations")
    .addHelpText("after", targetHelp())
    .action(command(async () => (await import("./manage.ts")).unarchiveConversations));
}
