/** Estimates how many tokens a model needs for texts, events and requests; rather too many than too few. */
import { filesForModel } from "../tool/index.ts";
import { assertNever, base64Size } from "../../util/index.ts";
import { type ConversationEvent, isProviderVisible, type ProviderEvent } from "./event.ts";
import type { RecordedFile } from "./message-file.ts";
import type { ThreadParts } from "./thread.ts";

const CHARACTERS_PER_TOKEN = 3;
/** About what a large image or a page of a document costs, whatever its size in bytes. */
const TOKENS_PER_FILE = 1500;

/** Estimates a text. */
export function estimateTokens(text: string): number {
  return toTokens(text.length);
}

/** Estimates a request, with the schemas of the tools it offers. */
export function requestTokens(parts: ThreadParts, tools: readonly object[]): number {
  const system = parts.systemParts.reduce((sum, { text }) => sum + text.length, 0);
  const events = parts.events.reduce((sum, event) => sum + lengthOf(event), 0);
  return toTokens(system + events + jsonLength(tools) + jsonLength(parts.schema ?? {}));
}

/** Estimates the events that a model sees. */
export function eventTokens(events: Iterable<ConversationEvent>): number {
  let characters = 0;
  for (const event of events) if (isProviderVisible(event)) characters += lengthOf(event);
  return toTokens(characters);
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

function toTokens(characters: number): number {
  return characters / CHARACTERS_PER_TOKEN;
}
