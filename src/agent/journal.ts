/** The conversation, as a turn reads it and adds to it. */
import type { ConversationEvent, ConversationStream } from "../conversation/index.ts";
import type { ConversationWriter } from "../storage/index.ts";
import type { Observer } from "./observer.ts";

/** The record of one conversation, as a turn reads it and adds to it. */
export interface Journal {
  /** Grows with what is recorded. */
  readonly stream: ConversationStream;
  /** Resolves when the events are on the disk. Throws `write_failed`. */
  record(...events: readonly ConversationEvent[]): Promise<void>;
}

/** Writes to the conversation, and tells the observer what is on the disk. */
export function createJournal(conversation: ConversationWriter, observer?: Observer): Journal {
  return {
    get stream() {
      return conversation.stream;
    },
    record: async (...events) => {
      await conversation.append(...events);
      for (const event of events) observer?.observe({ type: "event", event });
    },
  };
}
