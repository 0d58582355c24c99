/** Shared by command definitions: loading and running a command, and common options. */
import { Command, InvalidArgumentError, Option } from "commander";
import type { ToolDirective } from "../settings/config/index.ts";
import { loadModule } from "../util/index.ts";
import type { CommandContext, GlobalOptions } from "./context.ts";
import type { Host } from "./host.ts";

/** One run of a command. `args` are its arguments. */
export interface Call<Options> {
  readonly args: readonly string[];
  readonly options: Options;
  readonly context: CommandContext;
}

/** May throw `JpError` and `ExitStatus`. */
export type CommandFunction<Options> = (call: Call<Options>) => Promise<void>;

/** A commander action that loads the command when it runs, and flushes its output at the end. */
export function command<Options>(load: () => Promise<CommandFunction<Options>>) {
  return async (...received: unknown[]): Promise<void> => {
    const self = received.at(-1);
    if (!(self instanceof Command)) throw new TypeError("commander passes the command last");
    const { createContext } = await loadModule(() => import("./context.ts"));
    const { workspace, store, width } = self.optsWithGlobals<GlobalOptions>();
    const context = await createContext(getHost(self), { workspace, store, width });
    try {
      const run = await loadModule(load);
      const directives = toolDirectives.get(self) ?? [];
      const options = { ...self.optsWithGlobals(), directives } as Options;
      await run({ args: self.args, options, context });
    } finally {
      context.output.flush();
      await context.close();
    }
  };
}

/** Keyed by program, the outermost parent of a commander command. */
const hosts = new WeakMap<Command, Host>();

export function setHost(program: Command, host: Host): void {
  hosts.set(program, host);
}

function getHost(self: Command): Host {
  let program = self;
  while (program.parent !== null) program = program.parent;
  const host = hosts.get(program);
  if (host === undefined) throw new TypeError("the program was created without a host");
  return host;
}

/** Selects which of the user's config files to change. */
export function placeOption(description: string): Option {
  return new Option(
    "--in <place>",
    `${description}: the workspace's, your own for this workspace, or your own for all`,
  ).choices(["workspace", "local", "user"]);
}

/** `conversation.mode`, for one command. */
export function modeOption(): Option {
  return new Option("--mode <mode>", "What runs without asking").choices([
    "ask",
    "edits",
    "plan",
    "sandbox",
  ]);
}

export function formatOption(...formats: readonly string[]): Option {
  return new Option("-F, --format <format>", "Output format").choices(formats).default("text");
}

/** `--cfg`, for every command that uses the config. */
export function withConfigOption(definition: Command): Command {
  return definition.option(
    "-c, --cfg <setting>",
    "Override the config: key=value, key:=JSON, @file or a JSON object; repeatable",
    collect,
  );
}

/** The values of `-t` and `-T` in the order given, which commander's options do not keep. */
const toolDirectives = new WeakMap<Command, ToolDirective[]>();

/** `-t` and `-T`, alone for all tools, or with the name of a tool or group. */
export function withToolOptions(definition: Command): Command {
  const directives: ToolDirective[] = [];
  toolDirectives.set(definition, directives);
  const add = (isEnabled: boolean) => (name: unknown) => {
    directives.push({ isEnabled, ...(typeof name === "string" && { name }) });
  };
  return definition
    .option("-t, --tool [name]", "Enable a tool or group (default: all that can be toggled)")
    .option("-T, --no-tool [name]", "Disable a tool or group (default: all that can be toggled)")
    .on("option:tool", add(true))
    .on("option:no-tool", add(false));
}

/** For commands that work on some turns of a conversation. */
export function withTurns(definition: Command): Command {
  return definition
    .option("--first <count>", "Only the first <count> turns", parseCount)
    .option("--last <count>", "Only the last <count> turns", parseCount)
    .option("--turn <range>", "Only these turns: 3, 2..5, 4.. or ..2");
}

/** Help for commands that take `-k`. */
export const COMPACT_HELP = `A compaction rule is POLICIES or POLICIES:RANGE. Policies, joined with +:
  r, reasoning    leave out the model's reasoning
  t, tools        empty arguments and results of tool calls
  t=sreq, t=sres  empty only arguments, or only results
  t=omit          leave out the calls
  s, summarize    replace the turns with a summary by a model
A range is FROM..TO, counted from 1; ..-3 keeps the last three turns, 5.. starts
at turn 5, and .. is all turns. Without one, the first and last turn are kept.`;

/** `-k`, alone for the configured rules, or with a rule. Can be repeated. */
export function compactOption(): Option {
  return new Option(
    "-k, --compact [rule]",
    "Compact old turns by the configured rules, or by this one; repeatable",
  )
    .preset(true)
    .argParser((value, earlier?: readonly string[]) => collect(value, earlier));
}

/** For options that can be repeated: `--id a --id b`. */
export function collect(value: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, value];
}

export function repeatableChoice(
  flags: string,
  description: string,
  values: readonly string[],
): Option {
  return new Option(flags, description)
    .choices(values)
    .argParser((value, earlier?: readonly string[]) => {
      if (values.includes(value)) return collect(value, earlier);
      throw new InvalidArgumentError(`Allowed choices are ${values.join(", ")}.`);
    });
}

export function parseCount(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 0) {
    throw new InvalidArgumentError("Expected a whole number.");
  }
  return count;
}

const MAX_PORT = 65_535;

export function parsePort(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > MAX_PORT) {
    throw new InvalidArgumentError(`Expected a whole number up to ${MAX_PORT}.`);
  }
  return port;
}

/** The keywords that stand for a conversation, with their short forms. */
export const TARGET_KEYWORDS = {
  active: { short: ".", description: "the active conversation of this terminal" },
  previous: { short: "s", description: "the one that was active before it" },
  recent: { short: "r", description: "the one used last, in any terminal" },
  newest: { short: "n", description: "the one started last" },
  pinned: { short: "p", description: "the one pinned last" },
  archived: { short: "a", description: "the one archived last" },
} as const;

export type TargetKeyword = keyof typeof TARGET_KEYWORDS;

const TARGET_INTRO = [
  "A target is an ID (jp-c17457886043, or only its digits), part of a title that",
  "matches one conversation, or a keyword:",
];

/** Help for commands that take a target. */
export function targetHelp(byDefault?: TargetKeyword, intro = TARGET_INTRO): string {
  const rows = Object.entries(TARGET_KEYWORDS).map(([name, { short, description }]) => {
    const note = name === byDefault ? " (default)" : "";
    return `  ${`${name}, ${short}`.padEnd(12)}  ${description}${note}`;
  });
  return ["", ...intro, ...rows].join("\n");
}
