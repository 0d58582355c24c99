/** Finds out whether a command, an option or a value is being typed on a command line. */
import type { Argument, Command, Option } from "commander";

/** The cursor's position on a command line. */
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
export function findPosition(program: Command, args: readonly string[]): Position {
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
