/**
 * `jp complete -- words…`, for the scripts of `jp completion`: prints candidates for the last word, one
 * per line, each with a tab and its description. Errors are swallowed: they would garble the prompt.
 */
import type { Command } from "commander";
import { truncate } from "../../../surfaces/render/index.ts";
import { loadModule, oneLine } from "../../../util/index.ts";
import type { Host } from "../../host.ts";
import { findPosition, type Position } from "./position.ts";
import type { Candidate } from "./values.ts";

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
  const { findValues } = await loadModule(() => import("./values.ts"));
  return findValues(position, host);
}

/** Bash inserts it unquoted: a name from a config must not be able to run a command. */
function isSafe(text: string): boolean {
  return !/[\s"'`$&|;<>()\\!{}~#?[\]]/.test(text) && oneLine(text) === text;
}

function shortened(description = ""): string {
  return truncate(oneLine(description), MAX_DESCRIPTION_LENGTH);
}
