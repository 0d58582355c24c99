/**
 * The inquiry model: a structured reply on a copy of the conversation, checked before anyone uses it. The
 * request is the conversation's own up to the question, so that a provider's cache serves both.
 */
import type { AssistantSettings } from "../config/index.ts";
import {
  type Attachment,
  type ConversationEvent,
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
import {
  abortable,
  yieldToEventLoop,
  type Clock,
  isCodedError,
  shouldYield,
  messageOf,
} from "../util/index.ts";
import type { ReplyForm } from "./answer-schema.ts";
import { type Extraction, extractAnswer } from "./extract-answer.ts";
import { createInquiryThread, extendThread, inquiryParts } from "./inquiry-thread.ts";
import type { InquiryAnswer, InquiryBackend, InquiryCall } from "./port.ts";
import { answerPrompt, refusedBy } from "./prompt-answer.ts";
import { correctionMessage } from "./question-message.ts";

/** What a model that answers is made of. */
export interface InquiryBackendOptions {
  /** Who answers, by what the target of the question says. May throw `CodedError`. */
  readonly assistant: (target: InquiryCall["target"]) => AssistantSettings;
  /** May throw `CodedError`: for want of a key, or of such a model. */
  readonly model: (settings: AssistantSettings) => Promise<Model>;
  /** Those of the main conversation, so that a cache can serve both. None is called. */
  readonly tools: () => readonly ToolSchema[];
  readonly attachments: () => readonly Attachment[];
  /** `bound`: a reply has to name the inquiry that it is for. */
  readonly schemaMode: "stable" | "bound";
  readonly clock: Clock;
}

/** How often a reply that is no answer is handed back. */
const MOST_CORRECTIONS = 2;

/** Has a model answer, on a copy of the conversation. */
export function createInquiryBackend(options: InquiryBackendOptions): InquiryBackend {
  return {
    async inquire(call) {
      const answer = await inquire(options, call).catch(toFailure);
      // Whatever came of it: after an abort nobody waits for an answer.
      return call.signal.aborted ? { type: "cancelled" } : answer;
    },
  };
}

async function inquire(options: InquiryBackendOptions, call: InquiryCall): Promise<InquiryAnswer> {
  const { question, inquiryId, signal } = call;
  signal.throwIfAborted();
  const form: ReplyForm = {
    answerType: question.answerType,
    ...(options.schemaMode === "bound" && { boundTo: inquiryId }),
  };
  if (question.answerType.type === "select" && question.answerType.options.length === 0) {
    return { type: "failed", kind: "invalid_answer", message: "the question has no options" };
  }
  const assistant = options.assistant(call.target);
  const model = await abortable(options.model(assistant), signal);
  // Each makes a request of the whole conversation, and there may be many.
  if (shouldYield()) await yieldToEventLoop();
  const { clock } = options;
  const { prompt } = call;
  return prompt === undefined
    ? askModel({ options, call, form, assistant, model })
    : answerPrompt({ prompt, assistant, model, clock, signal });
}

interface Inquiry {
  readonly options: InquiryBackendOptions;
  readonly call: InquiryCall;
  readonly form: ReplyForm;
  readonly assistant: AssistantSettings;
  readonly model: Model;
}

async function askModel(inquiry: Inquiry): Promise<InquiryAnswer> {
  const { options, call, form, assistant, model } = inquiry;
  const { clock } = options;
  const { contextWindow } = model;
  const { parameters, cache, request: policy } = assistant;
  const tools = options.tools();
  const attachments = options.attachments();
  const timestamp = timestampFromDate(clock.now());
  const given = { call, form, assistant, attachments, tools, contextWindow, timestamp };
  let thread = createInquiryThread(given);
  for (let corrections = 0; ; corrections += 1) {
    const isLast = corrections === MOST_CORRECTIONS;
    const way = isLast ? ENFORCED : sameAsMain(assistant);
    const parts = inquiryParts(thread);
    const request = { parts, tools, ...way, parameters, cache, signal: call.signal };
    const reply = await collectReply({ model, request, policy, clock });
    if (reply.reason === "refused") return refusedBy(model);
    const extraction = readReply(reply, form, tools);
    if (extraction.type === "answer") {
      return { type: "answered", answer: extraction.answer, model: model.id };
    }
    const problem = explain(reply, extraction.message);
    if (isLast) {
      return { type: "failed", kind: extraction.type, message: `${model.id}: ${problem}` };
    }
    const content = correctionMessage(problem, form);
    const correction = { type: "chat_request", timestamp, content } as const;
    thread = extendThread(thread, ...echo(reply, timestamp), correction);
  }
}

type Enforcement = Pick<ModelRequest, "toolChoice" | "schemaMayChange">;

/** When words have not helped, the cache is given up for a provider's guarantee; the tools never are. */
const ENFORCED: Enforcement = { toolChoice: "none", schemaMayChange: "prompt" };

/**
 * A schema in the prompt or another tool choice would have the provider read the conversation anew. A call
 * that is demanded is demanded of the first reply of a turn only, and never of an answer.
 */
function sameAsMain({ toolChoice }: AssistantSettings): Enforcement {
  return { toolChoice: toolChoice === "none" ? "none" : "auto", schemaMayChange: "nothing" };
}

/** Nothing is run here. Whoever calls a tool has not decided yet, whatever else the reply says. */
function readReply(
  { text, toolCalls: [call] }: CollectedReply,
  form: ReplyForm,
  tools: readonly ToolSchema[],
): Extraction {
  if (call === undefined) return extractAnswer(text, form);
  // Any other name is only a text of the model's.
  const isKnown = tools.some(({ name }) => name === call.name);
  const called = isKnown ? `\`${call.name}\`` : "a tool";
  return { type: "missing_data", message: `the reply calls ${called}, which does not run here` };
}

function explain({ reason }: CollectedReply, problem: string): string {
  return reason === "length" ? `${problem}, because it reached the limit of its length` : problem;
}

/** The most characters of a wrong reply that its author gets to read again. */
const MOST_ECHOED = 4000;

/** Providers refuse an empty message. */
function echo({ text }: CollectedReply, timestamp: Timestamp): readonly ConversationEvent[] {
  if (text.trim() === "") return [];
  const content = { type: "message", text: text.slice(0, MOST_ECHOED).toWellFormed() } as const;
  return [{ type: "chat_response", timestamp, content }];
}

/** Our own errors tell why a model cannot be had, or why it did not reply. */
function toFailure(error: unknown): InquiryAnswer {
  const message = messageOf(error);
  return { type: "failed", kind: isCodedError(error) ? "provider" : "other", message };
}
