/** A conversation in a list, in words and as JSON. */
import {
  type ConversationCreation,
  type ConversationMetadata,
  type OpenTurnState,
  type Timestamp,
} from "../conversation/index.ts";
import type { JsonObject } from "../util/index.ts";

/** A conversation as lists show it. */
export interface ListedConversation extends ConversationCreation {
  readonly metadata?: ConversationMetadata;
  readonly isArchived: boolean;
  /** Only in a workspace. */
  readonly place?: string;
  readonly lastEventAt?: Timestamp;
  readonly openTurn?: OpenTurnState;
  readonly problem?: string;
}

const STATES = {
  running: "running",
  pending_calls: "interrupted during tool calls",
  pending_follow_up: "interrupted after tool calls",
  pending_reply: "interrupted before the reply",
  pending_check: "interrupted before the answer was checked",
} as const satisfies Partial<Record<OpenTurnState["type"], string>>;

/** Describes the state of an incomplete turn. */
export function describeState(state: OpenTurnState): string {
  if (state.type === "waiting_for_input") return `waiting-for-input (${state.tool})`;
  return STATES[state.type];
}

/** One object for each conversation: one line of `jp conversation ls`. `tool` is the one that waits for input. */
export function summaryToJson(summary: ListedConversation): JsonObject {
  const { id, createdAt, metadata, place, isArchived, lastEventAt, openTurn, problem } = summary;
  return {
    id,
    ...(metadata?.title !== undefined && { title: metadata.title }),
    created_at: createdAt,
    ...(metadata !== undefined && { last_activated_at: metadata.lastActivatedAt }),
    ...(lastEventAt !== undefined && { last_event_at: lastEventAt }),
    ...(metadata?.pinnedAt !== undefined && { pinned_at: metadata.pinnedAt }),
    archived: isArchived,
    ...(place !== undefined && { place }),
    ...(metadata?.labels !== undefined && { labels: metadata.labels }),
    ...(openTurn !== undefined && { state: openTurn.type }),
    ...(openTurn?.type === "waiting_for_input" && { tool: openTurn.tool }),
    ...(problem !== undefined && { problem }),
  };
}
