/** Reads a recorded turn in the form in which it is replayed. */
import { TurnState } from "../../core/agent/index.ts";
import {
  type ConversationEvent,
  type Decider,
  type InquiryId,
} from "../../record/conversation/index.ts";
import { withDerivedFields } from "./older-record.ts";
import { withoutClosing } from "./recorded-process.ts";
import { withoutVoid } from "./without-void.ts";
import { withoutVotes } from "./without-votes.ts";

/** As this version would have recorded it, without decisions that were made void. */
export function readTurn(
  turn: readonly ConversationEvent[],
  options: { readonly runsTools: boolean },
): readonly ConversationEvent[] {
  // The user undoes something after a turn: no process does it within one.
  const done = turn.filter(({ type }) => type !== "turn_undo");
  const open = withDerivedFields(withoutClosing(withoutVotes(done)));
  return withCurrentIds(withoutVoid(open, options));
}

/** Ids count requests, of which some have been left out. Earlier versions had other ids for requests about calls. */
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
        // Earlier versions said for which call a permission was given, not under which request.
        if (action === "run") ids.set(toolCallId, id);
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
