/** Options and help of `jp conversation`. */
import type { Command } from "commander";
import { addOptions, COMPACT_HELP, define, targetHelp } from "../../define.ts";
import { FORMAT_OPTIONS } from "../../options.ts";
import * as options from "./options.ts";

const SUBCOMMANDS: Readonly<Record<string, (group: Command) => void>> = {
  ls: defineList,
  show: defineShow,
  print: definePrint,
  path: definePath,
  file: defineFile,
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
  define(group.command("ls"), {
    description: "List conversations, the most recent last",
    options: options.LIST,
    run: async () => (await import("./ls.ts")).listConversations,
  });
}

function defineShow(group: Command): void {
  define(group.command("show [target...]"), {
    description: "Show details of a conversation",
    options: FORMAT_OPTIONS,
    help: targetHelp("active"),
    run: async () => (await import("./show.ts")).showConversations,
  });
}

function definePrint(group: Command): void {
  define(group.command("print [target]"), {
    description: "Print a conversation",
    options: options.PRINT,
    help: targetHelp("active"),
    run: async () => (await import("./print.ts")).printConversation,
  });
}

function definePath(group: Command): void {
  define(group.command("path [target]"), {
    description: "Print the folder of a conversation, or the path of one of its files",
    options: options.PATH,
    help: targetHelp("active"),
    run: async () => (await import("./show.ts")).printPath,
  });
}

function defineFile(group: Command): void {
  define(group.command("file <digest>"), {
    description: "Copy a file that the model has sent, such as an image",
    options: options.FILE,
    help: `
\`jp conversation print\` lists the files with their digests. The first 8 digits
of one are enough. jp does not check what is in a file, so treat it like one
from a stranger.`,
    run: async () => (await import("./file.ts")).copyFile,
  });
}

function defineLabels(group: Command): void {
  const labels = addOptions(group.command("label"), options.LABEL).description(
    "Manage the labels of conversations",
  );
  define(labels.command("add <label...>"), {
    description: "Add labels: key or key=value",
    options: options.LABEL,
    run: async () => (await import("./label.ts")).addLabels,
  });
  define(labels.command("rm [label...]"), {
    description: "Remove labels by key (default: all)",
    options: options.LABEL,
    run: async () => (await import("./label.ts")).removeLabels,
  });
  define(labels.command("ls", { isDefault: true }), {
    description: "List labels (default)",
    options: options.LIST_LABELS,
    run: async () => (await import("./label.ts")).listLabels,
  });
}

function defineGrep(group: Command): void {
  define(group.command("grep <pattern...>"), {
    description: "Search messages, tool calls and questions, but never answers to questions",
    options: options.GREP,
    help: "\nExit status: 0 if something matched, 1 if nothing did, 2 for an invalid pattern.",
    run: async () => (await import("./grep.ts")).grepConversations,
  });
}

function defineCompact(group: Command): void {
  define(group.command("compact [target...]"), {
    description: "Shorten old turns for the model; the record keeps them",
    options: options.COMPACT,
    help: `
Without -r, -t, -s or -k, jp applies conversation.compaction.rules of the
config; by default, it strips reasoning and tool calls, and keeps the first and
last turn. jp also compacts by itself before the model's context window is full
(conversation.compaction.auto).

${COMPACT_HELP}
${targetHelp("active")}`,
    run: async () => (await import("./compact.ts")).compact,
  });
}

function defineUse(group: Command): void {
  define(group.command("use [target]"), {
    description: "Make a conversation the active one of this terminal",
    help: targetHelp("previous"),
    run: async () => (await import("./manage.ts")).useConversation,
  });
}

function defineFork(group: Command): void {
  define(group.command("fork [target]"), {
    description: "Copy a conversation, or some of its turns, into a new one",
    options: options.FORK,
    help: `\n${COMPACT_HELP}\n${targetHelp("active")}`,
    run: async () => (await import("./manage.ts")).forkConversation,
  });
}

function defineRemove(group: Command): void {
  define(group.command("rm [target...]"), {
    description: "Delete conversations permanently",
    options: options.REMOVE,
    help: targetHelp("active"),
    run: async () => (await import("./manage.ts")).removeConversations,
  });
}

function defineEdit(group: Command): void {
  define(group.command("edit [target]"), {
    description: "Change a conversation's title, pin or location, or edit its files",
    options: options.EDIT,
    help: targetHelp("active"),
    run: async () => (await import("./edit.ts")).editConversation,
  });
}

function defineArchive(group: Command): void {
  define(group.command("archive [target...]"), {
    description: "Archive conversations",
    help: targetHelp("active"),
    run: async () => (await import("./manage.ts")).archiveConversations,
  });
}

function defineUnarchive(group: Command): void {
  define(group.command("unarchive <target...>"), {
    description: "Restore archived conversations",
    help: targetHelp(),
    run: async () => (await import("./manage.ts")).unarchiveConversations,
  });
}

function defineVerify(group: Command): void {
  define(group.command("verify"), {
    description: "Rerun a conversation and show what differs",
    options: options.VERIFY,
    help: `
Reruns the turns in memory, with the recorded answers, permissions and
deliveries and your current config. Prints the first event that differs from
the record. Ignores times and, with a live model, its wording. The conversation
itself does not change.

By default no tool runs and no model is asked. With --tools live, tools run
with the recorded permissions: verify only your own conversations that way.
${targetHelp("active")}

Exit status: 0 if nothing differs, 1 if something does.`,
    run: async () => (await import("./verify.ts")).verify,
  }).argument("[target]", "Conversation to rerun");
}
