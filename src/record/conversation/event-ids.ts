/** Which call and which decision an event is about. */
import type { EventType, InquiryId } from "./event.ts";

export interface EventIds {
  /** Assigned by the provider. Not unique: some reuse ids within a turn. */
  readonly toolCallId?: string;
  /** Of a decision. Unique within the turn. */
  readonly inquiryId?: InquiryId;
}

/** The ids that an event has itself. */
export interface IdentifiedEvent {
  readonly type: EventType;
  readonly id?: string | undefined;
  readonly toolCallId?: string | undefined;
  readonly inquiryId?: string | undefined;
}

/** What the `id` of an event is. */
const IDS = {
  turn_start: undefined,
  chat_request: undefined,
  chat_response: undefined,
  tool_call_request: "call",
  tool_call_response: "call",
  inquiry_request: "decision",
  inquiry_escalation: "decision",
  inquiry_response: "decision",
  permission_request: "decision",
  permission_decision: "decision",
  decision_void: "decision",
  decision_vote: "decision",
  attempt_start: undefined,
  tool_step: undefined,
  reply_failure: undefined,
  turn_resume: undefined,
  turn_end: undefined,
  token_usage: undefined,
  reply_sources: undefined,
  reply_file: undefined,
  turn_undo: undefined,
} as const satisfies Record<EventType, "call" | "decision" | undefined>;

/** `findCall` says which call a decision is about, if the event does not. */
export function idsOf(
  { type, id, toolCallId, inquiryId }: IdentifiedEvent,
  findCall: (decision: string) => string | undefined,
): EventIds {
  const kind = IDS[type];
  const decision = kind === "decision" ? id : inquiryId;
  const own = kind === "call" ? id : toolCallId;
  const call = own ?? (decision === undefined ? undefined : findCall(decision));
  return {
    ...(call !== undefined && { toolCallId: call }),
    ...(decision !== undefined && { inquiryId: decision as InquiryId }), // Branded in the event.
  };
}
