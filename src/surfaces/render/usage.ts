/** Token counts and costs for people. */
import type { Usage } from "../../record/conversation/index.ts";
import { type Cell, type Column, renderTable } from "./table.ts";
import type { Paint } from "./style.ts";

/** A row of the usage table: see `UsageTotal` of the library. */
export interface UsageRow {
  /** Neutralized. */
  readonly name: string;
  readonly requests: number;
  readonly usage: Usage;
  readonly cost?: number;
  readonly isPartial: boolean;
}

/** Options of a usage table. */
export interface UsageTableOptions {
  /** The first column's title. */
  readonly title: string;
  readonly currency: string;
  readonly paint: Paint;
  readonly width: number;
}

/** The lines of a usage table. The last columns are dropped if they do not fit, but never the cost. */
export function renderUsage(rows: readonly UsageRow[], options: UsageTableOptions): string[] {
  const { title, currency, paint, width } = options;
  const hasCost = rows.some(({ cost }) => cost !== undefined);
  const right = { align: "right" } as const;
  const columns: Column[] = [
    { title, shrinks: true },
    ...(hasCost ? [{ title: "COST", ...right }] : []),
    { title: "INPUT", ...right },
    { title: "CACHED", ...right },
    { title: "OUTPUT", ...right },
    { title: "REASONING", ...right },
    { title: "REQUESTS", ...right },
  ];
  const cells = rows.map((row): Cell[] => {
    const { input, cachedInput, output, reasoning } = row.usage;
    return [
      { text: row.name, style: "cyan" },
      ...(hasCost ? [{ text: describeCost(row, currency) }] : []),
      ...[input, cachedInput, output, reasoning, row.requests].map((count) => ({
        text: shortCount(count ?? 0),
      })),
    ];
  });
  return renderTable({ columns, rows: cells, paint, width });
}

/** One line, such as `12,400 in (9,000 cached), 830 out (200 reasoning), 0.0123 USD`; empty without usage. */
export function describeUsage(
  usage: Usage,
  { cost, isPartial = false }: Partial<Pick<UsageRow, "cost" | "isPartial">> = {},
  currency = "USD",
): string {
  const { input, cachedInput, output, reasoning } = usage;
  const parts = [
    input === undefined ? "" : `${wholeCount(input)} in${within(cachedInput, "cached")}`,
    output === undefined ? "" : `${wholeCount(output)} out${within(reasoning, "reasoning")}`,
    cost === undefined ? "" : describeCost({ cost, isPartial }, currency),
  ];
  return parts.filter((part) => part !== "").join(", ");
}

/** How full a model's context window is: see `ContextUse` of the library. */
export interface ContextFill {
  readonly tokens: number;
  readonly isEstimated: boolean;
  readonly contextWindow?: number;
}

/** Such as `12,400 tokens of context used, 187,600 left (93%)`, and a shorter form. */
export function describeContextUse({
  tokens,
  isEstimated,
  contextWindow,
}: ContextFill): readonly [string, string] {
  const shown = isEstimated ? Number(tokens.toPrecision(2)) : Math.round(tokens);
  const used = `${isEstimated ? "about " : ""}${wholeCount(shown)} tokens of context used`;
  if (contextWindow === undefined) return [used, used];
  const left = Math.max(0, contextWindow - shown);
  const share = `${Math.floor((100 * left) / contextWindow)}%`;
  return [`${used}, ${wholeCount(left)} left (${share})`, `${share} of context left`];
}

function within(tokens: number | undefined, what: string): string {
  return tokens === undefined || tokens === 0 ? "" : ` (${wholeCount(tokens)} ${what})`;
}

/** Adds a plus sign if some requests have no price. */
function describeCost(
  { cost, isPartial }: Pick<UsageRow, "cost" | "isPartial">,
  currency: string,
): string {
  if (cost === undefined) return "";
  const digits = cost >= 1 || cost === 0 ? 2 : 4;
  return `${cost.toFixed(digits)}${isPartial ? "+" : ""} ${currency}`;
}

function wholeCount(tokens: number): string {
  return tokens.toLocaleString("en-US");
}

/** At most five characters: 950, 12.3k, 4.56M. */
function shortCount(tokens: number): string {
  if (tokens < 10_000) return String(tokens);
  const [unit, size] = tokens < 1_000_000 ? ["k", 1000] : tokens < 1e9 ? ["M", 1e6] : ["G", 1e9];
  return `${(tokens / size).toPrecision(3).replace(/e\+3$/, "")}${unit}`;
}
