/** Events as lines that a reader of a test can follow: what happened, to which call, in which order. */
import { assertNever } from "../../util/index.ts";
import type { ConversationEvent } from "./index.ts";

export function transcript(events: Iterable<ConversationEvent>): readonly string[] {
  return Array.from(events, lineOf);
}

function lineOf(event: ConversationEvent): string {
  switch (event.type) {
    case "turn_start":
      return "turn";
    case "chat_request":
      return `person: ${event.content}`;
    case "chat_response": {
      const { content } = event;
      const text = content.type === "structured" ? JSON.stringify(content.data) : content.text;
      return `${content.type}: ${text}`;
    }
    case "tool_call_request":
      return `${event.id} calls ${event.name}`;
    case "tool_call_response":
      return `${event.id} ${event.isError ? "fails" : "gives"}: ${event.content}`;
    case "inquiry_request":
      return `${event.id} asks: ${event.question.text}`;
    case "inquiry_response":
      if (event.outcome === "answered")
        return `${event.id} answered: ${JSON.stringify(event.answer)}`;
      if (event.outcome === "redacted") return `${event.id} redacted`;
      return `${event.id} cancelled: ${JSON.stringify(event.reason)}`;
    case "inquiry_escalation":
      return `${event.id} goes on to a person`;
    case "permission_request":
      return `${event.toolCallId} waits for permission (${event.action})`;
    case "permission_decision":
      return `${event.toolCallId} ${event.decision} (${event.action})`;
    case "decision_void":
      return `${event.id} no longer counts: ${event.changed.join(", ")}`;
    case "decision_vote":
      return `${event.id} ${JSON.stringify(event.decision ?? event.answer)} says ${JSON.stringify(event.by)}`;
    case "attempt_start":
      return `${event.toolCallId} starts`;
    case "tool_step":
      return `${event.toolCallId} has finished ${event.name}: ${JSON.stringify(event.result ?? event.failure)}`;
    case "reply_failure":
      return `no reply: ${event.code}`;
    case "turn_resume":
      return "resumed";
    case "turn_end":
      return `turn ${event.reason}`;
    case "token_usage":
      return `${event.purpose} by ${event.model}: ${JSON.stringify(event.usage)}`;
    case "reply_sources":
      return `sources: ${JSON.stringify(event.sources)}`;
    case "reply_file":
      return `file: ${event.mediaType}, ${event.size} bytes, ${event.digest}`;
    case "turn_undo":
      return `undone: ${event.files.map(({ path }) => path).join(", ")}`;
    default:
      return assertNever(event);
  }
}
