/**
 * Asks a model for a structured reply on a copy of the conversation, and checks it. Up to the question, the request is
 * identical to the conversation's own, so that a provider's cache serves both.
 */
import type { AssistantSettings } from "../../settings/config/index.ts";
import {
  type Attachment,
  type ConversationEvent,
  intoParts,
  StreamEntry,
  type ThreadParts,
  type Timestamp,
  timestampFromDate,
  requestTokens,
} from "../../record/conversation/index.ts";
import {
  type CollectedReply,
  collectReply,
  isNews,
  type Model,
  type ModelRequest,
  type ToolSchema,
} from "../../reach/provider/index.ts";
import type { ModelPrompt } from "../../record/tool/index.ts";
import {
  abortable,
  type Clock,
  isJpError,
  isNotLoaded,
  messageOf,
  shouldYield,
  yieldToEventLoop,
} from "../../util/index.ts";
import { type AnswerFormat, correctionMessage, extractAnswer, type Extraction } from "./answer.ts";
import type { InquiryAnswer, InquiryBackend, InquiryCall } from "./port.ts";
import {
  correctThread,
  createInquiryThread,
  type InquiryThreadOptions,
  inquiryParts,
} from "./thread.ts";

/** How an inquiry backend finds its assistant, its model and the rest of a request. */
export interface InquiryBackendOptions {
  /** Returns the assistant that a question's target names. May throw `JpError`. */
  readonly assistant: (target: InquiryCall["target"]) => AssistantSettings;
  /** May throw `JpError`, for example if a key is missing or the model is unknown. */
  readonly model: (settings: AssistantSettings) => Promise<Model>;
  /** The tools of the main conversation, so that a cache can serve both. None is called. */
  readonly tools: () => readonly ToolSchema[];
  readonly attachments: () => readonly Attachment[];
  /** `bound`: a reply must repeat the id of its inquiry. */
  readonly schemaMode: "stable" | "bound";
  /** How many inquiries a model gets at once. By default one for a local model, and unlimited for others. */
  readonly maxParallel?: number;
  readonly clock: Clock;
}

/** How often a model may correct an invalid reply. */
const MAX_CORRECTIONS = 2;

/** Creates a backend that asks a model on a copy of the conversation. */
export function createInquiryBackend(options: InquiryBackendOptions): InquiryBackend {
  const queues = new Map<string, Queue>();
  const queueFor = ({ id, isLocal = false }: Model) => {
    const { maxParallel = isLocal ? 1 : Number.POSITIVE_INFINITY } = options;
    const queue = queues.get(id) ?? new Queue(maxParallel);
    queues.set(id, queue);
    return queue;
  };
  return {
    async inquire(call) {
      const answer = await inquire(options, call, queueFor).catch(toFailure);
      return call.signal.aborted ? { type: "cancelled" } : answer;
    },
  };
}

async function inquire(
  options: InquiryBackendOptions,
  call: InquiryCall,
  queueFor: (model: Model) => Queue,
): Promise<InquiryAnswer> {
  const { question, inquiryId, prompt, signal } = call;
  signal.throwIfAborted();
  const { answerType } = question;
  if (answerType.type === "select" && answerType.options.length === 0) {
    return { type: "failed", kind: "invalid_answer", message: "the question has no options" };
  }
  const assistant = options.assistant(call.target);
  const found = await abortable(options.model(assistant), signal);
  const model = call.watchModel?.(found) ?? found;
  const queue = queueFor(model);
  if (queue.isFull) call.observe?.({ type: "queued", model: model.id });
  return queue.run(async () => {
    // Each inquiry builds a request from the whole conversation, and many may start at once.
    if (shouldYield()) await yieldToEventLoop();
    call.observe?.({ type: "asked", model: model.id });
    if (prompt !== undefined) return answerPrompt({ prompt, call, assistant, model, options });
    const isBound = options.schemaMode === "bound";
    const format: AnswerFormat = { answerType, ...(isBound && { boundTo: inquiryId }) };
    return askModel({ options, call, format, assistant, model });
  }, signal);
}

/** In tokens. It fits into any window and is read quickly, so the model's limits need not be looked up. */
const SMALL_PROMPT = 1500;

function isSmall(options: InquiryThreadOptions): boolean {
  const parts = inquiryParts(createInquiryThread(options));
  return requestTokens(parts, options.tools) <= SMALL_PROMPT;
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
  const { parameters, cache, request: policy } = assistant;
  const tools = options.tools();
  const attachments = options.attachments().map((attached) => withoutRefusedFile(attached, model));
  const timestamp = timestampFromDate(clock.now());
  const given = { call, format, assistant, attachments, tools, timestamp };
  const isAnyModel = model.isLocal === true && isSmall(given);
  const properties = isAnyModel ? {} : await model.properties?.(parameters, call.signal);
  let thread = createInquiryThread({ ...given, ...properties });
  for (let corrections = 0; ; corrections += 1) {
    const isLast = corrections === MAX_CORRECTIONS;
    const enforcement = isLast ? ENFORCED : cacheFriendly(assistant);
    const parts = inquiryParts(thread);
    const watched = watch(call);
    const request = { parts, tools, ...enforcement, parameters, cache, ...watched };
    const reply = await collectReply({ model, request, policy, clock });
    call.observe?.({ type: "response_end", reason: reply.reason, usage: reply.usage });
    if (reply.reason === "refused") return refusal(model);
    const extraction = readReply(reply, format, tools);
    if (extraction.type === "answer") {
      return { ...extraction, type: "answered", model: model.id };
    }
    const problem =
      reply.reason === "length"
        ? `${extraction.message}, because it reached its length limit`
        : extraction.message;
    if (isLast) {
      return { type: "failed", kind: extraction.type, message: `${model.id}: ${problem}` };
    }
    const content = correctionMessage(problem, format);
    thread = correctThread(thread, { reply: echo(reply), content, timestamp });
  }
}

/** It may not be the model that the user attached the file for. */
function withoutRefusedFile(attached: Attachment, { acceptsFile }: Model): Attachment {
  const { content } = attached;
  if (typeof content === "string" || acceptsFile?.(content.mediaType) !== false) return attached;
  return { ...attached, content: `[A file of type ${content.mediaType}, which you cannot see.]` };
}

function watch({ signal, observe }: InquiryCall): Pick<ModelRequest, "signal" | "observe"> {
  if (observe === undefined) return { signal };
  return {
    signal,
    observe: (update) => {
      if (isNews(update)) observe(update);
    },
  };
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

/** A reply that calls a tool has not decided yet, even if it also contains an answer. */
function readReply(
  { text, toolCalls: [call] }: CollectedReply,
  format: AnswerFormat,
  tools: readonly ToolSchema[],
): Extraction {
  if (call === undefined) return extractAnswer(text, format);
  // An unknown name is only text from the model, so it is not repeated.
  const isKnown = tools.some(({ name }) => name === call.name);
  const called = isKnown ? `\`${call.name}\`` : "a tool";
  return { type: "missing_data", message: `the reply calls ${called}, but tools cannot run here` };
}

/** How many characters of an invalid reply the model sees again. */
const MAX_ECHO_LENGTH = 4000;

function echo({ text }: CollectedReply): string {
  return text.trim() === "" ? "" : text.slice(0, MAX_ECHO_LENGTH).toWellFormed();
}

interface PromptOptions extends Omit<ModelInquiry, "format"> {
  readonly prompt: ModelPrompt;
}

/**
 * Sends a tool's own prompt and nothing else: no conversation, no instructions, no tools. The author of the prompt
 * could ask the model for anything in the request.
 */
async function answerPrompt(options: PromptOptions): Promise<InquiryAnswer> {
  const { prompt, call, assistant, model } = options;
  const { clock } = options.options;
  const { parameters, request: policy } = assistant; // The rest of the assistant is not used.
  const { maxTokens = Number.POSITIVE_INFINITY } = parameters;
  const reply = await collectReply({
    model,
    request: {
      parts: toThreadParts(prompt, timestampFromDate(clock.now())),
      tools: [],
      toolChoice: "none",
      parameters: { ...parameters, maxTokens: Math.min(maxTokens, prompt.maxTokens) },
      cache: "off", // No later request starts with this prompt.
      ...watch(call),
    },
    policy,
    clock,
  });
  call.observe?.({ type: "response_end", reason: reply.reason, usage: reply.usage });
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
  if (isNotLoaded(error)) throw error; // No model was asked.
  const kind = isJpError(error) ? "provider" : "other";
  return { type: "failed", kind, message: messageOf(error) };
}

/** Limits how many tasks run at once. First come, first served. */
class Queue {
  readonly #max: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get isFull(): boolean {
    return this.#running >= this.#max;
  }

  /** Throws the signal's reason if it is aborted while the task waits. */
  async run<Value>(task: () => Promise<Value>, signal: AbortSignal): Promise<Value> {
    if (this.isFull) await this.#waitForPlace(signal);
    else this.#running += 1;
    try {
      return await task();
    } finally {
      this.#passOn();
    }
  }

  async #waitForPlace(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    try {
      await abortable(promise, signal);
    } catch (error) {
      const index = this.#waiting.indexOf(resolve);
      if (index === -1) this.#passOn();
      else this.#waiting.splice(index, 1);
      throw error;
    }
  }

  /** Hands the slot to the task that has waited longest. */
  #passOn(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running -= 1;
    else next();
  }
}
