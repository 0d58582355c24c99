/**
 * Measures the rules that are proposed from a history: how many prompts of the last week, from which nothing was learned, they would
 * have spared, and what they would have let through that the person refused. Run it as a program to write the table in
 * docs/permissions.md.
 */
import { compileRules, evaluateRules } from "../../src/policy/evaluate.ts";
import { readCommandLine } from "../../src/policy/command-units.ts";
import { type ProposedRule, proposeRules } from "../../src/policy/propose.ts";
import { runsCommands } from "../../src/policy/verdict.ts";
import { generateHistory, type HistoryEntry, PEOPLE, type Person } from "./histories.ts";

export interface Figures {
  readonly name: string;
  /** In all weeks, in percent. */
  readonly approved: number;
  /** Of the last week. */
  readonly prompts: number;
  readonly spared: number;
  /** Let through, although the person means to refuse it. */
  readonly wrong: number;
  /** Let through, and refused by a slip or on a whim. */
  readonly slips: number;
  /** On record before the last week, and let through. */
  readonly broken: number;
  readonly rules: number;
}

const DECISIONS = 5000;
const WEEKS = 8;
/** Nothing is there: links and folders play no role. */
const ROOT = "/nowhere";

/** Learns from all weeks but the last. */
export async function measure(person: Person, seed: number): Promise<Figures> {
  const history = generateHistory({ seed, decisions: DECISIONS, weeks: WEEKS, person });
  const isLast = ({ week }: HistoryEntry) => week === WEEKS - 1;
  const [last, earlier] = [history.filter(isLast), history.filter((entry) => !isLast(entry))];
  const past = earlier.map(({ call, isApproved }) => ({ call, isApproved, identity: "" }));
  const rules = await proposeRules(past, ROOT);
  const judge = await judgeBy(rules, history);
  const through = await filterAsync(last, judge);
  const refused = through.filter(({ isApproved }) => !isApproved);
  const broken = await filterAsync(
    earlier.filter(({ isApproved }) => !isApproved),
    judge,
  );
  return {
    name: person.name,
    approved: (100 * history.filter(({ isApproved }) => isApproved).length) / history.length,
    prompts: last.length,
    spared: through.length,
    wrong: refused.filter(({ why }) => why === "meant").length,
    slips: refused.filter(({ why }) => why !== "meant").length,
    broken: broken.length,
    rules: rules.length,
  };
}

/** Whether the rules let a call run. As they are evaluated at a prompt. */
async function judgeBy(proposed: readonly ProposedRule[], history: readonly HistoryEntry[]) {
  const tools = new Map(history.map(({ call: { tool } }) => [tool.settings.name, tool]));
  const compiled = new Map(
    await Promise.all(
      [...tools].map(async ([name, { argumentKinds: kinds = {} }]) => {
        const own = proposed.filter(({ tool }) => tool === name);
        const placed = own.map(({ rule }, index) => ({
          ...rule,
          place: { from: "saved" as const, key: String(index), layer: "" },
        }));
        return [name, await compileRules(placed, { root: ROOT, kinds })] as const;
      }),
    ),
  );
  return async ({ call: { tool, arguments: args } }: HistoryEntry) => {
    const { argumentKinds: kinds = {}, settings } = tool;
    const call = { tool: settings, arguments: args, kinds, root: ROOT };
    const readCommand = runsCommands(tool) ? readCommandLine : undefined;
    const verdict = await evaluateRules(compiled.get(settings.name) ?? [], call, readCommand);
    return verdict?.mode === "unattended";
  };
}

async function filterAsync<Of>(
  items: readonly Of[],
  isKept: (item: Of) => Promise<boolean>,
): Promise<readonly Of[]> {
  const kept: Of[] = [];
  for (const item of items) if (await isKept(item)) kept.push(item);
  return kept;
}

if (import.meta.main) {
  for (const person of PEOPLE) {
    const start = performance.now();
    const f = await measure(person, Number(process.argv[2] ?? 1));
    console.log(
      f.name.padEnd(30),
      f.approved.toFixed(1),
      ((100 * f.spared) / f.prompts).toFixed(1),
      f,
      Math.round(performance.now() - start),
    );
  }
}
