/** The record of a turn, as the turn writes it. */
import {
  type ConversationEvent,
  type EventIds,
  type IdentifiedEvent,
  idsOf,
  lastTurn,
  type Traceparent,
  withTraceparent,
} from "../../record/conversation/index.ts";
import type { ConversationWriter } from "../../stores/index.ts";
import type { Journal, Observer } from "./ports.ts";

/** The journal of a turn. */
export interface TurnJournal extends Journal {
  /** Records the event with the next ones. If none follow, nothing happened, and it is dropped. */
  recordWithNext(event: ConversationEvent): void;
}

/**
 * Records to a stored conversation, and reports each event once it is on disk. `traceparent`: the turn's current one,
 * recorded with each request.
 */
export function createJournal(
  conversation: ConversationWriter,
  observer?: Observer,
  traceparent?: () => Traceparent | undefined,
): TurnJournal {
  let held: readonly ConversationEvent[] = [];
  return {
    conversation: conversation.id,
    ...(conversation.isShared !== undefined && { isShared: conversation.isShared }),
    ...(conversation.saveFile !== undefined && {
      saveFile: (file, bytes) => conversation.saveFile?.(file, bytes) ?? Promise.resolve(),
    }),
    get stream() {
      return conversation.stream;
    },
    recordWithNext: (event) => {
      held = [...held, event];
    },
    record: async (...next) => {
      if (next.length === 0) return;
      const all = [...held, ...next];
      held = [];
      const trace = traceparent?.();
      const events = trace === undefined ? all : withTraceparent(all, trace);
      await conversation.append(...events);
      if (observer === undefined) return;
      for (const event of events)
        observer.observe({ type: "event", event, ...about(event, conversation) });
    },
  };
}

/** An answer does not name its call, so this looks it up. */
function about(event: ConversationEvent, of: Pick<Journal, "stream">): EventIds {
  const { type, id, toolCallId, inquiryId }: IdentifiedEvent = event;
  return idsOf({ type, id, toolCallId, inquiryId }, (decision) => {
    const turn: readonly IdentifiedEvent[] = lastTurn(of);
    return turn.find((each) => each.id === decision && each.toolCallId !== undefined)?.toolCallId;
  });
}
