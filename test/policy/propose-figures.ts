/**
 * Measures the rules that are proposed from a history: how many prompts of the last week they would have spared, and what they would
 * have let through that the person refused. Prints a table for docs/permissions.md.
 */
import type { Rule, RuleConfig } from "../../src/config/index.ts";
import { readCommandLine, wordsOf } from "../../src/policy/command-units.ts";
import { type CompiledRule, compileRules, evaluateRules } from "../../src/policy/evaluate.ts";
import { type ProposedRule, proposeRules } from "../../src/policy/propose.ts";
import { generateHistory, type HistoryEntry, type HistoryOptions } from "./histories.ts";

export interface Figures {
  /** Of the last week. */
  readonly prompts: number;
  readonly spared: number;
  /** Let through, although the person follows a rule that refuses it. */
  readonly wrong: number;
  /** Let through, and refused by a slip or on a whim. */
  readonly slips: number;
  readonly rules: number;
}

/** Learns from all weeks but the last. */
export async function measure(options: HistoryOptions): Promise<Figures> {
  const history = generateHistory(options);
  const isLast = ({ week }: HistoryEntry) => week === options.weeks - 1;
  const rules = proposeRules(
    history.filter((entry) => !isLast(entry)),
    wordsOf,
  );
  const last = history.filter(isLast);
  const allowed = await judgeAll(rules, last);
  const through = last.filter((_entry, index) => allowed[index] === true);
  const refused = through.filter(({ isApproved }) => !isApproved);
  return {
    prompts: last.length,
    spared: through.length,
    wrong: refused.filter(({ isMeant }) => isMeant).length,
    slips: refused.filter(({ isMeant }) => !isMeant).length,
    rules: rules.length,
  };
}

/** As the rules would decide if they were saved. */
async function judgeAll(
  rules: readonly ProposedRule[],
  entries: readonly HistoryEntry[],
): Promise<readonly boolean[]> {
  const compiled = new Map<string, readonly CompiledRule[]>();
  const verdicts: boolean[] = [];
  for (const { tool, arguments: args, kinds } of entries) {
    const call = { tool, arguments: args, kinds, root: ROOT };
    const own =
      compiled.get(tool.name) ??
      (await compileRules(
        rules
          .filter((each) => each.tool === tool.name)
          .map(({ rule }, index) => placed(rule, index)),
        call,
      ));
    compiled.set(tool.name, own);
    const isCommand = Object.values(kinds).includes("command");
    const verdict = await evaluateRules(own, call, isCommand ? readCommandLine : undefined);
    verdicts.push(verdict?.mode === "unattended");
  }
  return verdicts;
}

const ROOT = "/nowhere";

function placed(rule: RuleConfig, index: number): Rule {
  return { ...rule, place: { from: "saved", key: String(index), layer: "" } };
}

export const PEOPLE: readonly {
  readonly name: string;
  readonly slips: number;
  readonly whims: number;
}[] = [
  { name: "follow rules", slips: 0, whims: 0 },
  { name: "follow rules, and slip once in a hundred", slips: 0.01, whims: 0 },
  { name: "decide about one tool as they please", slips: 0.01, whims: 1 },
];

if (import.meta.main) {
  console.log("| people | prompts | spared | wrong | slips | rules |\n|---|---|---|---|---|---|");
  for (const { name, ...people } of PEOPLE) {
    const all = await Promise.all(
      Array.from({ length: 10 }, (_, seed) =>
        measure({ seed: seed + 1, decisions: 5000, weeks: 8, ...people }),
      ),
    );
    const sum = (key: keyof Figures) => all.reduce((total, figures) => total + figures[key], 0);
    const spared = ((100 * sum("spared")) / sum("prompts")).toFixed(1);
    console.log(
      `| ${name} | ${sum("prompts")} | ${spared} % | ${sum("wrong")} | ${sum("slips")} | ${sum("rules") / all.length} |`,
    );
  }
}
