/** What could not be read, told on standard error; the rest is shown all the same. */
import { oneLine, wrapProse } from "../render/index.ts";
import type { RecordProblem } from "../storage/index.ts";
import type { Output } from "../terminal/index.ts";

export function warnOf(problems: readonly RecordProblem[], output: Output): void {
  for (const { file, message } of problems) warn(`${file}: ${message}`, output);
}

export function warn(text: string, output: Output): void {
  const line = `${output.paintNotice("yellow", "warning")}: ${oneLine(text)}`;
  for (const row of wrapProse(line, output.noticeWidth)) output.notice(row);
}
