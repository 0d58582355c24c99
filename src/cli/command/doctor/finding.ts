/** The result of one check of `jp doctor`, and how it is printed. */
import { jsonLine, oneLine, type StyleName } from "../../../render/index.ts";
import type { Output } from "../../../terminal/index.ts";
import { isJpError } from "../../../util/index.ts";

export interface Finding {
  /** The name of the check. */
  readonly check: string;
  /** `warning`: works, but maybe not as expected. `problem`: does not work. */
  readonly state: "ok" | "warning" | "problem";
  readonly message: string;
  /** What to do about it. */
  readonly hint?: string;
}

export function findingFromError(
  check: string,
  error: unknown,
  state: Finding["state"] = "problem",
): Finding {
  if (!(error instanceof Error)) return { check, state, message: String(error) };
  const { hint } = isJpError(error) ? error : {};
  return { check, state, message: error.message, ...(hint !== undefined && { hint }) };
}

const STYLES: Readonly<Record<Finding["state"], StyleName>> = {
  ok: "green",
  warning: "yellow",
  problem: "red",
};

const STATE_WIDTH = "problem".length;
const CHECK_WIDTH = "conversations".length;

/** Always one line. */
export function printFinding(finding: Finding, output: Output, format: "text" | "json"): void {
  const { check, state, message, hint } = finding;
  if (format === "json") {
    output.print(jsonLine({ check, state, message, hint }));
  } else {
    const mark = output.paint(STYLES[state], state.padEnd(STATE_WIDTH));
    const text = hint === undefined ? message : `${message} ${hint}`;
    output.print(`${mark}  ${check.padEnd(CHECK_WIDTH)}  ${oneLine(text)}`);
  }
  output.flush(); // The next check may be slow.
}
