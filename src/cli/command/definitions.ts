/** The options and help of the smaller commands. What a command does is loaded when it runs. */
import { Argument, type Command, Option } from "commander";
import { collect, command, formatOption, parseCount, repeatable, withSettings } from "../define.ts";

export function defineInit(definition: Command): void {
  definition
    .argument("[folder]", "the folder; without it, the one you are in")
    .option("--non-interactive", "ask nothing, and leave what would be asked open in the config")
    .addHelpText("after", "\nNothing that is there is ever overwritten.")
    .action(command(async () => (await import("./init.ts")).init));
}

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
    .action(command(async () => (await import("./inquiry.ts")).listInquiries));
  group
    .command("show <id>")
    .description("one question in full; an id that was used more than once gives several")
    .option("-c, --conversation <target>", "only in this one; may be repeated", collect)
    .addOption(formatOption("text", "json"))
    .action(command(async () => (await import("./inquiry.ts")).showInquiry));
}

export function addModelCommands(group: Command): void {
  withSettings(group.command("ls [provider]"))
    .description("list models, of one provider or of all that can be reached")
    .addOption(formatOption("text", "json"))
    .action(command(async () => (await import("./model.ts")).listModels));
}

export function addConfigCommands(group: Command): void {
  withSettings(group.command("show [key]"))
    .description("every value in force, or those below a key")
    .option("--explain", "say for each value where it comes from, and what it overrides")
    .option("--id <target>", "with what this conversation remembers")
    .addOption(formatOption("text", "json"))
    .action(command(async () => (await import("./config.ts")).showConfig));
  withSettings(group.command("get <key>"))
    .description("one value, or a table as JSON")
    .option("--id <target>", "with what this conversation remembers")
    .action(command(async () => (await import("./config.ts")).getConfig));
  group
    .command("set <key> <value>")
    .description("change a value in a config file; comments stay")
    .addOption(
      new Option("--in <place>", "the workspace's file, your own for it, or your own for all")
        .choices(["workspace", "local", "user"])
        .default("workspace"),
    )
    .option("--json", "the value is JSON")
    .action(command(async () => (await import("./config.ts")).setConfig));
  group
    .command("path")
    .description("the files that are read, the one that wins last")
    .action(command(async () => (await import("./config.ts")).printConfigPaths));
  group
    .command("schema")
    .description("a JSON Schema of the config, for editors")
    .action(command(async () => (await import("./config.ts")).printSchema));
}

export function defineTrust(definition: Command): void {
  definition
    .option("-y, --yes", "trust it without being asked")
    .option(
      "--id <target>",
      "with the config that this conversation remembers (default: the active one)",
    )
    .option("--forget", "trust nothing of this workspace any more")
    .addHelpText(
      "after",
      `
The files of a workspace can name programs to run as tools, MCP servers to
start or reach, and places to which requests to models go. They can switch on
tools that change files, and answer their questions. They may have come with a
clone, so nothing of it is used before you have trusted it: here, or when jp
query or jp tool run asks. You are asked again when it changes.
What is trusted is kept with your own data, not in the workspace.

JP_TRUSTED_WORKSPACES names folders whose workspaces are trusted, for machines
at which nobody sits.

Exit status: 0 if all of it is trusted, 1 if not.`,
    )
    .action(command(async () => (await import("./trust.ts")).trust));
}

export function defineDoctor(definition: Command): void {
  definition
    .option("--timeout <seconds>", "how long MCP servers may take to start", parseCount)
    .addOption(formatOption("text", "json"))
    .addHelpText(
      "after",
      `
A line for each check: ok, a warning, or a problem, with what to do about it.
MCP servers of tools that are on are started, and ended again. Nothing on the
disk is changed.

Exit status: 0 if there is no problem, 1 if there is one.`,
    )
    .action(command(async () => (await import("./doctor/doctor.ts")).doctor));
}

export function defineCompletion(definition: Command): void {
  definition
    .addArgument(new Argument("<shell>", "your shell").choices(["bash", "zsh", "fish"]))
    .addHelpText(
      "after",
      `
  bash   in ~/.bashrc:  source <(jp completion bash)
  zsh    in ~/.zshrc, behind compinit:  source <(jp completion zsh)
  fish   jp completion fish > ~/.config/fish/completions/jp.fish`,
    )
    .action(command(async () => (await import("./completion/scripts.ts")).printCompletion));
}
