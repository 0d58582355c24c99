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
  /**
   * Like `record`, but may resolve before: see `ConversationWriter.appendSoon`. If it fails later, the next `record` or
   * `settle` throws.
   */
  recordSoon(...events: readonly ConversationEvent[]): Promise<void>;
  /** Resolves once everything is on disk. Throws `write_failed`. */
  settle(): Promise<void>;
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
  /** Never rejects. */
  let soon: Promise<void> = Promise.resolve();
  let failure: { readonly error: unknown } | undefined;
  const withHeld = (added: readonly ConversationEvent[]) => {
    const events = [...held, ...added];
    held = [];
    const trace = traceparent?.();
    return trace === undefined ? events : withTraceparent(events, trace);
  };
  const report = (events: readonly ConversationEvent[]) => {
    if (observer === undefined) return;
    for (const event of events)
      observer.observe({ type: "event", event, ...about(event, conversation) });
  };
  const settle = async () => {
    await soon;
    if (failure !== undefined) throw failure.error;
  };
  const record: Journal["record"] = async (...added) => {
    if (added.length === 0) return;
    if (failure !== undefined) throw failure.error;
    const events = withHeld(added);
    await conversation.append(...events);
    await settle();
    report(events);
  };
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
    recordSoon: async (...added) => {
      if (conversation.appendSoon === undefined) return record(...added);
      const events = withHeld(added);
      const written = conversation
        .appendSoon(...events)
        .then(() => report(events))
        .catch((error: unknown) => {
          failure = { error };
        });
      soon = soon.then(() => written);
    },
    settle,
    record,
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
