/**
 * A command line as rules see it: in parts, each of which has to be allowed. A rule that stops a command also checks
 * the commands that its parts would start.
 */
import type { Rule } from "../../settings/config/index.ts";
import {
  type CommandPart,
  isFoundIn,
  isPrefixOf,
  optionsFrom,
  parseCommandLine,
  partsForRefusal,
} from "../../reach/shell/index.ts";

/** Reads a command line. */
export type ReadCommand = (line: string) => readonly CommandUnit[];

export interface CommandUnit {
  /** It runs by itself. Otherwise a part may start it, and rules can only stop it. */
  readonly isPart: boolean;
  /** `test`: whether a text meets the rule's condition. */
  readonly matches: (rule: Rule, isAllowing: boolean, test: (text: string) => boolean) => boolean;
}

/** Stands for a line that cannot be split into parts: only a rule about the whole line lets it run. */
const UNREADABLE: CommandPart = { words: [], hazards: ["unknown_syntax"] };

export const readCommandLine: ReadCommand = (line) => {
  const { parts } = parseCommandLine(line);
  const own = parts.length === 0 ? [UNREADABLE] : parts;
  return [
    ...own.map((part) => unitOf(line, part, true)),
    ...partsForRefusal(line).map((part) => unitOf(line, part, false)),
  ];
};

function unitOf(line: string, part: CommandPart, isPart: boolean): CommandUnit {
  return {
    isPart,
    matches: (rule, isAllowing, test) => {
      const { prefix, pattern, glob } = rule;
      if (prefix !== undefined) {
        const words = wordsOf(prefix);
        if (!isAllowing) return isFoundIn(words, part);
        const { options } = rule;
        const isShown = (option: string) => options?.includes(option) ?? true;
        return isPrefixOf(words, part) && optionsFrom(words.length, part).every(isShown);
      }
      if (pattern === undefined && glob === undefined) return test(line); // The whole line, unchanged.
      const text = part.words.join(" ");
      if (isAllowing) return part.hazards.length === 0 && test(text);
      return test(line) || test(text);
    },
  };
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
