/** When something last happened in a conversation, as lists sort and show it. */
import { conversationCreatedAt, type Timestamp } from "../conversation/index.ts";
import { oneLine } from "../render/index.ts";
import type { ConversationSummary, RecordProblem } from "../storage/index.ts";
import type { Output } from "../terminal/index.ts";

/** The last element's time; of an empty record, its beginning. */
export function lastActivity({ id, lastEventAt }: ConversationSummary): Timestamp {
  return lastEventAt ?? conversationCreatedAt(id);
}

/** Says what could not be read; the rest is shown all the same. */
export function warnOf(problems: readonly RecordProblem[], output: Output): void {
  for (const { file, message } of problems) warn(`${file}: ${message}`, output);
}

export function warn(text: string, output: Output): void {
  output.notice(`${output.paintNotice("yellow", "warning")}: ${oneLine(text)}`);
}
