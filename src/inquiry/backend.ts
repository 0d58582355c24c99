/**
 * Asks a model for a structured reply on a copy of the conversation, and checks it. Up to the question
 * the request is the conversation's own, so that a provider's cache serves both.
 */
import type { AssistantSettings } from "../config/index.ts";
import {
  type Attachment,
  type ConversationEvent,
  intoParts,
  StreamEntry,
  type ThreadParts,
  type Timestamp,
  timestampFromDate,
} from "../conversation/index.ts";
import {
  type CollectedReply,
  collectReply,
  type Model,
  type ModelRequest,
  type ToolSchema,
} from "../provider/index.ts";
import type { ModelPrompt } from "../tool/index.ts";
import {
  abortable,
  yieldToEventLoop,
  type Clock,
  isCodedError,
  shouldYield,
  messageOf,
} from "../util/index.ts";
import { type AnswerFormat, correctionMessage, extractAnswer, type Extraction } from "./answer.ts";
import type { InquiryAnswer, InquiryBackend, InquiryCall } from "./port.ts";
import { createInquiryThread, extendThread, inquiryParts } from "./thread.ts";

/** How an inquiry backend finds its assistant, its model and the rest of a request. */
export interface InquiryBackendOptions {
  /** Returns the assistant that a question's target names. May throw `CodedError`. */
  readonly assistant: (target: InquiryCall["target"]) => AssistantSettings;
  /** May throw `CodedError`, for example if a key is missing or the model is unknown. */
  readonly model: (settings: AssistantSettings) => Promise<Model>;
  /** The tools of the main conversation, so that a cache can serve both. None is called. */
  readonly tools: () => readonly ToolSchema[];
  readonly attachments: () => readonly Attachment[];
  /** `bound`: a reply must repeat the id of its inquiry. */
  readonly schemaMode: "stable" | "bound";
  readonly clock: Clock;
}

/** How often a model may correct an invalid reply. */
const MAX_CORRECTIONS = 2;

/** Creates a backend that asks a model on a copy of the conversation. */
export function createInquiryBackend(options: InquiryBackendOptions): InquiryBackend {
  return {
    async inquire(call) {
      const answer = await inquire(options, call).catch(toFailure);
      return call.signal.aborted ? { type: "cancelled" } : answer;
    },
  };
}

async function inquire(options: InquiryBackendOptions, call: InquiryCall): Promise<InquiryAnswer> {
  const { question, inquiryId, prompt, signal } = call;
  signal.throwIfAborted();
  const { answerType } = question;
  if (answerType.type === "select" && answerType.options.length === 0) {
    return { type: "failed", kind: "invalid_answer", message: "the question has no options" };
  }
  const assistant = options.assistant(call.target);
  const model = await abortable(options.model(assistant), signal);
  // Each inquiry builds a request from the whole conversation, and many may start at once.
  if (shouldYield()) await yieldToEventLoop();
  if (prompt !== undefined) {
    return answerPrompt({ prompt, assistant, model, clock: options.clock, signal });
  }
  const isBound = options.schemaMode === "bound";
  const format: AnswerFormat = { answerType, ...(isBound && { boundTo: inquiryId }) };
  return askModel({ options, call, format, assistant, model });
}

interface ModelInquiry {
  readonly options: InquiryBackendOptions;
  readonly call: InquiryCall;
  readonly format: AnswerFormat;
  readonly assistant: AssistantSettings;
  readonly model: Model;
}

async function askModel(inquiry: ModelInquiry): Promise<InquiryAnswer> {
  const { options, call, format, assistant, model } = inquiry;
  const { clock } = options;
  const { contextWindow } = model;
  const { parameters, cache, request: policy } = assistant;
  const tools = options.tools();
  const attachments = options.attachments();
  const timestamp = timestampFromDate(clock.now());
  const given = { call, format, assistant, attachments, tools, contextWindow, timestamp };
  let thread = createInquiryThread(given);
  for (let corrections = 0; ; corrections += 1) {
    const isLast = corrections === MAX_CORRECTIONS;
    const enforcement = isLast ? ENFORCED : cacheFriendly(assistant);
    const parts = inquiryParts(thread);
    const request = { parts, tools, ...enforcement, parameters, cache, signal: call.signal };
    const reply = await collectReply({ model, request, policy, clock });
    if (reply.reason === "refused") return refusal(model);
    const extraction = readReply(reply, format, tools);
    if (extraction.type === "answer") {
      return { type: "answered", answer: extraction.answer, model: model.id };
    }
    const problem =
      reply.reason === "length"
        ? `${extraction.message}, because it reached its length limit`
        : extraction.message;
    if (isLast) {
      return { type: "failed", kind: extraction.type, message: `${model.id}: ${problem}` };
    }
    const content = correctionMessage(problem, format);
    const correction = { type: "chat_request", timestamp, content } as const;
    thread = extendThread(thread, ...echo(reply, timestamp), correction);
  }
}

type Enforcement = Pick<ModelRequest, "toolChoice" | "schemaMayChange">;

/** The last attempt trades the cache for the provider's guarantee. The tools stay in any case. */
const ENFORCED: Enforcement = { toolChoice: "none", schemaMayChange: "prompt" };

/**
 * A schema in the prompt or another tool choice would invalidate the provider's cache. A required call
 * applies only to the first reply of a turn, and never to an answer.
 */
function cacheFriendly({ toolChoice }: AssistantSettings): Enforcement {
  return { toolChoice: toolChoice === "none" ? "none" : "auto", schemaMayChange: "nothing" };
}

/** A reply that calls a tool has not decided yet, whatever else it says. */
function readReply(
  { text, toolCalls: [call] }: CollectedReply,
  format: AnswerFormat,
  tools: readonly ToolSchema[],
): Extraction {
  if (call === undefined) return extractAnswer(text, format);
  // An unknown name is only text of the model's, so it is not repeated.
  const isKnown = tools.some(({ name }) => name === call.name);
  const called = isKnown ? `\`${call.name}\`` : "a tool";
  return { type: "missing_data", message: `the reply calls ${called}, but tools cannot run here` };
}

/** How many characters of an invalid reply the model sees again. */
const MAX_ECHO_LENGTH = 4000;

/** Empty for an empty reply, because providers refuse an empty message. */
function echo({ text }: CollectedReply, timestamp: Timestamp): readonly ConversationEvent[] {
  if (text.trim() === "") return [];
  const shown = text.slice(0, MAX_ECHO_LENGTH).toWellFormed();
  return [{ type: "chat_response", timestamp, content: { type: "message", text: shown } }];
}

interface PromptOptions {
  readonly prompt: ModelPrompt;
  /** Only its model settings are used. */
  readonly assistant: AssistantSettings;
  readonly model: Model;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Sends a tool's own prompt and nothing else: no conversation, no instructions, no tools. Whoever wrote
 * the prompt could ask the model for anything in the request.
 */
async function answerPrompt(options: PromptOptions): Promise<InquiryAnswer> {
  const { prompt, assistant, model, clock, signal } = options;
  const { parameters, request: policy } = assistant;
  const { maxTokens = Number.POSITIVE_INFINITY } = parameters;
  const reply = await collectReply({
    model,
    request: {
      parts: toThreadParts(prompt, timestampFromDate(clock.now())),
      tools: [],
      toolChoice: "none",
      parameters: { ...parameters, maxTokens: Math.min(maxTokens, prompt.maxTokens) },
      cache: "off", // No later request starts with this prompt.
      signal,
    },
    policy,
    clock,
  });
  if (reply.reason === "refused") return refusal(model);
  const answered = { type: "answered", answer: reply.text, model: model.id } as const;
  return reply.reason === "length" ? { ...answered, isCutOff: true } : answered;
}

function toThreadParts({ systemPrompt, messages }: ModelPrompt, timestamp: Timestamp): ThreadParts {
  const events = messages.map(({ role, text }): ConversationEvent =>
    role === "user"
      ? { type: "chat_request", timestamp, content: text }
      : { type: "chat_response", timestamp, content: { type: "message", text } },
  );
  const entries = [{ type: "turn_start", timestamp } as const, ...events].map((event) =>
    StreamEntry.fromEvent(event),
  );
  return intoParts({
    ...(systemPrompt !== undefined && { systemPrompt }),
    sections: [],
    attachments: [],
    stream: { createdAt: timestamp, baseConfig: {}, entries },
  });
}

function refusal(model: Model): InquiryAnswer {
  return { type: "failed", kind: "provider", message: `${model.id} refused to answer` };
}

/** Coded errors say why a model is unavailable or did not reply. */
function toFailure(error: unknown): InquiryAnswer {
  const kind = isCodedError(error) ? "provider" : "other";
  return { type: "failed", kind, message: messageOf(error) };
}
