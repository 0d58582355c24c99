/** Results and other packages' figures as tables, for a terminal and in Markdown. */
import type { Result, StoredResult } from "./measure.ts";
import type { Comparison, Peers } from "./peers.ts";
import type { Figure } from "./statistics.ts";

export type Table = readonly (readonly string[])[];

export function resultTable(results: readonly StoredResult[]): Table {
  const rows = results.map((result) => [
    result.name,
    withNoise(figureOf(result)),
    result.unit,
    result.figures.time === undefined ? "" : number(result.figures.cpu?.value),
    goalOf(result),
    verdictOf(result),
    result.detail,
    result.date,
    result.commit,
  ]);
  const header = ["what", "result", "unit", "CPU", "goal", "", "measured", "date", "commit"];
  return [header, ...rows];
}

/** Ours come first in each group. `results` may lack a row that was not measured. */
export function peerTable({ comparisons }: Peers, results: readonly StoredResult[]): Table {
  const rows = comparisons.flatMap((comparison) => {
    const ours = results.find(({ name }) => name === comparison.row);
    return ours === undefined ? [] : peerRows(comparison, ours);
  });
  return [["what", "package", "result", "unit", "measured", "date"], ...rows];
}

function peerRows({ row, peers }: Comparison, ours: StoredResult): Table {
  return [
    [row, "jp", number(figureOf(ours)?.value), ours.unit, ours.detail, ours.date],
    ...peers.map((peer) => [
      "",
      [peer.name, peer.version].join(" ").trimEnd(),
      number(peer.value),
      peer.value === undefined ? "" : ours.unit,
      peer.detail,
      peer.date,
    ]),
  ];
}

/** Columns are aligned. The first row is the header. */
export function asText(table: Table): string {
  const widths = widthsOf(table);
  return table
    .map((row) =>
      row
        .map((cell, column) => pad(cell, widths[column]))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

export function asMarkdown(table: Table): string {
  const cells = table.map((row) => row.map((cell) => cell.replaceAll("|", "\\|")));
  const widths = widthsOf(cells).map((width) => Math.max(width, 3));
  const lines = cells.map(
    (row) => `| ${row.map((cell, column) => pad(cell, widths[column])).join(" | ")} |`,
  );
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
  return [lines[0], rule, ...lines.slice(1)].join("\n");
}

function widthsOf(table: Table): readonly number[] {
  const [header = []] = table;
  return header.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
}

function pad(cell: string, width = 0): string {
  return cell.padEnd(width);
}

/** The figure that the goal applies to. */
function figureOf({ figures }: Result): Figure | undefined {
  return figures.time ?? figures.size ?? figures.cpu;
}

function verdictOf(result: Result): string {
  const figure = figureOf(result);
  if (result.goal === undefined || figure === undefined) return "";
  return figure.value <= result.goal.most ? "ok" : "over";
}

function goalOf({ goal }: Result): string {
  if (goal === undefined) return "";
  return goal.text === undefined ? number(goal.most) : `${number(goal.most)} (${goal.text})`;
}

function withNoise(figure: Figure | undefined): string {
  if (figure === undefined) return "";
  const { value, noise } = figure;
  return noise === 0 ? number(value) : `${number(value)} ± ${Math.round(noise * 100)} %`;
}

/** Three digits, or more for large numbers. */
function number(value: number | undefined): string {
  if (value === undefined) return "";
  if (value >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString("en-US");
  return value.toFixed(value >= 10 ? 1 : value >= 0.1 ? 2 : 3);
}
