/** Options and help of the smaller commands. The commands themselves are loaded when they run. */
import { Argument, type Command } from "commander";
import { define, targetHelp } from "../define.ts";
import { CONFIG_OPTIONS, FORMAT_OPTIONS, MODE_OPTIONS, NO_OPTIONS } from "../options.ts";
import {
  ANSWER_OPTIONS,
  ATTACHMENT_OPTIONS,
  DOCTOR_OPTIONS,
  EXPORT_ANSWERS_OPTIONS,
  GET_CONFIG_OPTIONS,
  INIT_OPTIONS,
  LIST_ATTACHMENTS_OPTIONS,
  LIST_INQUIRIES_OPTIONS,
  LIST_MODELS_OPTIONS,
  NOTIFY_OPTIONS,
  SET_CONFIG_OPTIONS,
  SHOW_CONFIG_OPTIONS,
  SHOW_INQUIRY_OPTIONS,
  TRUST_OPTIONS,
  UNDO_OPTIONS,
  USAGE_OPTIONS,
} from "./options.ts";

export function defineInit(definition: Command): void {
  define(definition, INIT_OPTIONS, async () => (await import("./init.ts")).init)
    .argument("[folder]", "Folder to turn into a workspace (default: the current folder)")
    .addHelpText(
      "after",
      `
Writes .jp/config.toml, .jp/config.schema.json for editors to check it with,
and .jp/.gitignore, by which Git ignores the conversations. Existing files are
never overwritten. Conversations from before, when the folder was not a
workspace, stay yours: they are the local ones of the workspace.`,
    );
}

const RESUME_TARGET = [
  "A target is an ID (jp-c17457886043, or only its digits), one or more words that",
  "are all in the title or in messages of the conversation, or a keyword:",
];

export function defineResume(definition: Command): void {
  define(definition, MODE_OPTIONS, async () => (await import("./session/resume.ts")).resume)
    .argument("[target...]", "Conversation to continue (default: choose from a list)")
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
    );
}

export function defineUndo(definition: Command): void {
  define(definition, UNDO_OPTIONS, async () => (await import("./undo.ts")).undo)
    .argument("[target]", "Conversation whose changes to undo")
    .addHelpText(
      "after",
      `
Shows the difference, asks you, and restores the files that jp's own tools have
changed in the last turn. Run it again to go back turn by turn. If someone has
changed a file since, jp lists it and restores nothing, unless you use --force.
The model is told with your next message.

Commands are undone in a Git work tree, except for files that Git ignores.
${targetHelp("active")}`,
    );
}

export function defineDiff(definition: Command): void {
  define(definition, NO_OPTIONS, async () => (await import("./undo.ts")).diff)
    .argument("[target]", "Conversation whose changes to show")
    .addHelpText(
      "after",
      `
Compares the files that jp's own tools have changed with what they were before
the first change, as far as jp has kept that. Turns that you have undone do not
count.
${targetHelp("active")}`,
    );
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
  define(
    group.command("ls"),
    LIST_INQUIRIES_OPTIONS,
    async () => (await import("./inquiry.ts")).listInquiries,
  )
    .description("List questions and decisions from all conversations, including archived ones")
    .addHelpText("after", LIST_HELP);
  define(
    group.command("show <id>"),
    SHOW_INQUIRY_OPTIONS,
    async () => (await import("./inquiry.ts")).showInquiry,
  ).description("Show a question or decision in full; the beginning of its ID is enough");
  define(
    group.command("answer <id> [value...]"),
    ANSWER_OPTIONS,
    async () => (await import("./answer.ts")).answerFromCommandLine,
  )
    .description("Answer a pending inquiry; without a value, jp prompts you")
    .addHelpText("after", ANSWER_HELP);
  define(
    group.command("export [conversation]"),
    EXPORT_ANSWERS_OPTIONS,
    async () => (await import("./export-answers.ts")).exportAnswers,
  )
    .description("Export a conversation's answers for jp query --answers")
    .addHelpText(
      "after",
      `
The file is TOML, with one entry for each answer and decision. An entry matches
the question's text and the call's arguments; delete what may vary. Secrets are
not recorded, so their entries name an environment variable.
${targetHelp("active")}`,
    );
}

export function defineUsage(definition: Command): void {
  define(definition, USAGE_OPTIONS, async () => (await import("./usage.ts")).showUsage).addHelpText(
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
  );
}

export function defineModel(group: Command): void {
  define(
    group.command("ls [provider]"),
    LIST_MODELS_OPTIONS,
    async () => (await import("./model.ts")).listModels,
  ).description("List models of one provider, or of all that are available");
}

export function defineConfig(group: Command): void {
  define(
    group.command("show [key]"),
    SHOW_CONFIG_OPTIONS,
    async () => (await import("./config.ts")).showConfig,
  ).description("Show the effective config, or the part under a key");
  define(
    group.command("get <key>"),
    GET_CONFIG_OPTIONS,
    async () => (await import("./config.ts")).getConfig,
  ).description("Print one value; a table is printed as JSON");
  define(
    group.command("set <key> <value>"),
    SET_CONFIG_OPTIONS,
    async () => (await import("./config.ts")).setConfig,
  ).description("Set a value in a config file, keeping its comments");
  define(
    group.command("path"),
    FORMAT_OPTIONS,
    async () => (await import("./config.ts")).printConfigPaths,
  )
    .description("List every file and variable that config can come from, highest precedence last")
    .addHelpText(
      "after",
      `
Files that exist are printed to stdout, the other places to stderr. What a
conversation remembers, --cfg and other flags come after all of them:
\`jp config show --explain\` shows where each value comes from.`,
    );
  define(group.command("schema"), NO_OPTIONS, async () => (await import("./config.ts")).printSchema)
    .description("Print a JSON Schema of the config, for editors")
    .addHelpText(
      "after",
      `
\`jp init\` writes it to .jp/config.schema.json. To update that copy:
  jp config schema > .jp/config.schema.json`,
    );
}

export function defineAttachment(group: Command): void {
  define(
    group.command("ls").alias("l"),
    LIST_ATTACHMENTS_OPTIONS,
    async () => (await import("./attachment.ts")).listAttachments,
  )
    .description("List what is attached")
    .addHelpText("after", targetHelp("active"));
  define(
    group.command("add <what...>").alias("a"),
    ATTACHMENT_OPTIONS,
    async () => (await import("./attachment.ts")).addAttachments,
  )
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
    );
  define(
    group.command("rm <what...>").alias("r"),
    ATTACHMENT_OPTIONS,
    async () => (await import("./attachment.ts")).removeAttachments,
  ).description("Detach something from a conversation");
  define(
    group.command("print <what>").alias("p"),
    CONFIG_OPTIONS,
    async () => (await import("./attachment.ts")).printAttachment,
  ).description("Print an attachment as the model would get it");
}

export function defineNotify(group: Command): void {
  define(
    group.command("test"),
    NOTIFY_OPTIONS,
    async () => (await import("./notify.ts")).testNotifications,
  )
    .description("Send a test notification through each configured channel")
    .addHelpText(
      "after",
      `
Channels are set up under \`notify\` in the config. Prints one line per channel.

Exit status: 0 if every notification was sent, 1 if one was not.`,
    );
}

export function defineTrust(definition: Command): void {
  define(definition, TRUST_OPTIONS, async () => (await import("./trust.ts")).trust).addHelpText(
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
  );
}

export function defineDoctor(definition: Command): void {
  define(
    definition,
    DOCTOR_OPTIONS,
    async () => (await import("./doctor/doctor.ts")).doctor,
  ).addHelpText(
    "after",
    `
Prints one line per check: ok, a warning or a problem, with a suggested fix.
Starts the MCP servers of enabled tools and stops them again. Changes nothing
on disk.

Exit status: 0 if there are no problems, 1 if there are.`,
  );
}

export function defineCompletion(definition: Command): void {
  define(
    definition,
    NO_OPTIONS,
    async () => (await import("./completion/scripts.ts")).printCompletion,
  )
    .addArgument(new Argument("<shell>", "Your shell").choices(["bash", "zsh", "fish"]))
    .addHelpText(
      "after",
      `
To install it:
  bash   add to ~/.bashrc:  source <(jp completion bash)
  zsh    add to ~/.zshrc, after compinit:  source <(jp completion zsh)
  fish   run:  jp completion fish > ~/.config/fish/completions/jp.fish`,
    );
}
