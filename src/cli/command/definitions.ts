/** Options and help of the smaller commands. The commands themselves are loaded when they run. */
import { Argument, type Command, Option } from "commander";
import { DECIDERS, DECISION_KINDS } from "../../record/conversation/index.ts";
import { INQUIRY_STATES } from "../../surfaces/render/index.ts";
import {
  collect,
  command,
  formatOption,
  modeOption,
  parseCount,
  repeatableChoice,
  targetHelp,
  withConfigOption,
  withToolOptions,
  withTurns,
} from "../define.ts";

export function defineInit(definition: Command): void {
  definition
    .argument("[folder]", "Folder to turn into a workspace (default: the current folder)")
    .option("--non-interactive", "Never prompt; leave the choices open in the config")
    .addOption(
      new Option(
        "--allow <what>",
        "What models may do with the files here; edit: jp shows you each change, and asks",
      ).choices(["read", "edit", "nothing"]),
    )
    .option("--commit-conversations", "Let Git see the conversations; by default it ignores them")
    .addHelpText(
      "after",
      `
Writes .jp/config.toml, .jp/config.schema.json for editors to check it with,
and .jp/.gitignore, by which Git ignores the conversations. Existing files are
never overwritten. Conversations from before, when the folder was not a
workspace, stay yours: they are the local ones of the workspace.`,
    )
    .action(command(async () => (await import("./init.ts")).init));
}

const RESUME_TARGET = [
  "A target is an ID (jp-c17457886043, or only its digits), one or more words that",
  "are all in the title or in messages of the conversation, or a keyword:",
];

export function defineResume(definition: Command): void {
  definition
    .argument("[target...]", "Conversation to continue (default: choose from a list)")
    .addOption(modeOption())
    .addHelpText("after", targetHelp(undefined, RESUME_TARGET))
    .addHelpText(
      "after",
      `
Searches messages, and neither calls nor their results, also in archived
conversations. If several conversations match, you choose from a list. If none
does, the exit status is 1.

Shows the end of the conversation, and opens an interactive session with it.
Without a terminal, jp only makes it the active conversation, or lists those that
match and exits with status 2.`,
    )
    .action(command(async () => (await import("./session/resume.ts")).resume));
}

export function defineUndo(definition: Command): void {
  definition
    .argument("[target]", "Conversation whose changes to undo")
    .option("-y, --yes", "Do not ask for confirmation")
    .option("--force", "Also replace what has changed since the turn")
    .option(
      "--with-message",
      "Also go back in the conversation: models no longer see the last turn",
    )
    .addHelpText(
      "after",
      `
Shows the difference, asks you, and restores the files that jp's own tools have
changed in the last turn. Run it again to go back turn by turn. If someone has
changed a file since, jp lists it and restores nothing, unless you use --force.
The model is told with your next message.

Commands are undone in a Git work tree, except for files that Git ignores.
${targetHelp("active")}`,
    )
    .action(command(async () => (await import("./undo.ts")).undo));
}

export function defineDiff(definition: Command): void {
  definition
    .argument("[target]", "Conversation whose changes to show")
    .addHelpText(
      "after",
      `
Compares the files that jp's own tools have changed with what they were before
the first change, as far as jp has kept that. Turns that you have undone do not
count.
${targetHelp("active")}`,
    )
    .action(command(async () => (await import("./undo.ts")).diff));
}

const LIST_HELP = `
Lists questions, permissions to run a call, deliveries of results, and calls in
doubt. Calls that the config lets run without asking are listed only with
--by policy.

Outcomes:
  answered     has an answer, or someone approved, denied or edited it
  redacted     has an answer that is a secret
  cancelled    was closed without an answer, or denied though no one said no
  approved, denied, edited
               what was decided about a call or its result
  pending      waits for someone
  unanswered   its turn went on, or ended, without an answer
  void         no longer counts, because what was decided has changed since

--format json prints one object per line, with the same fields as the desk's
API. What is pending has no outcome, and what is void has the field void.`;

const ANSWER_HELP = `
jp prints what you are answering: the question, and the tool with its source,
folder and arguments. The answer counts only for that. If it has changed by
then, jp says so and exits with status 1. With --digest, it must not have
changed since you looked at it: \`jp inquiry show\` prints the digest.`;

export function defineInquiry(group: Command): void {
  group
    .command("ls")
    .description("List questions and decisions from all conversations, including archived ones")
    .option("-c, --conversation <target>", "Only from this conversation; repeatable", collect)
    .addOption(
      repeatableChoice("--outcome <outcome>", "Only with this outcome; repeatable", INQUIRY_STATES),
    )
    .addOption(repeatableChoice("--by <who>", "Only decided by this party; repeatable", DECIDERS))
    .addOption(repeatableChoice("--kind <kind>", "Only of this kind; repeatable", DECISION_KINDS))
    .addOption(
      new Option(
        "--pending",
        "Only what is waiting for you: questions, permissions, results, calls in doubt",
      ).conflicts(["outcome", "by", "kind"]),
    )
    .addOption(
      new Option(
        "--all",
        "With --pending: from all workspaces that jp knows on this machine, or in the database",
      ).conflicts("conversation"),
    )
    .option("--mine", "With --pending: only what you may decide")
    .addOption(formatOption("text", "json"))
    .addHelpText("after", LIST_HELP)
    .action(command(async () => (await import("./inquiry.ts")).listInquiries));
  group
    .command("show <id>")
    .description("Show a question or decision in full; the beginning of its ID is enough")
    .option("-c, --conversation <target>", "Only in this conversation; repeatable", collect)
    .addOption(formatOption("text", "json"))
    .action(command(async () => (await import("./inquiry.ts")).showInquiry));
  group
    .command("answer <id> [value...]")
    .description("Answer a pending inquiry; without a value, jp prompts you")
    .option("--note <text>", "Add a note, or a reason for saying no")
    .option("--cancel", "Cancel it instead of answering")
    .option(
      "--digest <hex>",
      "Answer only if its digest is still this one; the first 16 digits are enough",
    )
    .option("--continue", "Continue the turn afterwards")
    .addHelpText("after", ANSWER_HELP)
    .action(command(async () => (await import("./answer.ts")).answerFromCommandLine));
  withTurns(group.command("export [conversation]"))
    .description("Export a conversation's answers for jp query --answers")
    .option(
      "--answers [file]",
      "Write answers, permissions and deliveries to this file (default: stdout)",
    )
    .addHelpText(
      "after",
      `
The file is TOML, with one entry for each answer and decision. An entry matches
the question's text and the call's arguments; delete what may vary. Secrets are
not recorded, so their entries name an environment variable.
${targetHelp("active")}`,
    )
    .action(command(async () => (await import("./export-answers.ts")).exportAnswers));
}

const VERIFY_SOURCES = ["recorded", "live"];

export function defineVerify(definition: Command): void {
  withToolOptions(withConfigOption(definition))
    .argument("[target]", "Conversation to rerun")
    .addOption(
      new Option("--model <which>", "Use the recorded replies, or ask the model again")
        .choices(VERIFY_SOURCES)
        .default("recorded"),
    )
    .addOption(
      new Option("--tools <which>", "Use the recorded results, or run the tools again")
        .choices(VERIFY_SOURCES)
        .default("recorded"),
    )
    .addOption(formatOption("text", "json"))
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
    )
    .action(command(async () => (await import("./conversation/verify.ts")).verify));
}

export function defineUsage(definition: Command): void {
  withConfigOption(definition)
    .addOption(
      new Option("--by <group>", "Group by model, day or conversation")
        .choices(["model", "day", "conversation"])
        .default("model"),
    )
    .option("--from <time>", "Only since then: today, 3d (ago), a date or an ID")
    .option("--until <time>", "Only before then")
    .option("--all", "Include all workspaces that you have used, or that the database has")
    .addOption(formatOption("text", "json"))
    .addHelpText(
      "after",
      `
Counts every request to a model: replies, answers to questions, summaries and
titles, in archived conversations too. CACHED is part of INPUT, and REASONING
part of OUTPUT. Costs need prices in the config, per million tokens:

  [usage]
  currency = "USD"

  [usage.prices."anthropic/claude-sonnet-4-5"]
  input = 3
  cached_input = 0.3
  cache_writes = 3.75
  output = 15`,
    )
    .action(command(async () => (await import("./usage.ts")).showUsage));
}

export function defineModel(group: Command): void {
  withConfigOption(group.command("ls [provider]"))
    .description("List models of one provider, or of all that are available")
    .addOption(formatOption("text", "json"))
    .action(command(async () => (await import("./model.ts")).listModels));
}

export function defineConfig(group: Command): void {
  withConfigOption(group.command("show [key]"))
    .description("Show the effective config, or the part under a key")
    .option("--explain", "Show where each value comes from and what it overrides")
    .option("--id <target>", "Include the config that this conversation remembers")
    .addOption(formatOption("text", "json"))
    .action(command(async () => (await import("./config.ts")).showConfig));
  withConfigOption(group.command("get <key>"))
    .description("Print one value; a table is printed as JSON")
    .option("--id <target>", "Include the config that this conversation remembers")
    .action(command(async () => (await import("./config.ts")).getConfig));
  group
    .command("set <key> <value>")
    .description("Set a value in a config file, keeping its comments")
    .addOption(
      new Option(
        "--in <place>",
        "File to change: the workspace's (default), your own for this workspace (default without one), or your own for all",
      ).choices(["workspace", "local", "user"]),
    )
    .option("--json", "Parse the value as JSON")
    .action(command(async () => (await import("./config.ts")).setConfig));
  group
    .command("path")
    .description("List every file and variable that config can come from, highest precedence last")
    .addOption(formatOption("text", "json"))
    .addHelpText(
      "after",
      `
Files that exist are printed to stdout, the other places to stderr. What a
conversation remembers, --cfg and other flags come after all of them:
\`jp config show --explain\` shows where each value comes from.`,
    )
    .action(command(async () => (await import("./config.ts")).printConfigPaths));
  group
    .command("schema")
    .description("Print a JSON Schema of the config, for editors")
    .addHelpText(
      "after",
      `
\`jp init\` writes it to .jp/config.schema.json. To update that copy:
  jp config schema > .jp/config.schema.json`,
    )
    .action(command(async () => (await import("./config.ts")).printSchema));
}

function withTarget(definition: Command): Command {
  return definition.option("--id <target>", "Use this conversation (default: the active one)");
}

export function defineAttachment(group: Command): void {
  withTarget(withConfigOption(group.command("ls").alias("l")))
    .description("List what is attached")
    .addOption(formatOption("text", "json"))
    .addHelpText("after", targetHelp("active"))
    .action(command(async () => (await import("./attachment.ts")).listAttachments));
  withTarget(group.command("add <what...>").alias("a"))
    .description("Attach something to a conversation")
    .addHelpText(
      "after",
      `
What to attach:
  src/main.ts             a file of the workspace: text, an image or a PDF
  docs                    the files in a folder, and below it
  'src/**/*.ts'           the files that match a pattern
  '!src/**/*.test.ts'     leave these out of folders and patterns
  https://example.com     a page
  'cmd:git diff'          the output of a command
  mcp+docs+page://intro   the resource page://intro of the MCP server docs

jp reads attachments again for each turn, and sends them with every request.
Folders and patterns leave out hidden files, files that .gitignore excludes,
and files that look like keys or passwords.`,
    )
    .action(command(async () => (await import("./attachment.ts")).addAttachments));
  withTarget(group.command("rm <what...>").alias("r"))
    .description("Detach something from a conversation")
    .action(command(async () => (await import("./attachment.ts")).removeAttachments));
  withConfigOption(group.command("print <what>").alias("p"))
    .description("Print an attachment as the model would get it")
    .action(command(async () => (await import("./attachment.ts")).printAttachment));
}

export function defineNotify(group: Command): void {
  withConfigOption(group.command("test"))
    .description("Send a test notification through each configured channel")
    .addOption(
      repeatableChoice("--channel <channel>", "Only through this channel; repeatable", [
        "command",
        "webhook",
      ]),
    )
    .addHelpText(
      "after",
      `
Channels are set up under \`notify\` in the config. Prints one line per channel.

Exit status: 0 if every notification was sent, 1 if one was not.`,
    )
    .action(command(async () => (await import("./notify.ts")).testNotifications));
}

export function defineTrust(definition: Command): void {
  definition
    .option("-y, --yes", "Trust everything without asking")
    .option(
      "--id <target>",
      "Include the config that this conversation remembers (default: the active one)",
    )
    .option("--forget", "Revoke all trust in this workspace")
    .addHelpText(
      "after",
      `
The files of a workspace can name programs to run as tools, MCP servers to
start or connect to, endpoints for model requests, and where notifications go.
They can enable tools that change files, and answer the questions of tools.
They may have come with a clone, so jp ignores these settings until you trust
them, either here or when \`jp query\` or \`jp tool run\` asks. If they change,
jp asks again. Your choice is stored with your own data, not in the workspace.

On machines that run unattended, set JP_TRUSTED_WORKSPACES to the folders
whose workspaces you trust.

Exit status: 0 if everything is trusted, 1 if not.`,
    )
    .action(command(async () => (await import("./trust.ts")).trust));
}

export function defineDoctor(definition: Command): void {
  definition
    .option(
      "--timeout <seconds>",
      "How long to wait for MCP servers to start (default: 15)",
      parseCount,
    )
    .addOption(formatOption("text", "json"))
    .addHelpText(
      "after",
      `
Prints one line per check: ok, a warning or a problem, with a suggested fix.
Starts the MCP servers of enabled tools and stops them again. Changes nothing
on disk.

Exit status: 0 if there are no problems, 1 if there are.`,
    )
    .action(command(async () => (await import("./doctor/doctor.ts")).doctor));
}

export function defineCompletion(definition: Command): void {
  definition
    .addArgument(new Argument("<shell>", "Your shell").choices(["bash", "zsh", "fish"]))
    .addHelpText(
      "after",
      `
To install it:
  bash   add to ~/.bashrc:  source <(jp completion bash)
  zsh    add to ~/.zshrc, after compinit:  source <(jp completion zsh)
  fish   run:  jp completion fish > ~/.config/fish/completions/jp.fish`,
    )
    .action(command(async () => (await import("./completion/scripts.ts")).printCompletion));
}
