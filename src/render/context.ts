/** The context of a question, in rows: prose in the words of its author, everything else verbatim. */
import { isDiff, type Paint, paintLine } from "./style.ts";
import { SHOWN_TAB, verbatimLines, verbatimProseLines } from "./verbatim.ts";
import { wrapProse, wrapVerbatimLine } from "./wrap.ts";

/**
 * `prose` is wrapped at words, apart from diffs; Markdown stays as it was written, so nothing of it is lost.
 * `verbatim` is for whatever a yes acts on. `drawn` has been made verbatim already.
 */
export type ContextStyle = "prose" | "verbatim" | "drawn";

export interface ContextOptions {
  readonly paint: Paint;
  readonly width: number;
  readonly style?: ContextStyle | undefined;
}

/** None of the rows is wider than the width, except code in prose. */
export function renderContext(
  context: string,
  { paint, width, style = "prose" }: ContextOptions,
): readonly string[] {
  // The end of the last line, not a line.
  const lines = context.replace(/\n$/, "").split("\n");
  if (style === "drawn") return lines.flatMap((line) => wrapVerbatimLine(line, width));
  if (isDiff(lines)) {
    return lines.flatMap((line) =>
      wrapVerbatimLine(diffLine(line), width).map((row) => paintLine(line, paint, row)),
    );
  }
  if (style === "verbatim") {
    return verbatimLines(lines.join("\n")).flatMap((line) => wrapVerbatimLine(line, width));
  }
  // Lines with tabs are not wrapped.
  const prose = verbatimProseLines(context.trimEnd().replaceAll("\r\n", "\n"));
  const rows = wrapProse(prose.join("\n").replaceAll(SHOWN_TAB, "\t"), width);
  return rows.map((row) => row.replaceAll("\t", SHOWN_TAB));
}

/** The sign stays in its column. */
function diffLine(line: string): string {
  const sign = /^[-+ ]/.exec(line)?.[0] ?? "";
  return sign + verbatimLines(line.slice(sign.length)).join("");
}
