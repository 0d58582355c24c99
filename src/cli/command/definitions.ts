/** Options and help of the smaller commands. The commands themselves are loaded when they run. */
import { Argument, type Command } from "commander";
import { define, targetHelp } from "../define.ts";
import { CONFIG_OPTIONS, FORMAT_OPTIONS, MODE_OPTIONS } from "../options.ts";
import * as options from "./options.ts";

export function defineInit(definition: Command): void {
  define(definition, {
    options: options.INIT,
    help: `
Writes .jp/config.toml, .jp/config.schema.json for editors to check it with,
and .jp/.gitignore, by which Git ignores the conversations. Existing files are
never overwritten. Conversations from before, when the folder was not a
workspace, stay yours: they are the local ones of the workspace.`,
    run: async () => (await import("./init.ts")).init,
  }).argument("[folder]", "Folder to turn into a workspace (default: the current folder)");
}

const RESUME_TARGET = [
  "A target is an ID (jp-c17457886043, or only its digits), one or more words that",
  "are all in the title or in messages of the conversation, or a keyword:",
];

export function defineResume(definition: Command): void {
  define(definition, {
    options: MODE_OPTIONS,
    help: `${targetHelp(undefined, RESUME_TARGET)}\n
Searches messages, and neither calls nor their results, also in archived
conversations. If several conversations match, you choose from a list. If none
does, the exit status is 1.

Shows the end of the conversation, and opens an interactive session with it.
Without a terminal, jp only makes it the active conversation, or lists those
that match and exits with status 2.`,
    run: async () => (await import("./session/resume.ts")).resume,
  }).argument("[target...]", "Conversation to continue (default: choose from a list)");
}

export function defineUndo(definition: Command): void {
  define(definition, {
    options: options.UNDO,
    help: `
Shows the difference, asks you, and restores the files that jp's own tools have
changed in the last turn. Run it again to go back turn by turn. If someone has
changed a file since, jp lists it and restores nothing, unless you use --force.
The model is told with your next message.

Commands are undone in a Git work tree, except for files that Git ignores and
nested repositories.
${targetHelp("active")}`,
    run: async () => (await import("./undo.ts")).undo,
  }).argument("[target]", "Conversation whose changes to undo");
}

export function defineDiff(definition: Command): void {
  define(definition, {
    options: options.DIFF,
    help: `
Compares the files that jp's own tools have changed with what they were before
the first change, as far as jp has kept that. Turns that you have undone do not
count.
${targetHelp("active")}`,
    run: async () => (await import("./undo.ts")).diff,
  }).argument("[target]", "Conversation whose changes to show");
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
changed since you looked at it: \`jp inquiry show\` prints the digest.

Several IDs take one yes or no: jp inquiry answer ID ID yes. jp prints all of
them before it answers any, and records each answer on its own. It names those
that were not used, and exits with status 1. What needs several people, a
signature or more than the sandbox is answered alone. If one does not fit on the
screen, jp asks you for the yes once you have read them all.`;

export function defineInquiry(group: Command): void {
  define(group.command("ls"), {
    description: "List questions and decisions from all conversations, including archived ones",
    options: options.LIST_INQUIRIES,
    help: LIST_HELP,
    run: async () => (await import("./inquiry.ts")).listInquiries,
  });
  define(group.command("show <id>"), {
    description: "Show a question or decision in full; the beginning of its ID is enough",
    options: options.SHOW_INQUIRY,
    run: async () => (await import("./inquiry.ts")).showInquiry,
  });
  define(group.command("answer <id> [value...]"), {
    description: "Answer a pending inquiry; without a value, jp prompts you",
    options: options.ANSWER,
    help: ANSWER_HELP,
    run: async () => (await import("./answer.ts")).answerFromCommandLine,
  });
  define(group.command("export [conversation]"), {
    description: "Export a conversation's answers for jp query --answers",
    options: options.EXPORT_ANSWERS,
    help: `
The file is TOML, with one entry for each answer and decision. An entry matches
the question's text and the call's arguments; delete what may vary. Secrets are
not recorded, so their entries name an environment variable.
${targetHelp("active")}`,
    run: async () => (await import("./export-answers.ts")).exportAnswers,
  });
}

export function defineUsage(definition: Command): void {
  define(definition, {
    options: options.USAGE,
    help: `
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
    run: async () => (await import("./usage.ts")).showUsage,
  });
}

export function defineModel(group: Command): void {
  define(group.command("ls [provider]"), {
    description: "List models of one provider, or of all that are available",
    options: options.LIST_MODELS,
    run: async () => (await import("./model.ts")).listModels,
  });
}

export function defineConfig(group: Command): void {
  define(group.command("show [key]"), {
    description: "Show the effective config, or the part under a key",
    options: options.SHOW_CONFIG,
    run: async () => (await import("./config.ts")).showConfig,
  });
  define(group.command("get <key>"), {
    description: "Print one value; a table is printed as JSON",
    options: options.GET_CONFIG,
    run: async () => (await import("./config.ts")).getConfig,
  });
  define(group.command("set <key> <value>"), {
    description: "Set a value in a config file, keeping its comments",
    options: options.SET_CONFIG,
    run: async () => (await import("./config.ts")).setConfig,
  });
  define(group.command("path"), {
    description: "List every file and variable that config can come from, highest precedence last",
    options: FORMAT_OPTIONS,
    help: `
Files that exist are printed to stdout, the other places to stderr. What a
conversation remembers, --cfg and other flags come after all of them:
\`jp config show --explain\` shows where each value comes from.`,
    run: async () => (await import("./config.ts")).printConfigPaths,
  });
  define(group.command("schema"), {
    description: "Print a JSON Schema of the config, for editors",
    help: `
\`jp init\` writes it to .jp/config.schema.json. To update that copy:
  jp config schema > .jp/config.schema.json`,
    run: async () => (await import("./config.ts")).printSchema,
  });
}

export function defineAttachment(group: Command): void {
  define(group.command("ls").alias("l"), {
    description: "List what is attached",
    options: options.LIST_ATTACHMENTS,
    help: targetHelp("active"),
    run: async () => (await import("./attachment.ts")).listAttachments,
  });
  define(group.command("add <what...>").alias("a"), {
    description: "Attach something to a conversation",
    options: options.ATTACHMENT,
    help: `
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
    run: async () => (await import("./attachment.ts")).addAttachments,
  });
  define(group.command("rm <what...>").alias("r"), {
    description: "Detach something from a conversation",
    options: options.ATTACHMENT,
    run: async () => (await import("./attachment.ts")).removeAttachments,
  });
  define(group.command("print <what>").alias("p"), {
    description: "Print an attachment as the model would get it",
    options: CONFIG_OPTIONS,
    run: async () => (await import("./attachment.ts")).printAttachment,
  });
}

export function defineNotify(group: Command): void {
  define(group.command("test"), {
    description: "Send a test notification through each configured channel",
    options: options.NOTIFY,
    help: `
Channels are set up under \`notify\` in the config. Prints one line per channel.

Exit status: 0 if every notification was sent, 1 if one was not.`,
    run: async () => (await import("./notify.ts")).testNotifications,
  });
}

export function defineTrust(definition: Command): void {
  define(definition, {
    options: options.TRUST,
    help: `
The files of a workspace can name programs to run as tools, MCP servers to
start or connect to, endpoints for model requests, and where notifications go.
They can enable tools that change files, and answer the questions of tools.
They may have come with a clone, so jp ignores these settings until you trust
them, either here or when \`jp query\` or \`jp tool run\` asks. If they change,
jp asks again. Your choice is stored with your own data, not in the workspace.

On machines that run unattended, set JP_TRUSTED_WORKSPACES to the folders
whose workspaces you trust.

Exit status: 0 if everything is trusted, 1 if not.`,
    run: async () => (await import("./trust.ts")).trust,
  });
}

export function defineDoctor(definition: Command): void {
  define(definition, {
    options: options.DOCTOR,
    help: `
Prints one line per check: ok, a warning or a problem, with a suggested fix.
Starts the MCP servers of enabled tools and stops them again. Changes nothing
on disk.

Exit status: 0 if there are no problems, 1 if there are.`,
    waitsForStore: false,
    run: async () => (await import("./doctor/doctor.ts")).doctor,
  });
}

export function defineCompletion(definition: Command): void {
  define(definition, {
    help: `
To install it:
  bash   add to ~/.bashrc:  source <(jp completion bash)
  zsh    add to ~/.zshrc, after compinit:  source <(jp completion zsh)
  fish   run:  jp completion fish > ~/.config/fish/completions/jp.fish`,
    run: async () => (await import("./completion/scripts.ts")).printCompletion,
  }).addArgument(new Argument("<shell>", "Your shell").choices(["bash", "zsh", "fish"]));
}
