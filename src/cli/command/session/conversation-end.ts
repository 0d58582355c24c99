/** Shown above the prompt when a session switches conversations: the title and the last turns, up to a screenful. */
import type { ConversationId, RecordedTurn } from "../../../record/conversation/index.ts";
import { renderTurn, textWidth, wrapProse } from "../../../surfaces/render/index.ts";
import type { WorkspaceSummary } from "../../../stores/index.ts";
import { type CommandContext, withOutput } from "../../context.ts";
import { selectTurns } from "../conversation/print.ts";
import { describeCurrent } from "./picker.ts";

/** More would not fit on a screen. */
const MAX_TURNS = 10;
const RESULT_LINES = 3;
/** Some terminals report a height of 0. */
const DEFAULT_ROWS = 24;
/** Room for the lines about the conversation, and the prompt. */
const ROWS_BELOW = 6;

/** For `jp resume` and `/resume`. */
export async function printConversation(
  summary: WorkspaceSummary,
  context: CommandContext,
): Promise<void> {
  const { output } = context;
  await printEnd(summary.id, context);
  const title = describeCurrent(summary, context);
  for (const row of wrapProse(title, output.noticeWidth)) output.notice(row);
}

/**
 * Prints as many whole turns as fit, and at least the end of the last one. Prints nothing if the record is
 * unreadable.
 */
async function printEnd(id: ConversationId, context: CommandContext): Promise<void> {
  const { output, clock, host } = context;
  const settings = {
    paint: output.paint,
    now: clock.now(),
    width: output.lineWidth,
    resultLines: RESULT_LINES,
    showsReasoning: false,
  };
  const room = Math.max(DEFAULT_ROWS / 2, (host.stdout.rows || DEFAULT_ROWS) - ROWS_BELOW);
  const rowsOf = (line: string) => Math.max(1, Math.ceil(textWidth(line) / output.lineWidth));
  let shown: readonly string[] = [];
  for (const turn of (await findLastTurns(id, context)).toReversed()) {
    const longer = [...renderTurn(turn, settings), ...shown];
    const rows = longer.reduce((sum, line) => sum + rowsOf(line), 0);
    if (rows <= room) {
      shown = longer;
      continue;
    }
    if (shown.length > 0) break;
    const start = startOfEnd(longer, room, rowsOf);
    const earlier = `… ${start} earlier ${start === 1 ? "line" : "lines"}: jp conversation print`;
    shown = [...(start > 0 ? [output.paint("dim", earlier)] : []), ...longer.slice(start)];
    break;
  }
  for (const line of shown) output.print(line);
}

/** Ignores errors: the session reports problems with the record. */
async function findLastTurns(
  id: ConversationId,
  context: CommandContext,
): Promise<readonly RecordedTurn[]> {
  const quiet = withOutput(context, { ...context.output, notice: () => undefined });
  try {
    const turns: RecordedTurn[] = [];
    for await (const batch of selectTurns(id, { last: MAX_TURNS }, quiet)) turns.push(...batch);
    return turns;
  } catch {
    return [];
  }
}

/** The index of the first line that fits. A single line may be longer than the screen. */
function startOfEnd(
  lines: readonly string[],
  room: number,
  rowsOf: (line: string) => number,
): number {
  let rows = 1;
  const cut = lines.findLastIndex((line) => (rows += rowsOf(line)) > room);
  const last = lines.findLastIndex((line) => line !== "");
  return Math.max(0, Math.min(cut + 1, last));
}
