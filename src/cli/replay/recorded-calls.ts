/** The calls of a recorded turn, and the events of each. */
import type { ConversationEvent } from "../../record/conversation/index.ts";

/** Finds calls by ID. */
export class RecordedCalls {
  readonly #toRecordedId: (id: string) => string;
  readonly #calls: readonly string[];
  /** The call behind each question. */
  readonly #asking = new Map<string, string>();

  /** Takes the events of one turn. `toRecordedId` is for a replay's events, whose IDs may differ. */
  constructor(
    turn: readonly ConversationEvent[],
    toRecordedId: (id: string) => string = (id) => id,
  ) {
    this.#toRecordedId = toRecordedId;
    this.#calls = turn.flatMap((event) => (event.type === "tool_call_request" ? event.id : []));
    for (const event of turn) this.add(event);
  }

  /** Notes which call asked. */
  add(event: ConversationEvent): void {
    if (event.type !== "inquiry_request") return;
    const { id, toolCallId } = event;
    // Older records do not say which call asked. Servers also ask outside of calls.
    const call = toolCallId ?? this.#calls.find((each) => id.startsWith(`${each}.`));
    if (call !== undefined) this.#asking.set(this.#toRecordedId(id), this.#toRecordedId(call));
  }

  /** Undefined if the event is not about a call, and for the model's own messages. */
  of(event: ConversationEvent): string | undefined {
    switch (event.type) {
      case "inquiry_request":
      case "inquiry_escalation":
      case "inquiry_response":
        return this.#asking.get(this.#toRecordedId(event.id));
      case "tool_call_response":
        return this.#toRecordedId(event.id);
      case "permission_request":
      case "permission_decision":
      case "attempt_start":
        return this.#toRecordedId(event.toolCallId);
      case "chat_request":
      case "chat_response":
      case "decision_void":
      case "decision_vote":
      case "token_usage":
      case "reply_sources":
      case "reply_file":
      case "reply_failure":
      case "turn_undo":
      case "tool_step": // A tool that does not run has no steps.
      case "tool_call_request":
      case "turn_end":
      case "turn_resume":
      case "turn_start":
        return undefined;
      default:
        return event satisfies never;
    }
  }
}
