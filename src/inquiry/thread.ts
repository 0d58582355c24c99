/**
 * The conversation as an inquiry model sees it: a copy in which every call has a response, with the
 * question in its own turn at the end. Nothing of it is recorded.
 */
import type { AssistantSettings } from "../config/index.ts";
import {
  type Attachment,
  type ConversationEvent,
  type ConversationStream,
  eventsOf,
  intoParts,
  pairToolCalls,
  project,
  StreamEntry,
  type Thread,
  type ThreadParts,
  type Timestamp,
  type ToolCallRequest,
  type ToolCallResponse,
} from "../conversation/index.ts";
import type { ToolSchema } from "../provider/index.ts";
import { type AnswerFormat, answerSchema, questionMessage } from "./answer.ts";
import { fitContext, requestTokens } from "./fit-context.ts";
import type { InquiryCall } from "./port.ts";

export interface InquiryThread extends Thread {
  /** Events that the main conversation does not have. */
  readonly ownEvents: readonly ConversationEvent[];
}

export interface InquiryThreadOptions {
  readonly call: InquiryCall;
  readonly format: AnswerFormat;
  readonly assistant: AssistantSettings;
  readonly attachments: readonly Attachment[];
  readonly tools: readonly ToolSchema[];
  readonly contextWindow: number | undefined;
  readonly timestamp: Timestamp;
}

export function createInquiryThread(options: InquiryThreadOptions): InquiryThread {
  const { call, format, tools, contextWindow, timestamp } = options;
  // Compactions refer to turns by number, so they are applied before any turn is dropped.
  const stream = project(call.stream);
  const responses = closeOpenCalls({ ...call, stream }, timestamp);
  const content = questionMessage(call.toolName, call.question, format);
  const question: readonly ConversationEvent[] = [
    { type: "turn_start", timestamp },
    { type: "chat_request", timestamp, content, schema: answerSchema(format) },
  ];
  const questionAlone = append({ ...stream, entries: [] }, question);
  const overhead = requestTokens(intoParts(toThread(options, questionAlone)), tools);
  const fitted = fitContext({ stream: append(stream, responses), overhead, contextWindow });
  return {
    ...toThread(options, append(fitted, question)),
    ownEvents: [...responses, ...question],
  };
}

export function extendThread(
  thread: InquiryThread,
  ...events: readonly ConversationEvent[]
): InquiryThread {
  return { ...thread, stream: append(thread.stream, events) };
}

/** Marks the last event shared with the main conversation, so that a cache can serve both up to it. */
export function inquiryParts(thread: InquiryThread): ThreadParts {
  const parts = intoParts(thread);
  const own = new Set(thread.ownEvents);
  const last = parts.events.findIndex((event) => own.has(event)) - 1;
  const event = parts.events[last];
  if (event === undefined) return parts;
  const marked = { ...event, metadata: { ...event.metadata, cache_breakpoint: true } };
  return { ...parts, events: parts.events.with(last, marked) };
}

function toThread(
  { assistant, attachments }: InquiryThreadOptions,
  stream: ConversationStream,
): Thread {
  const { systemPrompt, sections } = assistant;
  return { ...(systemPrompt !== undefined && { systemPrompt }), sections, attachments, stream };
}

function append(
  stream: ConversationStream,
  events: readonly ConversationEvent[],
): ConversationStream {
  const added = events.map((event) => StreamEntry.fromEvent(event));
  return { ...stream, entries: [...stream.entries, ...added] };
}

type AskingCall = Pick<InquiryCall, "toolCallId" | "toolName" | "question" | "stream">;

/**
 * Responses for the calls that have none yet: the asking one is paused, the others are still running.
 * They are in the order of the calls, which tells two calls with the same id apart.
 */
export function closeOpenCalls(
  asking: AskingCall,
  timestamp: Timestamp,
): readonly ToolCallResponse[] {
  const { entries } = asking.stream;
  const start = entries.findLastIndex(({ eventType }) => eventType === "turn_start");
  const events = eventsOf(entries.slice(Math.max(start, 0)));
  const open = pairToolCalls(events).pairs.flatMap(({ request, response }) =>
    response === undefined ? [request] : [],
  );
  const paused = findPaused(open, asking);
  return open.map((call) => ({
    type: "tool_call_response",
    timestamp,
    id: call.id,
    content:
      call === paused ? `Tool paused: ${asking.question.text}` : "Tool call is still running.",
    isError: false,
  }));
}

/** Providers may reuse an id within a turn. Then the tool's name identifies the call. */
function findPaused(
  open: readonly ToolCallRequest[],
  { toolCallId, toolName }: AskingCall,
): ToolCallRequest | undefined {
  const candidates = open.filter(({ id }) => id === toolCallId);
  return candidates.find(({ name }) => name === toolName) ?? candidates[0];
}
