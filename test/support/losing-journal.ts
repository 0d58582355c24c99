/** A journal on a disk that loses events. */
import { setImmediate } from "node:timers/promises";
import type { Journal } from "../../src/agent/index.ts";
import type { ConversationEvent } from "../../src/conversation/index.ts";
import { StorageError } from "../../src/storage/index.ts";

/** What it throws, as an object to compare. */
export const WRITE_FAILED = { code: "write_failed", message: "The disk is full." };

/** `isLost` is asked about each event, in order; one that is lost is not in the record. */
export function losing(journal: Journal, isLost: (event: ConversationEvent) => boolean): Journal {
  return {
    get stream() {
      return journal.stream;
    },
    record: async (...events) => {
      await setImmediate(); // As a disk would.
      if (events.some((event) => isLost(event))) {
        throw new StorageError("write_failed", WRITE_FAILED.message);
      }
      await journal.record(...events);
    },
  };
}
