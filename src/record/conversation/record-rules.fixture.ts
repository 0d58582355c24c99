/**
 * Rules for every record of calls and questions that a process left behind in good order.
 * Written from the documents, and not with the program's own pairing.
 */
import type { ConversationEvent } from "./index.ts";

/** The problems of the events, as sentences. */
export function problemsOf(events: readonly ConversationEvent[]): readonly string[] {
  const problems: string[] = [];
  for (const [index, turn] of turnsIn(events).entries()) {
    problems.push(...problemsOfTurn(turn).map((problem) => `turn ${index}: ${problem}`));
  }
  return problems;
}

/** The events of each turn; what stands before the first `turn_start` is a turn too. */
export function turnsIn(events: readonly ConversationEvent[]): ConversationEvent[][] {
  const turns: ConversationEvent[][] = [];
  for (const event of events) {
    if (event.type === "turn_start" || turns.length === 0) turns.push([]);
    turns.at(-1)?.push(event);
  }
  return turns;
}

function problemsOfTurn(events: readonly ConversationEvent[]): readonly string[] {
  const problems: string[] = [];
  const openCalls = new Map<string, number>();
  const inquiries = new Map<string, "open" | "closed">();
  for (const event of events) {
    switch (event.type) {
      case "tool_call_request":
        openCalls.set(event.id, (openCalls.get(event.id) ?? 0) + 1);
        break;
      case "tool_call_response": {
        const open = openCalls.get(event.id) ?? 0;
        if (open === 0) problems.push(`call ${event.id} has a response too many`);
        openCalls.set(event.id, open - 1);
        break;
      }
      case "inquiry_request":
        if (inquiries.has(event.id)) problems.push(`inquiry ${event.id} is there twice`);
        inquiries.set(event.id, "open");
        if ((openCalls.get(event.toolCallId ?? "") ?? 0) === 0) {
          problems.push(`inquiry ${event.id} is of no call that is under way`);
        }
        break;
      case "inquiry_response":
        if (inquiries.get(event.id) !== "open") {
          problems.push(`inquiry ${event.id} is closed, and is not open`);
        }
        inquiries.set(event.id, "closed");
        break;
      case "decision_void":
        // A question that was asked again needs no answer any more.
        if (inquiries.has(event.id)) inquiries.set(event.id, "closed");
        break;
      case "turn_start":
      case "chat_request":
      case "chat_response":
      case "inquiry_escalation":
      case "decision_vote":
      case "permission_request":
      case "permission_decision":
      case "attempt_start":
      case "tool_step":
      case "reply_failure":
      case "turn_resume":
      case "turn_end":
      case "token_usage":
      case "reply_sources":
      case "reply_file":
      case "turn_undo":
        break;
      default:
        event satisfies never;
    }
  }
  for (const [id, open] of openCalls) if (open > 0) problems.push(`call ${id} has no response`);
  for (const [id, state] of inquiries) {
    if (state === "open") problems.push(`inquiry ${id} has no response`);
  }
  return problems;
}
