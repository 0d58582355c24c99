/**
 * Reads a turn in which people have decided together as if the last of them had decided alone: a replay knows no people. What
 * one of them has made of the arguments is then their edit.
 */
import type { ConversationEvent, PermissionRequestEvent } from "../../record/conversation/index.ts";

/** Takes the events of one turn. */
export function withoutVotes(turn: readonly ConversationEvent[]): readonly ConversationEvent[] {
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
