/**
 * Makes a conversation fit into a model's context window by dropping whole turns, oldest first. The
 * current turn always stays, even if it is too long by itself: then the provider reports that.
 */
import {
  type ConversationEvent,
  type ConversationStream,
  isProviderVisible,
  type ProviderEvent,
  type RecordedFile,
  type RecordedTurn,
  type ThreadParts,
  TurnCounter,
  turnsOf,
} from "../conversation/index.ts";
import type { ToolSchema } from "../provider/index.ts";
import { filesForModel } from "../tool/index.ts";
import { assertNever, base64Size } from "../util/index.ts";

const CHARACTERS_PER_TOKEN = 3;
/** About what a large image or a page of a document costs, whatever its size in bytes. */
const TOKENS_PER_FILE = 1500;
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

/** Estimates the tokens of a request; rather too many than too few. */
export function requestTokens(parts: ThreadParts, tools: readonly ToolSchema[]): number {
  const system = parts.systemParts.reduce((sum, { text }) => sum + text.length, 0);
  const events = parts.events.reduce((sum, event) => sum + lengthOf(event), 0);
  return toTokens(system + events + jsonLength(tools) + jsonLength(parts.schema ?? {}));
}

/** Estimates the tokens of events that a model sees. */
export function eventTokens(events: Iterable<ConversationEvent>): number {
  let characters = 0;
  for (const event of events) if (isProviderVisible(event)) characters += lengthOf(event);
  return toTokens(characters);
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

function lengthOf(event: ProviderEvent): number {
  switch (event.type) {
    case "chat_request":
      return event.content.length + filesLength(event.files ?? []);
    case "tool_call_response":
      return event.content.length + filesLength(filesForModel(event.blocks ?? []));
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

/** Models get files with text as text. */
function filesLength(files: readonly Pick<RecordedFile, "mediaType" | "data">[]): number {
  const lengths = files.map(({ mediaType, data }) =>
    mediaType.startsWith("text/")
      ? (base64Size(data) ?? 0)
      : TOKENS_PER_FILE * CHARACTERS_PER_TOKEN,
  );
  return lengths.reduce((sum, length) => sum + length, 0);
}

function jsonLength(value: unknown): number {
  return JSON.stringify(value).length;
}

/** Estimates the tokens of a text; rather too many than too few. */
export function estimateTokens(text: string): number {
  return toTokens(text.length);
}

function toTokens(characters: number): number {
  return characters / CHARACTERS_PER_TOKEN;
}
