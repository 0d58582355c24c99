/** A question's context in rows: prose as its author wrote it, everything else verbatim. */
import type { ChangedFile, FileChange } from "./file-change.ts";
import { isDiff, type Paint, paintLine, type StyleName } from "./style.ts";
import { SHOWN_TAB, verbatimLines, verbatimProseLines } from "./verbatim.ts";
import { wrapProse, wrapVerbatimLine } from "./wrap.ts";

/**
 * `prose` is wrapped at words, except for diffs; Markdown is left as written, so that nothing is lost. `verbatim` is
 * for content that a yes acts on. `drawn` is already verbatim. `change` is the text of a file change, from
 * `changeText`.
 */
export type ContextStyle = "prose" | "verbatim" | "drawn" | "change";

export interface ContextOptions {
  readonly paint: Paint;
  readonly width: number;
  readonly style?: ContextStyle | undefined;
}

/** No row exceeds the width, except for code in prose. */
export function renderContext(
  context: string,
  { paint, width, style = "prose" }: ContextOptions,
): readonly string[] {
  // The trailing newline does not start another line.
  const lines = context.replace(/\n$/, "").split("\n");
  if (style === "drawn") return lines.flatMap((line) => wrapVerbatimLine(line, width));
  if (style === "change") return changeRows(lines, { paint, width });
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

/** Keeps the sign in its column. */
function diffLine(line: string): string {
  const sign = /^[-+ ]/.exec(line)?.[0] ?? "";
  return sign + verbatimLines(line.slice(sign.length)).join("");
}

/** A change as text: each file's heading, followed by its indented diff. */
export function changeText({ heading, files }: FileChange): string {
  const blocks = files.flatMap((file) => [
    `${HEADING}${file.heading}`,
    ...changedLines(file).map((line) => DIFF_INDENT + line),
  ]);
  return [...(files.length === 1 ? [] : [`${HEADING}${heading}`]), ...blocks].join("\n");
}

/** The lines below a file's heading. */
export function changedLines({ about, diff }: ChangedFile): readonly string[] {
  return [...(about === "" ? [] : about.split("\n")), ...diff];
}

/** No diff line starts like this, because diffs are indented. */
const HEADING = "• ";

function changeRows(
  lines: readonly string[],
  { paint, width }: Pick<ContextOptions, "paint" | "width">,
): readonly string[] {
  return lines.flatMap((line) =>
    line.startsWith(HEADING)
      ? wrapVerbatimLine(line, width).map((row) => paint("bold", row))
      : diffRows([line.slice(DIFF_INDENT.length)], { paint, width }),
  );
}

const DIFF_INDENT = "  ";

/** A diff's lines, indented, without those that name its file. */
export function diffRows(
  lines: readonly string[],
  { paint, width }: Pick<ContextOptions, "paint" | "width">,
): readonly string[] {
  return lines.flatMap((line) => {
    const style = DIFF_STYLES[line.charAt(0)];
    const rows = wrapVerbatimLine(diffLine(line), width - DIFF_INDENT.length);
    return rows.map((row) => DIFF_INDENT + (style === undefined ? row : paint(style, row)));
  });
}

const DIFF_STYLES: Readonly<Record<string, StyleName>> = { "+": "green", "-": "red", "@": "cyan" };
