/**
 * `jp complete -- words…`, for the scripts of `jp completion`: prints candidates for the last word, one
 * per line, each with a tab and its description. Errors are swallowed: they would garble the prompt.
 */
import type { Argument, Command, Option } from "commander";
import { oneLine, truncate } from "../../../render/index.ts";
import type { Host } from "../../host.ts";

const MAX_DESCRIPTION_LENGTH = 70;

/** The commands among `args` are already defined, because they are on our own command line too. */
export async function complete(
  program: Command,
  args: readonly string[],
  host: Host,
): Promise<void> {
  try {
    const position = findPosition(program, args);
    const { prefix, word } = position;
    const lines = (await findCandidates(position, host))
      .filter(({ value, replacesWord }) => replacesWord === true || value.startsWith(word))
      .filter(({ value }) => isSafe(value.startsWith(word) ? value.slice(word.length) : value))
      .map(({ value, description }) => `${prefix}${value}\t${shortened(description)}\n`);
    host.writeOut([...new Set(lines)].join(""));
  } catch {
    // No candidates.
  }
}

async function findCandidates(position: Position, host: Host): Promise<readonly Candidate[]> {
  const { command, mayBeCommand, mayBeOption, value } = position;
  const help = command.createHelp();
  if (mayBeOption) {
    const options = [...help.visibleOptions(command)];
    // Options of the parent commands also apply.
    for (let outer = command.parent; outer !== null; outer = outer.parent)
      options.push(...outer.options.filter(({ long }) => long !== "--version"));
    return options.flatMap(({ long, short, description }) => {
      const name = long ?? short;
      return name === undefined ? [] : [{ value: name, description }];
    });
  }
  if (mayBeCommand) {
    return help.visibleCommands(command).map((one) => ({
      value: one.name(),
      description: one.description(),
    }));
  }
  if (value === undefined) return [];
  const { findValues } = await import("./values.ts");
  return findValues(position, host);
}

/** Bash inserts it unquoted: a name from a config must not be able to run a command. */
function isSafe(text: string): boolean {
  return !/[\s"'`$&|;<>()\\!{}~#?[\]]/.test(text) && oneLine(text) === text;
}

function shortened(description = ""): string {
  return truncate(oneLine(description), MAX_DESCRIPTION_LENGTH);
}

/** Something that could be typed next. */
export interface Candidate {
  readonly value: string;
  readonly description?: string;
  /** Replaces the typed word, even if it does not start with it. */
  readonly replacesWord?: boolean;
}

export interface Position {
  readonly command: Command;
  /** The word being typed; may be empty. */
  readonly word: string;
  /** The option or argument whose value is being typed. */
  readonly value?: Option | Argument;
  /** The arguments of the command so far. */
  readonly operands: readonly string[];
  /** The part of the word before the value, such as `--format=`. */
  readonly prefix: string;
  readonly mayBeOption: boolean;
  readonly mayBeCommand: boolean;
  /** The value of `--workspace`. */
  readonly workspace?: string;
}

/** `args` follow `jp`; the last one is being typed. */
function findPosition(program: Command, args: readonly string[]): Position {
  const word = args.at(-1) ?? "";
  let command = program;
  let open: Option | undefined;
  let isAfterDashes = false;
  let workspace: string | undefined;
  let operands: string[] = [];
  for (const earlier of args.slice(0, -1)) {
    const isFlag = !isAfterDashes && earlier.startsWith("-") && earlier !== "-";
    if (open?.required === true || (open?.optional === true && !isFlag)) {
      if (open.long === "--workspace") workspace = earlier;
      open = undefined;
    } else if (earlier === "--" && !isAfterDashes) {
      isAfterDashes = true;
      open = undefined;
    } else if (isFlag) {
      open = findOption(command, earlier);
    } else {
      const inner = operands.length === 0 ? findCommand(command, earlier) : undefined;
      if (inner === undefined) operands = [...operands, earlier];
      command = inner ?? command;
    }
  }
  const place = { command, operands, ...(workspace !== undefined && { workspace }) };
  return { ...place, ...placeWord({ ...place, word, open, isAfterDashes }) };
}

interface WordPlace extends Pick<Position, "command" | "operands" | "word"> {
  readonly open: Option | undefined;
  readonly isAfterDashes: boolean;
}

function placeWord({ command, operands, word, open, isAfterDashes }: WordPlace) {
  const nothing = { prefix: "", mayBeOption: false, mayBeCommand: false };
  if (open?.required === true) return { ...nothing, word, value: open };
  const { prefix, rest } = /^(?<prefix>--[^=]+=)(?<rest>.*)$/s.exec(word)?.groups ?? {};
  if (prefix !== undefined && rest !== undefined && !isAfterDashes) {
    const value = findOption(command, prefix.slice(0, -1));
    return { ...nothing, word: rest, prefix, ...(value !== undefined && { value }) };
  }
  if (word.startsWith("-") && !isAfterDashes) return { ...nothing, word, mayBeOption: true };
  if (open !== undefined) return { ...nothing, word, value: open };
  const value = argumentAt(command, operands.length);
  const mayBeCommand = operands.length === 0 && command.commands.length > 0;
  return { ...nothing, word, mayBeCommand, ...(value !== undefined && { value }) };
}

/** `help` is followed by the command it explains. */
function findCommand(command: Command, name: string): Command | undefined {
  if (name === "help" && command.commands.length > 0) return command;
  return command.commands.find((one) => one.name() === name || one.aliases().includes(name));
}

/** Also searches the parent commands. Undefined for a flag without a value. */
function findOption(command: Command, flag: string): Option | undefined {
  for (let at: Command | null = command; at !== null; at = at.parent) {
    const found = at.options.find(({ short, long }) => short === flag || long === flag);
    if (found !== undefined) return found.required || found.optional ? found : undefined;
  }
  return undefined;
}

function argumentAt(command: Command, index: number): Argument | undefined {
  const last = command.registeredArguments.at(-1);
  return command.registeredArguments[index] ?? (last?.variadic === true ? last : undefined);
}
