/**
 * `jp complete -- words…`, for the scripts of `jp completion`: what could be typed next, a line for
 * each, with a tab before its description. Whatever goes wrong, nothing is said.
 */
import type { Command } from "commander";
import { oneLine, truncate } from "../../../render/index.ts";
import type { Host } from "../../host.ts";
import type { Candidate } from "./candidate.ts";
import { findPosition, type Position } from "./position.ts";

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
