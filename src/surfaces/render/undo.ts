/** An undo in words. */
import type { TurnUndo } from "../../record/conversation/index.ts";

/** One line, not neutralized. */
export function describeUndo({ files, hidesTurn, isForced }: TurnUndo): string {
  const count = files.length === 1 ? "1 file" : `${files.length} files`;
  const names = files.map(({ path, change }) => `${path} ${change}`).join(", ");
  const what = files.length === 0 ? "no files" : `${count}: ${names}`;
  const also = [
    ...(hidesTurn === true ? ["models no longer see the turn"] : []),
    ...(isForced === true ? ["forced"] : []),
  ];
  return `Undone: ${what}${also.length === 0 ? "" : ` (${also.join(", ")})`}`;
}
