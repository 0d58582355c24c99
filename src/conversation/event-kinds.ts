/** What is true of a kind of event, whatever its content. A new kind does not compile unclassified. */
import type {
  ChatRequest,
  ChatResponse,
  ConversationEvent,
  EventType,
  ToolCallRequest,
  ToolCallResponse,
} from "./event.ts";

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
