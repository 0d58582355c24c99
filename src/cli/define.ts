/** Shared by command definitions: loading and running a command, and the help texts that several have. */
import { Command, Option } from "commander";
import { loadModule } from "../util/index.ts";
import type { CommandContext } from "./context.ts";
import type { Host } from "./host.ts";
import type { FlagsOf, GLOBAL_OPTIONS, GlobalFlags, OptionDetails, Options } from "./options.ts";

/** One run of a command with these options. `args` are its arguments. */
export interface Call<Declared extends Options = typeof GLOBAL_OPTIONS> {
  readonly args: readonly string[];
  readonly options: FlagsOf<Declared> & GlobalFlags;
  readonly context: CommandContext;
}

/** A command, with these options. */
interface Definition<Declared extends Options> {
  /** Absent for a command that the list of commands describes. */
  readonly description?: string;
  readonly options?: Declared;
  /** Shown after the options. */
  readonly help?: string;
  /** See `ContextOptions`. */
  readonly waitsForStore?: boolean;
  /** Loads the function that runs the command, which may throw `JpError` and `ExitStatus`. */
  readonly run: () => Promise<(call: Call<Declared>) => Promise<void>>;
}

export function define<const Declared extends Options = typeof GLOBAL_OPTIONS>(
  command: Command,
  { description, options, help, waitsForStore, run: load }: Definition<Declared>,
): Command {
  if (description !== undefined) command.description(description);
  if (options !== undefined) addOptions(command, options);
  if (help !== undefined) command.addHelpText("after", help);
  return command.action(async (...received: readonly unknown[]) => {
    const self = received.at(-1);
    if (!(self instanceof Command)) throw new TypeError("commander passes the command last");
    const { createContext } = await loadModule(() => import("./context.ts"));
    const program = programOf(self);
    const context = await createContext(hostOf(program), program.opts<GlobalFlags>(), {
      waitsForStore,
    });
    try {
      const run = await loadModule(load);
      const flags = self.optsWithGlobals<Call<Declared>["options"]>();
      await run({ args: self.args, options: flags, context });
    } finally {
      context.output.flush();
      await context.close();
    }
  });
}

export function addOptions(definition: Command, options: Options): Command {
  for (const [flags, declared] of Object.entries(options)) {
    definition.addOption(toOption(flags, declared));
  }
  return definition;
}

function toOption(flags: string, declared: string | OptionDetails): Option {
  if (typeof declared === "string") return new Option(flags, declared);
  const { description, choices, parse, isRepeatable, conflicts = [] } = declared;
  const option = new Option(flags, description).conflicts([...conflicts]);
  option
    .default(declared.default)
    .makeOptionMandatory(declared.isRequired === true)
    .hideHelp(declared.isHidden === true);
  if (choices !== undefined) option.choices(choices);
  if (parse !== undefined) option.argParser(parse);
  if (isRepeatable === true) {
    const read = option.parseArg;
    option.argParser((text, earlier: readonly unknown[] | undefined) => [
      ...(earlier ?? []),
      read === undefined ? text : read(text, undefined),
    ]);
    if (option.optional) option.preset(true);
  }
  return option;
}

/** Keyed by program, the outermost parent of a commander command. */
const hosts = new WeakMap<Command, Host>();

export function setHost(program: Command, host: Host): void {
  hosts.set(program, host);
}

function programOf(self: Command): Command {
  return self.parent === null ? self : programOf(self.parent);
}

function hostOf(program: Command): Host {
  const host = hosts.get(program);
  if (host === undefined) throw new TypeError("the program was created without a host");
  return host;
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
