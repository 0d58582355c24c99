/**
 * A command line as rules see it: in parts, each of which has to be allowed. A rule that stops a command also checks
 * the commands that its parts would start.
 */
import type { Rule } from "../../settings/config/index.ts";
import type { TextTest } from "./glob.ts";
import {
  type CommandHazard,
  type CommandPart,
  isFoundIn,
  isPrefixOf,
  optionsFrom,
  parseCommandLine,
  partsForRefusal,
} from "../../reach/shell/index.ts";

/** Reads a command line. */
export type ReadCommand = (line: string) => readonly CommandUnit[];

/**
 * Why a rule that lets calls run does not cover a command that begins as it says. `option`: the command has one that the
 * person who granted the rule has not seen.
 */
export type CommandObstacle = CommandHazard | "option";

export interface CommandUnit extends Pick<CommandPart, "hazards"> {
  /** It runs by itself. Otherwise a part may start it, and rules can only stop it. */
  readonly isPart: boolean;
  /** Its words. Empty if it has none, or cannot be read. */
  readonly text: string;
  /** For a rule that stops calls. `test`: whether a text meets the rule's condition. */
  readonly isCaughtBy: (rule: Rule, test: TextTest) => boolean;
  /** For a rule that lets calls run. It covers the command if there are none. Undefined if it is about other commands. */
  readonly obstaclesTo: (rule: Rule, test: TextTest) => readonly CommandObstacle[] | undefined;
}

export const readCommandLine: ReadCommand = (line) => {
  const { parts, hazards } = parseCommandLine(line);
  // A line that cannot be split into parts: only a rule about the whole line lets it run.
  const own = parts.length === 0 ? [{ words: [], hazards }] : parts;
  return [
    ...own.map((part) => unitOf(line, part, true)),
    ...partsForRefusal(line).map((part) => unitOf(line, part, false)),
  ];
};

function unitOf(line: string, part: CommandPart, isPart: boolean): CommandUnit {
  const { hazards } = part;
  const text = part.words.join(" ");
  return {
    isPart,
    text,
    hazards,
    isCaughtBy: (rule, test) => {
      if (rule.prefix !== undefined) return isFoundIn(wordsOf(rule.prefix), part);
      return test(line) || (!isAboutLine(rule) && test(text));
    },
    obstaclesTo: (rule, test) => {
      if (isAboutLine(rule)) return test(line) ? [] : undefined;
      const { prefix, options } = rule;
      if (prefix === undefined) return test(text) ? hazards : undefined;
      const words = wordsOf(prefix);
      if (!isPrefixOf(words, { ...part, hazards: [] })) return undefined;
      const isShown = (option: string) => options?.includes(option) ?? true;
      return optionsFrom(words.length, part).every(isShown) ? hazards : [...hazards, "option"];
    },
  };
}

/** Whether the rule compares the whole line, unchanged. */
function isAboutLine({ prefix, pattern, glob }: Rule): boolean {
  return prefix === undefined && pattern === undefined && glob === undefined;
}

/** The options after these leading words, in each command of the line that begins with them. */
export function optionsAfter(prefix: string, line: string): readonly string[] {
  if (!line.includes("-")) return [];
  const words = wordsOf(prefix);
  const parts = parseCommandLine(line).parts.filter((part) => isPrefixOf(words, part));
  return parts.flatMap((part) => optionsFrom(words.length, part));
}

/** The words of a plain command, or none if it is not plain. */
export function wordsOf(command: string): readonly string[] {
  const [part, ...others] = parseCommandLine(command).parts;
  return part === undefined || others.length > 0 || part.hazards.length > 0 ? [] : part.words;
}
