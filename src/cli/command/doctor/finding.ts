/** The result of one check of `jp doctor`, and how it is printed. */
import { type StyleName, wrapWords } from "../../../surfaces/render/index.ts";
import type { Output } from "../../../surfaces/terminal/index.ts";
import { adviceOf, isJpError, jsonLine, oneLine } from "../../../util/index.ts";

export interface Finding {
  /** The name of the check. */
  readonly check: string;
  /** `warning`: works, but maybe not as expected. `problem`: does not work. */
  readonly state: "ok" | "warning" | "problem";
  readonly message: string;
  /** How to fix it. */
  readonly hint?: string;
}

export function findingFromError(
  check: string,
  error: unknown,
  state: Finding["state"] = "problem",
): Finding {
  if (!(error instanceof Error)) return { check, state, message: String(error) };
  const hint = isJpError(error) ? adviceOf(error) : undefined;
  return { check, state, message: error.message, ...(hint !== undefined && { hint }) };
}

const STYLES: Readonly<Record<Finding["state"], StyleName>> = {
  ok: "green",
  warning: "yellow",
  problem: "red",
};

const STATE_WIDTH = "problem".length;
const CHECK_WIDTH = "conversations".length;
/** On a narrower terminal, the text starts below the name of the check. */
const MIN_TEXT_WIDTH = 30;

export function printFinding(finding: Finding, output: Output, format: "text" | "json"): void {
  const { check, state, message, hint } = finding;
  const lines =
    format === "json" ? [jsonLine({ check, state, message, hint })] : findingLines(finding, output);
  for (const line of lines) output.print(line);
  output.flush(); // The next check may be slow.
}

/** One line if the output is not a terminal; otherwise wrapped to its width. */
function findingLines(
  { check, state, message, hint }: Finding,
  { paint, lineWidth }: Output,
): readonly string[] {
  const mark = paint(STYLES[state], state.padEnd(STATE_WIDTH));
  const sentence = /[.!?…]$/.test(message) ? message : `${message}.`;
  const text = oneLine(hint === undefined ? message : `${sentence} ${hint}`);
  const head = `${mark}  ${check.padEnd(CHECK_WIDTH)}  `;
  if (!Number.isFinite(lineWidth)) return [head + text];
  const indent = STATE_WIDTH + CHECK_WIDTH + 4;
  if (lineWidth - indent < MIN_TEXT_WIDTH) {
    return [`${mark}  ${check}`, ...wrapWords(text, lineWidth - 2).map((row) => `  ${row}`)];
  }
  return wrapWords(text, lineWidth - indent).map((row, index) =>
    index === 0 ? head + row : " ".repeat(indent) + row,
  );
}
