/** How a turn starts on record: for one that runs at once, and for one that a worker takes up. */
import {
  type ConversationEvent,
  type Directory,
  endOf,
  findRequest,
  lastTurnOf,
  pendingOf,
  readTurnProgress,
  recordFiles,
  type StreamEntry,
  timestampFromDate,
  undoneSince,
} from "../conversation/index.ts";
import type { ConversationWriter } from "../storage/index.ts";
import type { Clock } from "../util/index.ts";
import { closeTurnBefore, turnWaitingError } from "./closing.ts";
import type { Redirection } from "./memory.ts";
import type { TurnMessage } from "./turn.ts";

interface Starter {
  readonly clock: Clock;
  /** Who has which roles. Where no one is known, the record does not say who has started it. */
  readonly directory?: Directory | undefined;
}

/** `before` are the entries that the record ends with, with the last turn. Throws `nothing_to_replace`, `incomplete_turn`. */
export function startTurn(
  before: readonly StreamEntry[],
  { files = [], isChecked = true, ...message }: TurnMessage,
  { clock, directory }: Starter,
): readonly ConversationEvent[] {
  const recorded = files.length > 0 && { files: recordFiles(files) };
  const check = isChecked && message.schema !== undefined && { isChecked };
  const timestamp = timestampFromDate(clock.now());
  const last = lastTurnOf(before);
  const { undone = undoneSince(last, message.replacesTurn === true) } = message;
  return [
    ...closeTurnBefore(message, last, clock),
    { type: "turn_start", timestamp },
    {
      type: "chat_request",
      timestamp,
      ...message,
      ...startedBy(directory),
      ...recorded,
      ...check,
      ...(undone.length > 0 && { undone }),
    },
  ];
}

/** Throws `turn_waiting`: what waits would be gone. A message that replaces the turn says so itself. */
export function assertNothingWaits(
  { id, stream }: Pick<ConversationWriter, "id" | "stream">,
  { replacesTurn = false }: Pick<TurnMessage, "replacesTurn">,
): void {
  if (replacesTurn) return;
  const pending = pendingOf(readTurnProgress(lastTurnOf(endOf(stream))));
  if (pending.length > 0) throw turnWaitingError(id);
}

/** Starts the next one with what a person has said in place of a yes. Like the message before, it is answered with data if that was. */
export function startNext(
  before: readonly ConversationEvent[],
  { message: content, by }: Redirection,
  { clock, directory }: Starter,
): readonly ConversationEvent[] {
  const timestamp = timestampFromDate(clock.now());
  const request = findRequest(before);
  const { schema, isChecked } = request ?? {};
  const { name: author = request?.author } = by;
  return [
    { type: "turn_end", timestamp, reason: "stopped" },
    { type: "turn_start", timestamp },
    {
      type: "chat_request",
      timestamp,
      content,
      ...(schema !== undefined && { schema }),
      ...(author !== undefined && { author }),
      ...startedBy(directory, by),
      ...(isChecked === true && { isChecked }),
    },
  ];
}

/** Whoever says what to do next starts the next turn. */
function startedBy(
  directory: Directory | undefined,
  by?: Redirection["by"],
): { readonly startedBy?: string } {
  const people = directory?.list() ?? [];
  const name = by?.auth === undefined ? directory?.findHere()?.name : by.name;
  return people.length > 0 && name !== undefined ? { startedBy: name } : {};
}
