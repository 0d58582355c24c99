/**
 * The conversation as an inquiry model sees it: a copy in which every call has a response, and the question comes last.
 * None of it is recorded.
 */
import type { AssistantSettings } from "../../settings/config/index.ts";
import {
  type Attachment,
  type ConversationEvent,
  type ConversationStream,
  eventsOf,
  intoParts,
  isSteering,
  lastTurnEntries,
  pairToolCalls,
  project,
  StreamEntry,
  type Thread,
  type ThreadParts,
  type Timestamp,
  type ToolCallRequest,
  type ToolCallResponse,
  requestTokens,
} from "../../record/conversation/index.ts";
import type { ModelProperties, ToolSchema } from "../../reach/provider/index.ts";
import type { JsonObject } from "../../util/index.ts";
import { type AnswerFormat, answerSchema, fenced, questionMessage } from "./answer.ts";
import { fitContext } from "./fit-context.ts";
import type { InquiryCall } from "./port.ts";

export interface InquiryThread extends Thread {
  /** Events that are not in the main conversation. */
  readonly ownEvents: readonly ConversationEvent[];
  /** The schema of the answer. */
  readonly schema: JsonObject;
  /** The result of the paused call, if the question is in it. */
  readonly asking?: ToolCallResponse | undefined;
}

/**
 * A model that sees results is asked in the result of the paused call, instead of in a message. Chat templates of local
 * models render a turn differently once another message follows it, so the whole turn would have to be read again.
 */
export interface InquiryThreadOptions extends ModelProperties {
  readonly call: InquiryCall;
  readonly format: AnswerFormat;
  readonly assistant: AssistantSettings;
  readonly attachments: readonly Attachment[];
  readonly tools: readonly ToolSchema[];
  readonly timestamp: Timestamp;
}

export function createInquiryThread(options: InquiryThreadOptions): InquiryThread {
  const { call, format, tools, contextWindow, seesResults = false, timestamp } = options;
  // Compactions refer to turns by number, so they are applied before any turn is dropped.
  const stream = withoutSteering(project(call.stream));
  const content = questionMessage(call.toolName, call.question, format);
  const paused = seesResults ? content : `Tool paused: ${call.question.text}`;
  const responses = closeOpenCalls({ ...call, stream }, timestamp, paused);
  const asking = seesResults ? responses.find(({ content: text }) => text === paused) : undefined;
  const turn: readonly ConversationEvent[] = [
    { type: "turn_start", timestamp },
    { type: "chat_request", timestamp, content },
  ];
  const question = asking === undefined ? turn : [];
  const schema = answerSchema(format);
  const questionAlone = append({ ...stream, entries: [] }, question);
  const alone = { ...intoParts(toThread(options, questionAlone)), schema };
  const fitted = fitContext({
    stream: append(stream, responses),
    overhead: requestTokens(alone, tools),
    contextWindow,
  });
  return {
    ...toThread(options, append(fitted, question)),
    ownEvents: [...responses, ...question],
    schema,
    asking,
  };
}

/** The user wrote these for the assistant, perhaps about the very call that asks: they must not answer its question. */
function withoutSteering(stream: ConversationStream): ConversationStream {
  const { entries } = stream;
  if (!entries.some(isSteeringEntry)) return stream;
  return { ...stream, entries: entries.filter((entry) => !isSteeringEntry(entry)) };
}

/** Decodes only requests. */
function isSteeringEntry(entry: StreamEntry): boolean {
  return entry.eventType === "chat_request" && isSteering(entry.event);
}

export interface Correction {
  /** The invalid reply, which may be empty. */
  readonly reply: string;
  /** Tells the model what is wrong with it. */
  readonly content: string;
  readonly timestamp: Timestamp;
}

/** Appends to the question where it was asked: in a message, or in the result of the paused call. */
export function correctThread(thread: InquiryThread, correction: Correction): InquiryThread {
  const { asking, stream } = thread;
  const { reply, content, timestamp } = correction;
  if (asking === undefined) {
    const said = { type: "message", text: reply } as const;
    return {
      ...thread,
      stream: append(stream, [
        // Providers refuse an empty message.
        ...(reply === "" ? [] : [{ type: "chat_response", timestamp, content: said } as const]),
        { type: "chat_request", timestamp, content },
      ]),
    };
  }
  const replied = reply === "" ? [] : ["You replied:", fenced(reply)];
  const corrected = { ...asking, content: [asking.content, ...replied, content].join("\n\n") };
  const entries = stream.entries.map((entry) =>
    entry.event === asking ? StreamEntry.fromEvent(corrected) : entry,
  );
  const ownEvents = thread.ownEvents.map((event) => (event === asking ? corrected : event));
  return { ...thread, stream: { ...stream, entries }, ownEvents, asking: corrected };
}

/** Marks the last event shared with the main conversation, so that a cache can serve both up to it. */
export function inquiryParts(thread: InquiryThread): ThreadParts {
  const parts = { ...intoParts(thread), schema: thread.schema };
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
  const { systemPrompt, sections, surroundings } = assistant;
  return {
    ...(systemPrompt !== undefined && { systemPrompt }),
    sections,
    attachments,
    ...(surroundings !== undefined && { surroundings }),
    stream,
  };
}

function append(
  stream: ConversationStream,
  events: readonly ConversationEvent[],
): ConversationStream {
  const added = events.map((event) => StreamEntry.fromEvent(event));
  return { ...stream, entries: [...stream.entries, ...added] };
}

type AskingCall = Pick<InquiryCall, "toolCallId" | "toolName" | "stream">;

/**
 * Responses for the calls that have none yet: the asking one is paused, the others are still running. Their order is
 * that of the calls, which tells apart two calls with the same id.
 */
export function closeOpenCalls(
  asking: AskingCall,
  timestamp: Timestamp,
  pausedText: string,
): readonly ToolCallResponse[] {
  const { entries } = asking.stream;
  const open = pairToolCalls(eventsOf(lastTurnEntries(entries))).pairs.flatMap(
    ({ request, response }) => (response === undefined ? [request] : []),
  );
  const paused = findPaused(open, asking);
  return open.map((call) => ({
    type: "tool_call_response",
    timestamp,
    id: call.id,
    content: call === paused ? pausedText : "Tool call is still running.",
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
