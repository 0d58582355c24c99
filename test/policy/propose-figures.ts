/**
 * Measures the rules that are proposed from a history: how many prompts of the last week they would have spared, and what they would
 * have let through that the person refused. Prints a table for docs/permissions.md.
 */
import { compileRules, evaluateRules } from "../../src/policy/evaluate.ts";
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
  const allowed = await Promise.all(last.map((entry) => isAllowed(rules, entry)));
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

/** The command lines of the histories are plain. */
function wordsOf(line: string): readonly string[] {
  return line.split(" ");
}

async function isAllowed(rules: readonly ProposedRule[], entry: HistoryEntry): Promise<boolean> {
  const own = rules.filter(({ tool }) => tool === entry.tool.name);
  const placed = own.map(({ rule }, index) => ({
    ...rule,
    place: { from: "saved" as const, key: String(index), layer: "" },
  }));
  const call = {
    tool: entry.tool,
    arguments: entry.arguments,
    kinds: entry.kinds,
    root: "/nowhere",
  };
  const verdict = await evaluateRules(await compileRules(placed, "/nowhere"), call, (line) => [
    {
      isPart: true,
      matches: ({ prefix }) => prefix !== undefined && `${line} `.startsWith(`${prefix} `),
    },
  ]);
  return verdict?.mode === "unattended";
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
