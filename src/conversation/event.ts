/**
 * The events of a conversation, as the program holds them. Discriminants are the strings on disk;
 * how each event is written there is the codecs' business.
 */
import type { InquiryQuestion, InquirySource } from "../tool/index.ts";
import type { Json, JsonObject } from "../util/index.ts";
import type { Timestamp } from "./timestamp.ts";

/** Everything that can happen in a conversation; told apart by `type`. */
export type ConversationEvent =
  | TurnStart
  | ChatRequest
  | ChatResponse
  | ToolCallRequest
  | ToolCallResponse
  | InquiryRequest
  | InquiryResponse
  | PermissionDecision;

/** The `type` of an event, as it is on disk. */
export type EventType = ConversationEvent["type"];

interface EventBase {
  readonly timestamp: Timestamp;
  /** Provider signatures and the like; its strings are base64 on disk. */
  readonly metadata?: JsonObject;
  /** Fields this version does not know, kept for writing back. */
  readonly extra?: JsonObject;
}

/** A turn begins here. */
export interface TurnStart extends EventBase {
  readonly type: "turn_start";
}

/** What a person said. */
export interface ChatRequest extends EventBase {
  readonly type: "chat_request";
  readonly content: string;
  /** JSON Schema of the structured output that is wanted. */
  readonly schema?: JsonObject;
  readonly author?: string;
}

/** What the assistant said or thought. */
export interface ChatResponse extends EventBase {
  readonly type: "chat_response";
  readonly content:
    | { readonly type: "message"; readonly text: string }
    | { readonly type: "reasoning"; readonly text: string }
    | { readonly type: "structured"; readonly data: Json };
}

/** The assistant wants a tool to be run. */
export interface ToolCallRequest extends EventBase {
  readonly type: "tool_call_request";
  /** Given by the provider, and not unique: some reuse one within a turn. */
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonObject;
}

/** What the model is told of a call. */
export interface ToolCallResponse extends EventBase {
  readonly type: "tool_call_response";
  readonly id: string;
  readonly content: string;
  readonly isError: boolean;
}

/** A question was asked, by a tool or by the assistant. */
export interface InquiryRequest extends EventBase {
  readonly type: "inquiry_request";
  readonly id: InquiryId;
  readonly source: InquirySource;
  readonly question: InquiryQuestion;
  /** Which call asked, and which of its questions this is; absent in older records. */
  readonly toolCallId?: string;
  readonly questionId?: string;
}

/** What became of a question, and who answered it. */
export type InquiryResponse = EventBase & {
  readonly type: "inquiry_response";
  /** The id of the request it closes. */
  readonly id: InquiryId;
} & InquiryOutcome;

/** How a question ended. An answer is there, or withheld, or there is none: never two of these. */
export type InquiryOutcome =
  | {
      readonly outcome: "answered";
      readonly answer: Json;
      /** The person chose none of the options and wrote the answer. */
      readonly isOther?: boolean;
      /** What the person had to say besides. */
      readonly note?: string;
      readonly answeredBy?: Decider;
    }
  /** Answered, and the tool has the answer, but it is a secret and not in the record. */
  | { readonly outcome: "redacted"; readonly answeredBy?: Decider }
  | { readonly outcome: "cancelled"; readonly reason: CancellationReason };

/** Whether a call may run, or its result be seen, and who said so. */
export interface PermissionDecision extends EventBase {
  readonly type: "permission_decision";
  readonly toolCallId: string;
  readonly tool: string;
  /** What was decided on: the call itself, or whether its result reaches the model. */
  readonly action: "run" | "deliver";
  readonly decision: "approved" | "denied" | "edited";
  /** What the call ran with instead, if a person edited its arguments. */
  readonly arguments?: JsonObject;
  readonly decidedBy: Decider;
  readonly reason?: string;
}

declare const inquiryIdBrand: unique symbol;

/** Pairs a request with its response within one turn. Opaque to readers: never take it apart. */
export type InquiryId = string & { readonly [inquiryIdBrand]: "InquiryId" };

/** Who or what decided. */
export type Decider =
  /** `scope`: the person said that it holds until the turn ends. */
  | { readonly kind: "user"; readonly channel: string; readonly scope?: "turn" }
  | { readonly kind: "assistant"; readonly model: string }
  | { readonly kind: "config"; readonly key: string }
  | { readonly kind: "remembered"; readonly from: string }
  | { readonly kind: "policy"; readonly key: string }
  | { readonly kind: "default" }
  /** Written by a version that knows more kinds than we do. */
  | { readonly kind: "unknown"; readonly raw: JsonObject };

/** Why a question has no answer. We write only these. */
export type KnownCancellationReason =
  | "user"
  | "backend_error"
  | "no_prompt_backend"
  | "assistant_routing_denied"
  | "invalid_static_answer"
  | "interrupted"
  | "attempts_exhausted";

/** A reason of another version is kept as its tag, and nothing may be decided by it. */
export type CancellationReason = KnownCancellationReason | { readonly unknown: string };

/** The events that a model may see. */
export type ProviderEvent = ChatRequest | ChatResponse | ToolCallRequest | ToolCallResponse;

/** The allowlist of RFD 005: what is not `true` here never reaches a model. */
const PROVIDER_VISIBLE = {
  turn_start: false,
  chat_request: true,
  chat_response: true,
  tool_call_request: true,
  tool_call_response: true,
  inquiry_request: false,
  inquiry_response: false,
  permission_decision: false,
} as const satisfies Record<EventType, boolean>;

/** Every type of event there is. */
export const EVENT_TYPES = Object.keys(PROVIDER_VISIBLE) as readonly EventType[];

export function isEventType(type: unknown): type is EventType {
  return typeof type === "string" && Object.hasOwn(PROVIDER_VISIBLE, type);
}

/** Whether a model may see it. */
export function isProviderVisible(event: ConversationEvent): event is ProviderEvent {
  return PROVIDER_VISIBLE[event.type];
}
