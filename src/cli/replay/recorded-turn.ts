/** Reads a recorded turn in the form that is replayed. */
import { TurnState } from "../../core/agent/index.ts";
import {
  type ConversationEvent,
  type Decider,
  type InquiryId,
  type PermissionRequestEvent,
} from "../../record/conversation/index.ts";
import { withoutClosing } from "./recorded-process.ts";
import { withoutVoid } from "./without-void.ts";

/** The turn as this version would have recorded it, without voided decisions. */
export function readTurn(
  turn: readonly ConversationEvent[],
  options: { readonly runsTools: boolean },
): readonly ConversationEvent[] {
  // Undo happens after a turn, outside of its processes.
  const done = turn.filter(({ type }) => type !== "turn_undo");
  return withCurrentIds(withoutVoid(withoutClosing(withoutVotes(done)), options));
}

/**
 * Reads a turn in which several people decided as if the last of them had decided alone, because a replay knows no people.
 * Arguments that one of them changed count as that person's edit.
 */
function withoutVotes(turn: readonly ConversationEvent[]): readonly ConversationEvent[] {
  const edits = new Map(turn.filter(isEdit).map((request) => [request.id, request]));
  const voided = new Set([...edits.values()].map(({ replaces }) => replaces));
  const firstOf = (id: PermissionRequestEvent["id"]): PermissionRequestEvent["id"] => {
    const { replaces } = edits.get(id) ?? {};
    return replaces === undefined ? id : firstOf(replaces);
  };
  return turn.flatMap((event): readonly ConversationEvent[] => {
    switch (event.type) {
      case "decision_vote":
        return [];
      case "chat_request": {
        const { startedBy: _, ...message } = event;
        return [message];
      }
      case "decision_void":
        return voided.has(event.id) ? [] : [event];
      case "inquiry_request":
      case "attempt_start":
        return [withoutAsker(event)];
      case "permission_request":
        return isEdit(event) ? [] : [withoutAsker(event)];
      case "permission_decision": {
        const request = event.id === undefined ? undefined : edits.get(event.id);
        if (request === undefined) return [event];
        const id = firstOf(request.id);
        const { arguments: args } = request;
        const isYes = event.decision === "approved" && args !== undefined;
        return [{ ...event, id, ...(isYes && { decision: "edited", arguments: args }) }];
      }
      default:
        return [event];
    }
  });
}

function isEdit(event: ConversationEvent): event is PermissionRequestEvent {
  return event.type === "permission_request" && event.isEdited === true;
}

function withoutAsker<Event extends Pick<PermissionRequestEvent, "terms">>(event: Event): Event {
  const { terms } = event;
  return terms?.notBy === undefined ? event : { ...event, terms: { ...terms, notBy: {} } };
}

/** Renumbers requests, because ids count them and some are left out. */
function withCurrentIds(turn: readonly ConversationEvent[]): readonly ConversationEvent[] {
  const state = new TurnState();
  const ids = new Map<string, InquiryId>();
  const toNow = (id: InquiryId) => ids.get(id) ?? id;
  const decider = (by: Decider): Decider =>
    by.kind === "remembered" ? { ...by, from: ids.get(by.from) ?? by.from } : by;
  return turn.map((event): ConversationEvent => {
    switch (event.type) {
      case "inquiry_request": {
        const { toolCallId, questionId } = event;
        if (toolCallId === undefined || questionId === undefined) return event;
        const id = state.nextInquiryId(toolCallId, questionId);
        ids.set(event.id, id);
        return { ...event, id };
      }
      case "permission_request": {
        const { toolCallId, action } = event;
        const id = state.nextPermissionId(toolCallId, action);
        ids.set(event.id, id);
        return { ...event, id };
      }
      case "permission_decision": {
        const { id, decidedBy } = event;
        const identified = id === undefined ? {} : { id: toNow(id) };
        return { ...event, ...identified, decidedBy: decider(decidedBy) };
      }
      case "inquiry_escalation":
      case "inquiry_response": {
        const id = toNow(event.id);
        if (event.outcome === "cancelled" || event.answeredBy === undefined)
          return { ...event, id };
        return { ...event, id, answeredBy: decider(event.answeredBy) };
      }
      default:
        return event;
    }
  });
}
