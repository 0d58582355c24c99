/**
 * The conversation as the inquiry model gets it: a copy on which every call has a response, with the
 * question at its end, in a turn of its own. Nothing of it is ever recorded.
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
import { answerSchema, questionMessage, type ReplyForm } from "./answer.ts";
import { fitContext, requestTokens } from "./fit-context.ts";
import type { InquiryCall } from "./port.ts";

export interface InquiryThread extends Thread {
  /** Those that the main conversation does not have. */
  readonly ownEvents: readonly ConversationEvent[];
}

export interface InquiryThreadOptions {
  readonly call: InquiryCall;
  readonly form: ReplyForm;
  readonly assistant: AssistantSettings;
  readonly attachments: readonly Attachment[];
  readonly tools: readonly ToolSchema[];
  readonly contextWindow: number | undefined;
  readonly timestamp: Timestamp;
}

export function createInquiryThread(options: InquiryThreadOptions): InquiryThread {
  const { call, tools, contextWindow, timestamp } = options;
  // Compactions name turns by their number, so they come before any turn is dropped.
  const stream = project(call.stream);
  const responses = closeOpenCalls({ ...call, stream }, timestamp);
  const question = questionEvents(options);
  const overhead = requestTokens(
    intoParts(threadOf(options, append({ ...stream, entries: [] }, question))),
    tools,
  );
  const fitted = fitContext({ stream: append(stream, responses), overhead, contextWindow });
  return {
    ...threadOf(options, append(fitted, question)),
    ownEvents: [...responses, ...question],
  };
}

export function extendThread(
  thread: InquiryThread,
  ...events: readonly ConversationEvent[]
): InquiryThread {
  return { ...thread, stream: append(thread.stream, events) };
}

/** What the main conversation has too ends with a mark, up to which a cache can serve both. */
export function inquiryParts(thread: InquiryThread): ThreadParts {
  const parts = intoParts(thread);
  const own = new Set(thread.ownEvents);
  const last = parts.events.findIndex((event) => own.has(event)) - 1;
  const event = parts.events[last];
  if (event === undefined) return parts;
  const marked = { ...event, metadata: { ...event.metadata, cache_breakpoint: true } };
  return { ...parts, events: parts.events.with(last, marked) };
}

function questionEvents(options: InquiryThreadOptions): readonly ConversationEvent[] {
  const { call, form, timestamp } = options;
  const content = questionMessage(call.toolName, call.question, form);
  return [
    { type: "turn_start", timestamp },
    { type: "chat_request", timestamp, content, schema: answerSchema(form) },
  ];
}

function threadOf(
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

const STILL_RUNNING = "Tool call is still running.";

type AskingCall = Pick<InquiryCall, "toolCallId" | "toolName" | "question" | "stream">;

/** In the order of the calls: where two share an id, it tells whose response is whose. */
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
    content: call === paused ? `Tool paused: ${asking.question.text}` : STILL_RUNNING,
    isError: false,
  }));
}

/** Providers may reuse an id within a turn; then the name tells which call it is. */
function findPaused(
  open: readonly ToolCallRequest[],
  { toolCallId, toolName }: AskingCall,
): ToolCallRequest | undefined {
  const candidates = open.filter(({ id }) => id === toolCallId);
  return candidates.find(({ name }) => name === toolName) ?? candidates[0];
}
