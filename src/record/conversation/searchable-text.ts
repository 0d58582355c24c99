/**
 * The text of an event that a search looks at, decoded. Includes questions, but never answers, nor the results that
 * repeat them.
 */
import { assertNever, isJsonArray, isJsonObject, type Json } from "../../util/index.ts";
import { joinTexts, textOfBlocks } from "../tool/index.ts";
import type { ConversationEvent, ToolCallResponse } from "./event.ts";
import { isForUserAlone } from "./user-view.ts";

/** The kind of event a text comes from. */
export type SearchScope =
  | "user"
  | "assistant"
  | "reasoning"
  | "structured"
  | "tool-call"
  | "tool-result"
  | "inquiry";

/** The text of an event and its scope. */
export interface SearchableText {
  readonly scope: SearchScope;
  readonly text: string;
}

/** Undefined for events without searchable text. */
export type TextFinder = (event: ConversationEvent) => SearchableText | undefined;

/** For the events of one conversation, in order from the first one: only the call says what a result is. */
export function createTextFinder(): TextFinder {
  const asking = new Set<string>();
  return (event) => {
    if (event.type === "turn_start") asking.clear();
    const id = askingCall(event);
    if (id !== undefined) asking.add(id);
    const isAnswer = event.type === "tool_call_response" && asking.has(event.id);
    return isAnswer ? undefined : searchableText(event);
  };
}

/** The id of a call that asks for the assistant: of `ask_user`, by whatever name. */
function askingCall(event: ConversationEvent): string | undefined {
  if (event.type === "tool_call_request") return event.name === "ask_user" ? event.id : undefined;
  const isAsked = event.type === "inquiry_request" && event.source.source === "assistant";
  return isAsked ? event.toolCallId : undefined;
}

function searchableText(event: ConversationEvent): SearchableText | undefined {
  switch (event.type) {
    case "chat_request":
      return event.correction === undefined ? { scope: "user", text: event.content } : undefined;
    case "chat_response":
      return searchableResponse(event.content);
    case "tool_call_request":
      return { scope: "tool-call", text: [event.name, ...stringsIn(event.arguments)].join("\n") };
    case "tool_call_response":
      return { scope: "tool-result", text: resultText(event) };
    case "inquiry_request": {
      const { text, context } = event.question;
      return { scope: "inquiry", text: context === undefined ? text : `${context}\n${text}` };
    }
    case "inquiry_escalation":
    case "inquiry_response":
    case "permission_request":
    case "permission_decision":
    case "decision_void":
    case "decision_vote":
    case "attempt_start":
    case "tool_step":
    case "reply_failure":
    case "turn_resume":
    case "turn_end":
    case "token_usage":
    case "reply_sources":
    case "reply_file":
    case "turn_undo":
    case "turn_start":
      return undefined;
    default:
      return assertNever(event);
  }
}

/** The text that the model has seen, and that only the user has. */
function resultText({ content, blocks = [] }: ToolCallResponse): string {
  return joinTexts([content, textOfBlocks(blocks.filter(isForUserAlone))]);
}

type ResponseContent = Extract<ConversationEvent, { type: "chat_response" }>["content"];

function searchableResponse(content: ResponseContent): SearchableText {
  if (content.type === "structured") {
    return { scope: "structured", text: [...stringsIn(content.data)].join("\n") };
  }
  return { scope: content.type === "message" ? "assistant" : "reasoning", text: content.text };
}

function* stringsIn(value: Json): Generator<string> {
  if (typeof value === "string") yield value;
  const children = isJsonArray(value) ? value : isJsonObject(value) ? Object.values(value) : [];
  for (const child of children) yield* stringsIn(child);
}
