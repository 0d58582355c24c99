/** The record of a turn: what is written to it, and what of it is the turn's own. */
import { type ConversationEvent, endOf, eventsOf, lastTurnOf } from "../conversation/index.ts";
import type { ConversationWriter } from "../storage/index.ts";
import type { Journal, Observer } from "./ports.ts";

/** The journal of a turn. */
export interface TurnJournal extends Journal {
  /** Records the event with the next ones. If none come, nothing has happened, and it is not recorded. */
  recordWithNext(event: ConversationEvent): void;
}

/** Records to a stored conversation, and reports each event once it is on disk. */
export function createJournal(conversation: ConversationWriter, observer?: Observer): TurnJournal {
  let held: readonly ConversationEvent[] = [];
  return {
    conversation: conversation.id,
    get stream() {
      return conversation.stream;
    },
    recordWithNext: (event) => {
      held = [...held, event];
    },
    record: async (...next) => {
      if (next.length === 0) return;
      const events = [...held, ...next];
      held = [];
      await conversation.append(...events);
      for (const event of events) observer?.observe({ type: "event", event });
    },
  };
}

/** The events of the turn that the record ends with. Those before the first `turn_start` form one too. */
export function lastTurn({ stream }: Pick<Journal, "stream">): readonly ConversationEvent[] {
  const turn = lastTurnOf(endOf(stream));
  return turn.length > 0 ? turn : [...eventsOf(stream.entries)];
}
