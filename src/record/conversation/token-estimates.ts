/** Estimates how many tokens a model needs for texts, events and requests; rather too many than too few. */
import { filesForModel } from "../tool/index.ts";
import { assertNever, base64Size } from "../../util/index.ts";
import { type ConversationEvent, isProviderVisible, type ProviderEvent } from "./event.ts";
import type { RecordedFile } from "./message-file.ts";
import { holdsAttachments, type ThreadParts } from "./thread.ts";

const CHARACTERS_PER_TOKEN = 3;
/** About what a large image or a page of a document costs, whatever its size in bytes. */
const TOKENS_PER_FILE = 1500;

/** Estimates a text. */
export function estimateTokens(text: string): number {
  return toTokens(text.length);
}

/** Parts of a request: what fills the context window of a model. `files` are attached, or sent with a message. */
export type RequestPart =
  | "instructions"
  | "tools"
  | "files"
  | "messages"
  | "replies"
  | "calls"
  | "results";

/** Estimates each part of a request, with the schemas of the tools it offers. */
export function requestShares(
  parts: ThreadParts,
  tools: readonly object[],
): Readonly<Record<RequestPart, number>> {
  const system = parts.systemParts.reduce((sum, { text }) => sum + text.length, 0);
  const shares = {
    instructions: system + jsonLength(parts.schema ?? {}),
    tools: jsonLength(tools),
    files: 0,
    messages: 0,
    replies: 0,
    calls: 0,
    results: 0,
  };
  for (const event of parts.events) {
    const files = event.type === "chat_request" ? filesLength(event.files ?? []) : 0;
    shares.files += files;
    shares[partOf(event)] += lengthOf(event) - files;
  }
  for (const part of Object.keys(shares) as RequestPart[]) shares[part] = toTokens(shares[part]);
  return shares;
}

function partOf(event: ProviderEvent): RequestPart {
  switch (event.type) {
    case "chat_request":
      return holdsAttachments(event) ? "files" : "messages";
    case "chat_response":
      return "replies";
    case "tool_call_request":
      return "calls";
    case "tool_call_response":
      return "results";
    default:
      return assertNever(event);
  }
}

/** Estimates a request, with the schemas of the tools it offers. */
export function requestTokens(parts: ThreadParts, tools: readonly object[]): number {
  return Object.values(requestShares(parts, tools)).reduce((sum, tokens) => sum + tokens, 0);
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
