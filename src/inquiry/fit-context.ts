/**
 * Makes a conversation fit into the window of a model: whole turns go, the oldest first. The turn that
 * is under way always stays, even if it alone is too long: then the provider will say so.
 */
import {
  type ConversationStream,
  isProviderVisible,
  type ProviderEvent,
  type ThreadParts,
  type Turn,
  TurnCounter,
  turnsOf,
} from "../conversation/index.ts";
import type { ToolSchema } from "../provider/index.ts";
import { assertNever } from "../util/index.ts";

const CHARACTERS_PER_TOKEN = 3;
/** Beyond the first it is too full; then it is emptied to the second, in steps. Shares of the window. */
const FULL = 0.9;
const EMPTIED = 0.8;
const STEP = 0.1;

export interface FittedContext {
  /** With its compactions applied. */
  readonly stream: ConversationStream;
  /** Tokens that are needed beside the stream. */
  readonly overhead: number;
  /** Absent where it is not known: then everything is sent. */
  readonly contextWindow: number | undefined;
}

/**
 * What goes is rounded up to steps: the next inquiries begin at the same turn, and find it in the
 * provider's cache, until the conversation has grown by a whole step.
 */
export function fitContext({ stream, overhead, contextWindow }: FittedContext): ConversationStream {
  if (contextWindow === undefined) return stream;
  const turns = turnsOf(stream.entries);
  const needed = overhead + turns.reduce((sum, turn) => sum + turnTokens(turn), 0);
  if (needed <= FULL * contextWindow) return stream;
  const step = STEP * contextWindow;
  const surplus = Math.ceil((needed - EMPTIED * contextWindow) / step) * step;
  return withoutTurnsBefore(stream, firstKept(turns, surplus));
}

/** What a request without the conversation needs. */
export function requestTokens(parts: ThreadParts, tools: readonly ToolSchema[]): number {
  const system = parts.systemParts.reduce((sum, { text }) => sum + text.length, 0);
  const events = parts.events.reduce((sum, event) => sum + lengthOf(event), 0);
  return toTokens(system + events + jsonLength(tools) + jsonLength(parts.schema ?? {}));
}

/** The index of the oldest turn that stays: the last one always does. */
function firstKept(turns: readonly Turn[], surplus: number): number {
  let dropped = 0;
  let first = 0;
  for (const turn of turns.slice(0, -1)) {
    if (dropped >= surplus) break;
    dropped += turnTokens(turn);
    first += 1;
  }
  return first;
}

/** What is no event belongs to no turn, and no provider sees it. */
function withoutTurnsBefore(stream: ConversationStream, first: number): ConversationStream {
  const counter = new TurnCounter();
  const entries = stream.entries.filter(
    ({ eventType }) => eventType === undefined || counter.next(eventType) >= first,
  );
  return { ...stream, entries };
}

function turnTokens({ events }: Turn): number {
  return toTokens(
    events.filter(isProviderVisible).reduce((sum, event) => sum + lengthOf(event), 0),
  );
}

function lengthOf(event: ProviderEvent): number {
  switch (event.type) {
    case "chat_request":
    case "tool_call_response":
      return event.content.length;
    case "chat_response":
      return event.content.type === "structured"
        ? jsonLength(event.content.data)
        : event.content.text.length;
    case "tool_call_request":
      return event.name.length + jsonLength(event.arguments);
    default:
      return assertNever(event);
  }
}

function jsonLength(value: unknown): number {
  return JSON.stringify(value).length;
}

function toTokens(characters: number): number {
  return characters / CHARACTERS_PER_TOKEN;
}
