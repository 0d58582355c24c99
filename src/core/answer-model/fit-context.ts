/**
 * Makes a conversation fit into a model's context window by dropping whole turns, oldest first. The current turn always
 * stays. If it is too long by itself, the provider reports that.
 */
import {
  type ConversationStream,
  eventTokens,
  type RecordedTurn,
  TurnCounter,
  turnsOf,
} from "../../record/conversation/index.ts";

/** Shares of the window: above the first, turns are dropped down to the second, in steps of the third. */
const MAX_FILL = 0.9;
const TARGET_FILL = 0.8;
const STEP = 0.1;

export interface FittedContext {
  /** With compactions applied. */
  readonly stream: ConversationStream;
  /** Tokens that the request needs besides the stream. */
  readonly overhead: number;
  /** If unknown, everything is sent. */
  readonly contextWindow: number | undefined;
}

/**
 * Drops in steps, so that the next inquiries start at the same turn and hit the provider's cache until
 * the conversation has grown by a whole step.
 */
export function fitContext({ stream, overhead, contextWindow }: FittedContext): ConversationStream {
  if (contextWindow === undefined) return stream;
  const turns = turnsOf(stream.entries);
  const needed = overhead + turns.reduce((sum, turn) => sum + turnTokens(turn), 0);
  if (needed <= MAX_FILL * contextWindow) return stream;
  const step = STEP * contextWindow;
  const surplus = Math.ceil((needed - TARGET_FILL * contextWindow) / step) * step;
  return dropTurnsBefore(stream, firstKept(turns, surplus));
}

/** The index of the oldest turn to keep. The last turn is always kept. */
function firstKept(turns: readonly RecordedTurn[], surplus: number): number {
  let dropped = 0;
  let first = 0;
  for (const turn of turns.slice(0, -1)) {
    if (dropped >= surplus) break;
    dropped += turnTokens(turn);
    first += 1;
  }
  return first;
}

/** Entries that are not events belong to no turn, and no provider sees them. */
function dropTurnsBefore(stream: ConversationStream, first: number): ConversationStream {
  const counter = new TurnCounter();
  const entries = stream.entries.filter(
    ({ eventType }) => eventType === undefined || counter.next(eventType) >= first,
  );
  return { ...stream, entries };
}

function turnTokens({ events }: RecordedTurn): number {
  return eventTokens(events);
}
