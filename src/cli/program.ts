/** The `jp` program: its global options and the list of commands. A command is loaded when it is named. */
import { Command, Help, type Option } from "commander";
import { wrapProse } from "../surfaces/render/index.ts";
import { columnsOf } from "../surfaces/terminal/index.ts";
import { loadModule, neutralize } from "../util/index.ts";
import { addOptions, define, setHost } from "./define.ts";
import { EXIT_STATUSES } from "./exit-status.ts";
import type { Host } from "./host.ts";
import { GLOBAL_OPTIONS, MODE_OPTIONS } from "./options.ts";

interface ListedCommand {
  readonly name: string;
  readonly alias?: string;
  readonly description: string;
  /**
   * Adds the options, help and subcommands, which the command list does not show. Subcommands that are not named may
   * be left out.
   */
  readonly loadDefinition: () => Promise<
    (command: Command, isNamed: (word: string) => boolean) => void
  >;
}

const COMMANDS: readonly ListedCommand[] = [
  {
    name: "init",
    description: "Create a workspace in a folder",
    loadDefinition: async () => (await import("./command/definitions.ts")).defineInit,
  },
  {
    name: "query",
    alias: "q",
    description: "Ask the assistant",
    loadDefinition: async () => (await import("./command/query/definition.ts")).defineQuery,
  },
  {
    name: "resume",
    description: "Continue an earlier conversation in a session",
    loadDefinition: async () => (await import("./command/definitions.ts")).defineResume,
  },
  {
    name: "conversation",
    alias: "c",
    description: "List, read, search and manage conversations",
    loadDefinition: async () =>
      (await import("./command/conversation/definition.ts")).defineConversation,
  },
  {
    name: "undo",
    description: "Undo the file changes of the last turn",
    loadDefinition: async () => (await import("./command/definitions.ts")).defineUndo,
  },
  {
    name: "diff",
    description: "Show what a conversation has changed in files",
    loadDefinition: async () => (await import("./command/definitions.ts")).defineDiff,
  },
  {
    name: "inquiry",
    description: "List, inspect and answer questions",
    loadDefinition: async () => (await import("./command/definitions.ts")).defineInquiry,
  },
  {
    name: "evidence",
    description: "Export decisions as evidence, and verify it",
    loadDefinition: async () => (await import("./command/evidence/definition.ts")).defineEvidence,
  },
  {
    name: "attachment",
    alias: "a",
    description: "Attach files, pages and command output",
    loadDefinition: async () => (await import("./command/definitions.ts")).defineAttachment,
  },
  {
    name: "serve",
    description: "Answer from a browser or a phone",
    loadDefinition: async () => (await import("./command/serve/definition.ts")).defineServe,
  },
  {
    name: "worker",
    description: "Run the turns of a database, wherever they were left",
    loadDefinition: async () => (await import("./command/worker/definition.ts")).defineWorker,
  },
  {
    name: "store",
    description: "Keep conversations in a database",
    loadDefinition: async () => (await import("./command/store/definition.ts")).defineStore,
  },
  {
    name: "usage",
    description: "Show token usage and costs",
    loadDefinition: async () => (await import("./command/definitions.ts")).defineUsage,
  },
  {
    name: "tool",
    description: "List, inspect and run tools",
    loadDefinition: async () => (await import("./command/tool/definition.ts")).defineTool,
  },
  {
    name: "permissions",
    description: "List, remove and propose saved permissions",
    loadDefinition: async () => (await import("./command/tool/definition.ts")).definePermissions,
  },
  {
    name: "mcp",
    description: "Manage MCP servers, and serve jp over MCP",
    loadDefinition: async () => (await import("./command/mcp/definition.ts")).defineMcp,
  },
  {
    name: "model",
    description: "List available models",
    loadDefinition: async () => (await import("./command/definitions.ts")).defineModel,
  },
  {
    name: "config",
    description: "Show and change the configuration",
    loadDefinition: async () => (await import("./command/definitions.ts")).defineConfig,
  },
  {
    name: "notify",
    description: "Test notifications",
    loadDefinition: async () => (await import("./command/definitions.ts")).defineNotify,
  },
  {
    name: "trust",
    description: "Review and trust what this workspace would run",
    loadDefinition: async () => (await import("./command/definitions.ts")).defineTrust,
  },
  {
    name: "doctor",
    description: "Check your setup and suggest fixes",
    loadDefinition: async () => (await import("./command/definitions.ts")).defineDoctor,
  },
  {
    name: "completion",
    description: "Print a shell completion script",
    loadDefinition: async () => (await import("./command/definitions.ts")).defineCompletion,
  },
];

const LISTING = ["-h", "--help", "help", "complete", "demo"];

const SESSION_HELP = "Without a command, jp opens an interactive session on a terminal.";

/** Hides the preset of an option that can stand alone: its description explains it. */
function describeOption(option: Option): string {
  return new Help().optionDescription(option).replace(/ \(preset: [^)]*\)$/, "");
}

const HELP_WIDTH = 80;

/** Does not open standard output unless it is a terminal. */
function helpWidth(host: Host): number {
  return host.isTerminal() ? host.stdout.columns || HELP_WIDTH : HELP_WIDTH;
}

/** Help paragraphs have line breaks for 80 columns, and are rewrapped for fewer. */
function fitHelp(text: string, width: number): string {
  if (width >= HELP_WIDTH) return text;
  return text.replaceAll(/^\S.*(?:\n\S.*)*/gm, (paragraph) =>
    wrapProse(paragraph.replaceAll("\n", " "), width).join("\n"),
  );
}

/** `isNamed` says whether the command line has this word. */
export async function createProgram(
  host: Host,
  isNamed: (word: string) => boolean,
): Promise<Command> {
  const program = new Command("jp")
    .description(
      "An assistant that asks. Tools and the model can ask you typed questions in the middle of a " +
        "turn. jp routes each question by policy, and records who asked and who answered.",
    )
    .version(`jp ${host.version}`, "-V, --version", "Print the version")
    .helpOption("-h, --help", "Show help")
    .helpCommand("help [command]", "Show help for a command")
    .addHelpText("after", `\n${SESSION_HELP}\n\n${EXIT_STATUSES}`)
    .configureHelp({ optionDescription: describeOption, minWidthToWrap: 20 })
    .configureOutput({
      writeOut: (text) => host.writeOut(fitHelp(text, helpWidth(host))),
      getOutHelpWidth: () => helpWidth(host),
      getOutHasColors: () => host.isTerminal() && host.stdout.hasColors(),
      writeErr: (text) =>
        host.stderr.write(wrapProse(neutralize(text), columnsOf(host.stderr)).join("\n")),
      outputError: (text, write) => write(text.replace(/^error: /, "jp: ")),
    })
    .exitOverride()
    .on("beforeAllHelp", ({ command }: { readonly command: Command }) => assertKnown(command));
  addOptions(program, GLOBAL_OPTIONS);
  setHost(program, host);

  const named = COMMANDS.filter(
    ({ name, alias }) => isNamed(name) || (alias !== undefined && isNamed(alias)),
  );
  if (named.length === 0) addOptions(program, MODE_OPTIONS); // For a session. Commands have their own.
  // The list is for help, completion, and unknown commands.
  const isListed = named.length === 0 || LISTING.some(isNamed);
  for (const one of isListed ? COMMANDS : named) {
    const { name, alias, description, loadDefinition } = one;
    const listed = program.command(name).description(description);
    if (alias !== undefined) listed.alias(alias);
    if (named.includes(one)) {
      (await loadModule(loadDefinition))(listed, isListed ? () => false : isNamed);
    }
  }
  if (!isListed) {
    nameHelp(program, "jp");
    return program;
  }
  define(program.command("demo"), {
    description: "Take a guided tour in a temporary workspace",
    run: async () => (await import("./command/demo/demo.ts")).demo,
  });
  // Called by the scripts of `jp completion`, not by people.
  program
    .command("complete [words...]", { hidden: true })
    .action(async (typed: readonly string[]) => {
      const { complete } = await loadModule(() => import("./command/completion/complete.ts"));
      return complete(program, typed, host);
    });
  nameHelp(program, "jp");
  return program;
}

/** Errors point to the command's own help. `words` is how it is typed. */
function nameHelp(definition: Command, words: string): void {
  definition.showHelpAfterError(`For usage: ${words} --help`);
  for (const one of definition.commands) nameHelp(one, `${words} ${one.name()}`);
}

const HELP_FLAGS = new Set(["-h", "--help"]);
const HELP_COMMAND = "help";

/** Thrown instead of help for a command that does not exist: it is the error that the command is without `--help`. */
export class HelpForUnknown extends Error {
  /** The command line without what asks for help. */
  without(args: readonly string[]): readonly string[] {
    const rest = args.filter((word) => !HELP_FLAGS.has(word));
    return rest.length === args.length ? rest.toSpliced(rest.indexOf(HELP_COMMAND), 1) : rest;
  }
}

/** Throws `HelpForUnknown` if the command line names a subcommand that this command does not have. */
function assertKnown({ args, commands, registeredArguments }: Command): void {
  const [first, second] = args.filter((word) => !word.startsWith("-"));
  const word = first === HELP_COMMAND ? second : first;
  if (word === undefined || commands.length === 0 || registeredArguments.length > 0) return;
  const names = commands.flatMap((one) => [one.name(), ...one.aliases()]);
  if (!names.includes(word)) throw new HelpForUnknown();
}
