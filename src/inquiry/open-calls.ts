/**
 * Responses for calls that have none yet, for the eyes of the inquiry model only: the one that asks is
 * paused, the others still run. Those that have ended show in the conversation what came of them.
 */
import {
  eventsOf,
  pairToolCalls,
  type Timestamp,
  type ToolCallRequest,
  type ToolCallResponse,
} from "../conversation/index.ts";
import type { InquiryCall } from "./port.ts";

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
