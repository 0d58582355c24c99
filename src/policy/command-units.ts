/**
 * A command line, as rules see it: in parts, each of which has to be allowed. A rule that stops a command also looks into what its
 * parts would start.
 */
import type { RuleConfig } from "../config/index.ts";

/** Reads a command line. */
export type ReadCommand = (line: string) => readonly CommandUnit[];

export interface CommandUnit {
  /** It runs by itself. Otherwise it may be started by a part, and can only be caught. */
  readonly isPart: boolean;
  /** `test`: whether a text meets the rule's condition. */
  readonly matches: (
    rule: RuleConfig,
    isAllowing: boolean,
    test: (text: string) => boolean,
  ) => boolean;
}

/** Nothing about a command line is allowed by a rule until it is read in parts. */
export async function readCommandLine(): Promise<ReadCommand> {
  return (line) => [
    {
      isPart: true,
      matches: (rule, isAllowing, test) => (isAllowing ? rule.const === line : test(line)),
    },
  ];
}
