/** How a turn of a program ended, and what it added to the record. */
import type { DetachedDenial, TurnEnd } from "../agent/index.ts";
import {
  type ConversationEvent,
  type ConversationStream,
  eventsOf,
} from "../conversation/index.ts";
import { assertNever } from "../util/index.ts";

/** How a turn ended, told by `type`, and what came of it. */
export type TurnResult = TurnEnd & {
  /** What the assistant said last, without its thoughts; JSON where a schema was given. */
  readonly text: string;
  /** Everything that the turn added to the record. */
  readonly events: readonly ConversationEvent[];
  /** What was denied only because there was no one to ask. */
  readonly denials: readonly DetachedDenial[];
};

/** Of the last turn in the stream. */
export function createResult(
  end: TurnEnd,
  { entries }: ConversationStream,
  denials: readonly DetachedDenial[],
): TurnResult {
  const start = entries.findLastIndex(({ eventType }) => eventType === "turn_start");
  const events = [...eventsOf(entries.slice(start))];
  const reply = events.slice(events.findLastIndex(({ type }) => type !== "chat_response") + 1);
  return { ...end, text: reply.flatMap(saidIn).join("\n\n"), events, denials };
}

function saidIn(event: ConversationEvent): readonly string[] {
  if (event.type !== "chat_response") return [];
  const { content } = event;
  switch (content.type) {
    case "message":
      return [content.text];
    case "structured":
      return [JSON.stringify(content.data)];
    case "reasoning":
      return [];
    default:
      return assertNever(content);
  }
}
