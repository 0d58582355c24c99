/** All commands, with the words that describe them. What one does is loaded when it is called. */
import { Command, InvalidArgumentError } from "commander";
import { neutralize } from "../render/index.ts";
import { command, setHost } from "./define.ts";
import { EXIT_STATUSES } from "./exit-status.ts";
import type { Host } from "./host.ts";

/** A command whose words are many, most often because it holds others: defined when it is named. */
interface Group {
  readonly name: string;
  readonly alias?: string;
  readonly description: string;
  readonly load: () => Promise<(group: Command) => void>;
}

const GROUPS: readonly Group[] = [
  {
    name: "init",
    description: "make a folder a jp workspace, and begin its config",
    load: async () => (await import("./command/definitions.ts")).defineInit,
  },
  {
    name: "query",
    alias: "q",
    description: "ask the assistant; it may use tools, and ask back",
    load: async () => (await import("./command/query/definition.ts")).defineQuery,
  },
  {
    name: "conversation",
    alias: "c",
    description: "list, read, search and manage conversations",
    load: async () =>
      (await import("./command/conversation/definition.ts")).addConversationCommands,
  },
  {
    name: "inquiry",
    description: "every question that was ever asked: who asked, who answered, how and when",
    load: async () => (await import("./command/definitions.ts")).addInquiryCommands,
  },
  {
    name: "tool",
    description: "list tools, look at them, try them without a model",
    load: async () => (await import("./command/tool/definition.ts")).addToolCommands,
  },
  {
    name: "mcp",
    description: "let other agents ask you, and read what was asked",
    load: async () => (await import("./command/mcp/definition.ts")).addMcpCommands,
  },
  {
    name: "model",
    description: "list the models that can be reached",
    load: async () => (await import("./command/definitions.ts")).addModelCommands,
  },
  {
    name: "config",
    description: "what is configured, where, and why",
    load: async () => (await import("./command/definitions.ts")).addConfigCommands,
  },
  {
    name: "trust",
    description: "look at what this workspace would run, and trust it",
    load: async () => (await import("./command/definitions.ts")).defineTrust,
  },
  {
    name: "doctor",
    description: "check what jp works with, and say what to put right",
    load: async () => (await import("./command/definitions.ts")).defineDoctor,
  },
  {
    name: "completion",
    description: "print what makes a shell complete jp's words",
    load: async () => (await import("./command/definitions.ts")).defineCompletion,
  },
];

/** `words` are those of the command line, without the program's own. */
export async function createProgram(host: Host, words: readonly string[]): Promise<Command> {
  const program = new Command("jp")
    .description(
      "An assistant that asks. Tools and the model put typed questions in the middle of a turn; " +
        "each is routed by policy and recorded with who asked and who answered.",
    )
    .version(`jp ${host.version}`, "-V, --version", "print the version")
    .helpOption("-h, --help", "show help")
    .helpCommand("help [command]", "show help for a command")
    .option("-w, --workspace <path>", "use the workspace at or above this path")
    .option("--width <columns>", "wrap and cut lines at this width", parseWidth)
    .addHelpText("after", `\n${EXIT_STATUSES}`)
    .showHelpAfterError("Run it with --help to see how it is used.")
    .configureOutput({
      writeOut: (text) => host.writeOut(text),
      getOutHelpWidth: () => (host.isScreen() ? host.stdout.columns : 80),
      getOutHasColors: () => host.isScreen() && host.stdout.hasColors(),
      writeErr: (text) => host.stderr.write(neutralize(text)),
      outputError: (text, write) => write(text.replace(/^error: /, "jp: ")),
    })
    .exitOverride();
  setHost(program, host);

  for (const { name, alias, description, load } of GROUPS) {
    const group = program.command(name).description(description);
    if (alias !== undefined) group.alias(alias);
    if (words.includes(name) || (alias !== undefined && words.includes(alias)))
      (await load())(group);
  }
  program
    .command("demo")
    .description("a guided tour, with a scripted assistant in a temporary workspace")
    .action(command(async () => (await import("./command/demo/demo.ts")).demo));
  // For shells, not for people: see `jp completion`.
  program
    .command("complete [words...]", { hidden: true })
    .action(async (typed: readonly string[]) =>
      (await import("./command/completion/complete.ts")).complete(program, typed, host),
    );
  return program;
}

function parseWidth(text: string): number {
  const width = Number(text);
  if (!Number.isInteger(width) || width < 20) {
    throw new InvalidArgumentError("Give a whole number of columns, 20 or more.");
  }
  return width;
}
