/** Where in a command line somebody is: in which command, behind which words, at what. */
import type { Argument, Command, Option } from "commander";

export interface Position {
  readonly command: Command;
  /** What is being typed; may be empty. */
  readonly word: string;
  /** What may stand here as the value of something. */
  readonly value?: Option | Argument;
  /** The words before the value that belong to it: of a command, its earlier arguments. */
  readonly operands: readonly string[];
  /** Stands before the value in the same word: `--format=`. */
  readonly prefix: string;
  readonly mayBeOption: boolean;
  readonly mayBeCommand: boolean;
  /** What `--workspace` says. */
  readonly workspace?: string;
}

/** `words` are those behind `jp`; the last one is being typed. */
export function findPosition(program: Command, words: readonly string[]): Position {
  const word = words.at(-1) ?? "";
  let command = program;
  let open: Option | undefined;
  let isOver = false;
  let workspace: string | undefined;
  let operands: string[] = [];
  for (const earlier of words.slice(0, -1)) {
    const isFlag = !isOver && earlier.startsWith("-") && earlier !== "-";
    if (open?.required === true || (open?.optional === true && !isFlag)) {
      if (open.long === "--workspace") workspace = earlier;
      open = undefined;
    } else if (earlier === "--" && !isOver) {
      isOver = true;
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
  return { ...place, ...atWord({ ...place, word, open, isOver }) };
}

interface Reached extends Pick<Position, "command" | "operands" | "word"> {
  readonly open: Option | undefined;
  readonly isOver: boolean;
}

function atWord({ command, operands, word, open, isOver }: Reached) {
  const nothing = { prefix: "", mayBeOption: false, mayBeCommand: false };
  if (open?.required === true) return { ...nothing, word, value: open };
  const { prefix, rest } = /^(?<prefix>--[^=]+=)(?<rest>.*)$/s.exec(word)?.groups ?? {};
  if (prefix !== undefined && rest !== undefined && !isOver) {
    const value = findOption(command, prefix.slice(0, -1));
    return { ...nothing, word: rest, prefix, ...(value !== undefined && { value }) };
  }
  if (word.startsWith("-") && !isOver) return { ...nothing, word, mayBeOption: true };
  if (open !== undefined) return { ...nothing, word, value: open };
  const value = argumentAt(command, operands.length);
  const mayBeCommand = operands.length === 0 && command.commands.length > 0;
  return { ...nothing, word, mayBeCommand, ...(value !== undefined && { value }) };
}

/** `help` stands before the names that it explains. */
function findCommand(command: Command, name: string): Command | undefined {
  if (name === "help" && command.commands.length > 0) return command;
  return command.commands.find((one) => one.name() === name || one.aliases().includes(name));
}

/** Options of the commands around hold inside of them too. Without a value, none is open. */
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
