/** Explains why a rule that seems to let a call run does not. */
import type { Rule } from "../../settings/config/index.ts";
import { findValues } from "./argument-values.ts";
import type { CommandObstacle, ReadCommand } from "./command-units.ts";
import {
  type CallToRule,
  type CompiledRule,
  decideUnits,
  isForTool,
  textTest,
} from "./evaluate.ts";
import type { CompiledMatcher } from "./matcher.ts";
import type { TextHazard } from "./text-hazards.ts";

/** A rule whose condition the call meets, at least in part, and what keeps it from counting. */
export interface UncountedRule {
  readonly rule: Rule;
  readonly obstacles: readonly Obstacle[];
}

export interface Obstacle {
  /** `other_command`: no rule lets another command of the line run. */
  readonly code: CommandObstacle | TextHazard | "other_command";
  /** The command of the line that it is about. */
  readonly command?: string;
}

/** In order. `readCommand` is needed for a tool that runs command lines. */
export async function findUncountedRules(
  rules: readonly CompiledRule[],
  call: CallToRule,
  readCommand?: ReadCommand,
): Promise<readonly UncountedRule[]> {
  const decided = await decideUnits(rules, call, readCommand);
  const found = await Promise.all(
    rules.map(async ({ rule, matcher }) => {
      const { arg, mode } = rule;
      const isAllowing = mode === "unattended" && isForTool(rule, call.tool);
      if (!isAllowing || arg === undefined || matcher === undefined) return [];
      const obstacles =
        call.kinds[arg] === "command"
          ? obstaclesInLine({ rule, matcher }, decided)
          : await obstaclesInValues({ arg, matcher }, call);
      return obstacles.length === 0 ? [] : [{ rule, obstacles }];
    }),
  );
  return found.flat();
}

/** None if the rule is about none of the commands, or if each of them has a rule that decides about it. */
function obstaclesInLine(
  { rule, matcher }: { readonly rule: Rule; readonly matcher: CompiledMatcher },
  decided: Awaited<ReturnType<typeof decideUnits>>,
): readonly Obstacle[] {
  const meets = textTest(matcher, true);
  const units = decided.flatMap(({ unit, rule: by }) =>
    unit === undefined ? [] : [{ ...unit, by, own: unit.obstaclesTo(rule, meets) }],
  );
  const isAbout = units.some(({ own, text }) => own !== undefined || text === "");
  if (!isAbout) return [];
  return units
    .filter(({ by, isPart }) => by === undefined && isPart)
    .flatMap(({ own, hazards, text }): readonly Obstacle[] => {
      // No rule can cover what changes the shell.
      const isOther = own === undefined && text !== "" && !hazards.includes("shell_state");
      const codes = [...(own ?? hazards), ...(isOther ? (["other_command"] as const) : [])];
      return codes.map((code) => ({ code, ...(text !== "" && { command: text }) }));
    });
}

async function obstaclesInValues(
  { arg, matcher }: { readonly arg: string; readonly matcher: CompiledMatcher },
  call: CallToRule,
): Promise<readonly Obstacle[]> {
  const { values, isMissing } = await findValues(arg, call);
  const isMet = values.every(
    (value) => matcher.allows(value) || matcher.hazardsOf(value).length > 0,
  );
  if (isMissing || !isMet) return [];
  return [...new Set(values.flatMap(matcher.hazardsOf))].map((code) => ({ code }));
}
