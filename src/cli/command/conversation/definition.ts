/** Options and help of `jp conversation`. */
import type { Command } from "commander";
import { addOptions, COMPACT_HELP, define, targetHelp } from "../../define.ts";
import { FORMAT_OPTIONS, NO_OPTIONS } from "../../options.ts";
import {
  COMPACT_COMMAND_OPTIONS,
  EDIT_OPTIONS,
  FORK_OPTIONS,
  GREP_OPTIONS,
  LABEL_OPTIONS,
  LIST_LABELS_OPTIONS,
  LIST_OPTIONS,
  PATH_OPTIONS,
  PRINT_OPTIONS,
  REMOVE_OPTIONS,
  VERIFY_OPTIONS,
} from "./options.ts";

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
  verify: defineVerify,
};

/** Defines only the named subcommands, or all if none is named. */
export function defineConversation(group: Command, isNamed: (word: string) => boolean): void {
  const all = Object.entries(SUBCOMMANDS);
  const named = all.filter(([name]) => isNamed(name));
  for (const [, defineOne] of named.length === 0 ? all : named) defineOne(group);
}

function defineList(group: Command): void {
  define(
    group.command("ls"),
    LIST_OPTIONS,
    async () => (await import("./ls.ts")).listConversations,
  ).description("List conversations, the most recent last");
}

function defineShow(group: Command): void {
  define(
    group.command("show [target...]"),
    FORMAT_OPTIONS,
    async () => (await import("./show.ts")).showConversations,
  )
    .description("Show details of a conversation")
    .addHelpText("after", targetHelp("active"));
}

function definePrint(group: Command): void {
  define(
    group.command("print [target]"),
    PRINT_OPTIONS,
    async () => (await import("./print.ts")).printConversation,
  )
    .description("Print a conversation")
    .addHelpText("after", targetHelp("active"));
}

function definePath(group: Command): void {
  define(
    group.command("path [target]"),
    PATH_OPTIONS,
    async () => (await import("./show.ts")).printPath,
  )
    .description("Print the folder of a conversation, or the path of one of its files")
    .addHelpText("after", targetHelp("active"));
}

function defineLabels(group: Command): void {
  const labels = addOptions(group.command("label"), LABEL_OPTIONS).description(
    "Manage the labels of conversations",
  );
  define(
    labels.command("add <label...>"),
    LABEL_OPTIONS,
    async () => (await import("./label.ts")).addLabels,
  ).description("Add labels: key or key=value");
  define(
    labels.command("rm [label...]"),
    LABEL_OPTIONS,
    async () => (await import("./label.ts")).removeLabels,
  ).description("Remove labels by key (default: all)");
  define(
    labels.command("ls", { isDefault: true }),
    LIST_LABELS_OPTIONS,
    async () => (await import("./label.ts")).listLabels,
  ).description("List labels (default)");
}

function defineGrep(group: Command): void {
  define(
    group.command("grep <pattern...>"),
    GREP_OPTIONS,
    async () => (await import("./grep.ts")).grepConversations,
  )
    .description("Search messages, tool calls and questions, but never answers to questions")
    .addHelpText(
      "after",
      "\nExit status: 0 if something matched, 1 if nothing did, 2 for an invalid pattern.",
    );
}

function defineCompact(group: Command): void {
  define(
    group.command("compact [target...]"),
    COMPACT_COMMAND_OPTIONS,
    async () => (await import("./compact.ts")).compact,
  )
    .description("Shorten old turns for the model; the record keeps them")
    .addHelpText(
      "after",
      `
Without -r, -t, -s or -k, jp applies conversation.compaction.rules of the config;
by default, it strips reasoning and tool calls, and keeps the first and last
turn. jp also compacts by itself before the model's context window is full
(conversation.compaction.auto).

${COMPACT_HELP}
${targetHelp("active")}`,
    );
}

function defineUse(group: Command): void {
  define(
    group.command("use [target]"),
    NO_OPTIONS,
    async () => (await import("./manage.ts")).useConversation,
  )
    .description("Make a conversation the active one of this terminal")
    .addHelpText("after", targetHelp("previous"));
}

function defineFork(group: Command): void {
  define(
    group.command("fork [target]"),
    FORK_OPTIONS,
    async () => (await import("./manage.ts")).forkConversation,
  )
    .description("Copy a conversation, or some of its turns, into a new one")
    .addHelpText("after", `\n${COMPACT_HELP}\n${targetHelp("active")}`);
}

function defineRemove(group: Command): void {
  define(
    group.command("rm [target...]"),
    REMOVE_OPTIONS,
    async () => (await import("./manage.ts")).removeConversations,
  )
    .description("Delete conversations permanently")
    .addHelpText("after", targetHelp("active"));
}

function defineEdit(group: Command): void {
  define(
    group.command("edit [target]"),
    EDIT_OPTIONS,
    async () => (await import("./edit.ts")).editConversation,
  )
    .description("Change a conversation's title, pin or location, or edit its files")
    .addHelpText("after", targetHelp("active"));
}

function defineArchive(group: Command): void {
  define(
    group.command("archive [target...]"),
    NO_OPTIONS,
    async () => (await import("./manage.ts")).archiveConversations,
  )
    .description("Archive conversations")
    .addHelpText("after", targetHelp("active"));
}

function defineUnarchive(group: Command): void {
  define(
    group.command("unarchive <target...>"),
    NO_OPTIONS,
    async () => (await import("./manage.ts")).unarchiveConversations,
  )
    .description("Restore archived conversations")
    .addHelpText("after", targetHelp());
}

function defineVerify(group: Command): void {
  define(group.command("verify"), VERIFY_OPTIONS, async () => (await import("./verify.ts")).verify)
    .description("Rerun a conversation and show what differs")
    .argument("[target]", "Conversation to rerun")
    .addHelpText(
      "after",
      `
Reruns the turns in memory, with the recorded answers, permissions and
deliveries and your current config. Prints the first event that differs from
the record. Ignores times and, with a live model, its wording. The conversation
itself does not change.

By default no tool runs and no model is asked. With --tools live, tools run
with the recorded permissions: verify only your own conversations that way.
${targetHelp("active")}

Exit status: 0 if nothing differs, 1 if something does.`,
    );
}
