/**
 * Wake-ups for workers: notifications that a turn can continue. They are hints, since anyone who can connect can send
 * one and any can be lost: the rows of conversations determine what is ready, and workers poll those too.
 */
import { createHash } from "node:crypto";
import { type ConversationId, findConversationId } from "../../record/conversation/index.ts";
import { CHANNEL } from "./channel.ts";
import type { Queries } from "./database.ts";

/** Where workers look for turns. */
export interface WorkQueue {
  /** The key of the workspace. */
  readonly workspace: string;
  readonly queue: string;
}

/** A conversation whose turn can continue, now or at the time in its row. */
export interface WakeUp extends WorkQueue {
  readonly id: ConversationId;
}

export async function sendWakeUp(queries: Queries, wakeUp: WakeUp): Promise<void> {
  await queries.query({
    name: "jp_wake",
    text: "select pg_notify($1, $2)",
    values: [CHANNEL, wakeUpPayload(wakeUp)],
  });
}

/** What workers are sent on `CHANNEL`. */
export function wakeUpPayload(wakeUp: WakeUp): string {
  return `${prefixOf(wakeUp)}${wakeUp.id}`;
}

/** The conversation, if the payload is a wake-up for workers of this queue. */
export type WakeUpReader = (payload: string) => ConversationId | undefined;

export function wakeUpReader(queue: WorkQueue): WakeUpReader {
  const prefix = prefixOf(queue);
  return (payload) =>
    payload.startsWith(prefix) ? findConversationId(payload.slice(prefix.length)) : undefined;
}

/** A digest of the queue, because payloads are short and everyone who can connect sees them. */
function prefixOf({ workspace, queue }: WorkQueue): string {
  const code = createHash("sha256").update(queue).digest("hex").slice(0, 16);
  return `w${workspace}:${code}:`;
}
