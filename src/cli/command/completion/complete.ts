/**
 * `jp complete -- words…`, for the scripts of `jp completion`: what could be typed next, a line for
 * each, with a tab before its description. Whatever goes wrong, nothing is said.
 */
import type { Argument, Command, Option } from "commander";
import { oneLine, truncate } from "../../../render/index.ts";
import type { Host } from "../../host.ts";

const MOST_DESCRIBED = 70;

/** The groups among the words are defined already: they were on our own command line. */
export async function complete(
  program: Command,
  words: readonly string[],
  host: Host,
): Promise<void> {
  try {
    const position = findPosition(program, words);
    const { prefix, word } = position;
    const lines = (await findCandidates(position, host))
      .filter(({ value, isReplacing }) => isReplacing === true || value.startsWith(word))
      .filter(({ value }) => isHarmless(value.startsWith(word) ? value.slice(word.length) : value))
      .map(({ value, description }) => `${prefix}${value}\t${shortened(description)}\n`);
    host.writeOut([...new Set(lines)].join(""));
  } catch {
    // There is nothing to offer.
  }
}

async function findCandidates(position: Position, host: Host): Promise<readonly Candidate[]> {
  const { command, mayBeCommand, mayBeOption, value } = position;
  const help = command.createHelp();
  if (mayBeOption) {
    const options = [...help.visibleOptions(command)];
    // Those of the commands around hold here too.
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

/** Bash inserts it as it is: a name from a config must not become a command. */
function isHarmless(text: string): boolean {
  return !/[\s"'`$&|;<>()\\!{}~#?[\]]/.test(text) && oneLine(text) === text;
}

function shortened(description = ""): string {
  return truncate(oneLine(description), MOST_DESCRIBED);
}

/** Something that could be typed next. */
export interface Candidate {
  readonly value: string;
  readonly description?: string;
  /** Takes the place of what was typed, which need not be its beginning. */
  readonly isReplacing?: boolean;
}

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
function findPosition(program: Command, words: readonly string[]): Position {
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
