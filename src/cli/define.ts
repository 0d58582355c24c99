/** What the definitions of commands share: how one is loaded, called and finished. */
import { Command, InvalidArgumentError, Option } from "commander";
import type { ToolDirective } from "../config/index.ts";
import type { CommandContext, GlobalOptions } from "./context.ts";
import type { Host } from "./host.ts";

/** Everything a command was given: its own words, its options, and what to work with. */
export interface Call<Options> {
  readonly words: readonly string[];
  readonly options: Options;
  readonly context: CommandContext;
}

/** May throw `CodedError` and `ExitStatus`. */
export type CommandFunction<Options> = (call: Call<Options>) => Promise<void>;

/** A commander action that loads its command first and hands over what was printed at the end. */
export function command<Options>(load: () => Promise<CommandFunction<Options>>) {
  return async (...received: unknown[]): Promise<void> => {
    const self = received.at(-1);
    if (!(self instanceof Command)) throw new TypeError("commander passes the command last");
    const { createContext } = await import("./context.ts");
    const context = createContext(hostOf(self), self.optsWithGlobals<GlobalOptions>());
    try {
      const run = await load();
      const options = { ...self.optsWithGlobals(), directives: directivesOf(self) } as Options;
      await run({ words: self.args, options, context });
    } finally {
      context.output.flush();
    }
  };
}

/** By the program, which commander's commands know as the outermost of their parents. */
const hosts = new WeakMap<Command, Host>();

export function setHost(program: Command, host: Host): void {
  hosts.set(program, host);
}

/** Throws if the command does not belong to a program that has one. */
export function hostOf(self: Command): Host {
  let program = self;
  while (program.parent !== null) program = program.parent;
  const host = hosts.get(program);
  if (host === undefined) throw new TypeError("the program was made without a host");
  return host;
}

export function formatOption(...formats: readonly string[]): Option {
  return new Option("-F, --format <format>", "how to print it").choices(formats).default("text");
}

export function parseCount(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 0) throw new InvalidArgumentError("Give a whole number.");
  return count;
}

/** For options that may be given several times: `--id a --id b`. */
export function collect(value: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, value];
}

/** The same with a closed set of values. */
export function repeatable(flags: string, description: string, values: readonly string[]): Option {
  return new Option(flags, description)
    .choices(values)
    .argParser((value, earlier?: readonly string[]) => {
      if (values.includes(value)) return collect(value, earlier);
      throw new InvalidArgumentError(`Allowed choices are ${values.join(", ")}.`);
    });
}

const given = new WeakMap<Command, ToolDirective[]>();

/** Both may stand alone, for all tools, or name a tool or a group. */
export function withDirectives(definition: Command): Command {
  const directives: ToolDirective[] = [];
  given.set(definition, directives);
  const add = (isEnabled: boolean) => (name: unknown) => {
    directives.push({ isEnabled, ...(typeof name === "string" && { name }) });
  };
  return definition
    .option("-t, --tool [name]", "switch a tool or a group on, or all that may be")
    .option("-T, --no-tool [name]", "switch a tool or a group off, or all that may be")
    .on("option:tool", add(true))
    .on("option:no-tool", add(false));
}

function directivesOf(definition: Command): readonly ToolDirective[] {
  return given.get(definition) ?? [];
}

/** For all commands that work with the config. */
export function withSettings(definition: Command): Command {
  return definition.option(
    "-c, --cfg <setting>",
    "change the config for this command: key=value, key:=JSON, @file or a JSON object; may be repeated",
    collect,
  );
}
