/**
 * Measures the rules that are proposed from a history: how many prompts of the last week, from which nothing was learned, they would
 * have spared, and what they would have let through that the person refused. Run it as a program to write the table in
 * docs/permissions.md.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { compileRules, evaluateRules } from "../../src/core/policy/evaluate.ts";
import { readCommandLine } from "../../src/core/policy/command-units.ts";
import { type ProposedRule, proposeRules } from "../../src/core/policy/propose.ts";
import { runsCommands } from "../../src/core/policy/verdict.ts";
import { generateHistory, type HistoryEntry, PEOPLE, type Person } from "./histories.ts";

export interface Figures {
  readonly name: string;
  readonly followsRule: boolean;
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

export interface MeasureOptions {
  /** A folder without files. */
  readonly root: string;
  readonly seed: number;
  readonly decisions?: number;
}

/** Learns from all weeks but the last. */
export async function measure(
  person: Person,
  { root, seed, decisions = DECISIONS }: MeasureOptions,
): Promise<Figures> {
  const history = generateHistory({ seed, decisions, weeks: WEEKS, person });
  createFiles(history, root);
  const isLast = ({ week }: HistoryEntry) => week === WEEKS - 1;
  const [last, earlier] = [history.filter(isLast), history.filter((entry) => !isLast(entry))];
  const past = earlier.map(({ call, isApproved }) => ({ call, isApproved, identity: "" }));
  const rules = await proposeRules(past, root);
  const judge = await judgeBy(rules, history, root);
  const through = await filterAsync(last, judge);
  const refused = through.filter(({ isApproved }) => !isApproved);
  const broken = await filterAsync(
    earlier.filter(({ isApproved }) => !isApproved),
    judge,
  );
  return {
    name: person.name,
    followsRule: history.every(({ why }) => why !== "whim"),
    approved: (100 * history.filter(({ isApproved }) => isApproved).length) / history.length,
    prompts: last.length,
    spared: through.length,
    wrong: refused.filter(({ why }) => why === "meant").length,
    slips: refused.filter(({ why }) => why !== "meant").length,
    broken: broken.length,
    rules: rules.length,
  };
}

/** Rules follow links: on the way to a file that exists there is less to look for. */
function createFiles(history: readonly HistoryEntry[], root: string): void {
  for (const { call } of history) {
    const { path: file } = call.arguments;
    if (typeof file !== "string" || existsSync(path.join(root, file))) continue;
    mkdirSync(path.join(root, path.dirname(file)), { recursive: true });
    writeFileSync(path.join(root, file), "");
  }
}

/** Whether the rules let a call run. As they are evaluated at a prompt. */
async function judgeBy(
  proposed: readonly ProposedRule[],
  history: readonly HistoryEntry[],
  root: string,
) {
  const tools = new Map(history.map(({ call: { tool } }) => [tool.settings.name, tool]));
  const compiled = new Map(
    await Promise.all(
      [...tools].map(async ([name, { argumentKinds: kinds = {} }]) => {
        const own = proposed.filter(({ tool }) => tool === name);
        const placed = own.map(({ rule, scope: { limits: { options } = {} } }, index) => ({
          ...rule,
          ...(options !== undefined && { options }),
          place: { from: "saved" as const, key: String(index), layer: "" },
        }));
        return [name, await compileRules(placed, { root, kinds })] as const;
      }),
    ),
  );
  const known = new Map<string, boolean>();
  return async ({ call: { tool, arguments: args } }: HistoryEntry) => {
    const { path: file = args } = args; // Of an edit, only that matters.
    const key = JSON.stringify([tool.settings.name, file]);
    const found = known.get(key);
    if (found !== undefined) return found;
    const { argumentKinds: kinds = {}, settings } = tool;
    const call = { tool: settings, arguments: args, kinds, root };
    const readCommand = runsCommands(tool) ? readCommandLine : undefined;
    const verdict = await evaluateRules(compiled.get(settings.name) ?? [], call, readCommand);
    const isAllowed = verdict?.mode === "unattended";
    known.set(key, isAllowed);
    return isAllowed;
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

/** The start and the end of the table in the document. */
const MARKS = ["<!-- figures -->", "<!-- end of figures -->"] as const;
export const DOCUMENT = path.join("docs", "permissions.md");

/** The document with the table as it is now. */
export async function renderFigures(text: string): Promise<string> {
  const [before = "", rest = ""] = text.split(MARKS[0]);
  const [, after = ""] = rest.split(MARKS[1]);
  return `${before}${MARKS[0]}\n\n${await renderTable()}\n\n${MARKS[1]}${after}`;
}

async function renderTable(): Promise<string> {
  const root = mkdtempSync(path.join(tmpdir(), "jp-figures-"));
  try {
    const figures: Figures[] = [];
    for (const person of PEOPLE) {
      const runs = SEEDS.map((seed) => measure(person, { root, seed }));
      figures.push(sumOf(person.name, await Promise.all(runs)));
    }
    const following = figures.filter(({ followsRule }) => followsRule);
    return formatTable([...figures, sumOf("all but the last", following)]);
  } finally {
    rmSync(root, { recursive: true });
  }
}

/** Each makes another project and another eight weeks. */
const SEEDS = [1, 2, 3];

function sumOf(name: string, all: readonly Figures[]): Figures {
  const sum = (key: "prompts" | "spared" | "wrong" | "slips" | "broken" | "rules" | "approved") =>
    all.reduce((total, figures) => total + figures[key], 0);
  return {
    name,
    followsRule: all.every(({ followsRule }) => followsRule),
    approved: sum("approved") / all.length,
    prompts: sum("prompts"),
    spared: sum("spared"),
    wrong: sum("wrong"),
    slips: sum("slips"),
    broken: sum("broken"),
    rules: Math.round(sum("rules") / all.length),
  };
}

function formatTable(figures: readonly Figures[]): string {
  const titles = [
    "person",
    "approved",
    "rules",
    "prompts",
    "spared",
    "wrong",
    "slips",
    "on record",
  ];
  const rows = figures.map((each) => [
    each.name,
    `${each.approved.toFixed(1)} %`,
    String(each.rules),
    String(each.prompts),
    `${((100 * each.spared) / each.prompts).toFixed(1)} %`,
    String(each.wrong),
    String(each.slips),
    String(each.broken),
  ]);
  const widths = titles.map((title, column) =>
    Math.max(...[title, ...rows.map((row) => row[column] ?? "")].map(({ length }) => length)),
  );
  const lines = [titles, widths.map((width) => "-".repeat(width)), ...rows];
  return lines
    .map((row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`)
    .join("\n");
}

if (process.argv[1] === import.meta.filename) {
  const file = path.join(import.meta.dirname, "..", "..", DOCUMENT);
  const text = await renderFigures(readFileSync(file, "utf8"));
  writeFileSync(file, text);
  console.log(text.slice(text.indexOf(MARKS[0]), text.indexOf(MARKS[1])));
}
