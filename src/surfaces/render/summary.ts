/** A listed conversation, in words and as JSON. */
import {
  type ConversationCreation,
  type ConversationMetadata,
  type OpenTurnState,
  type Timestamp,
} from "../../record/conversation/index.ts";
import type { JsonObject } from "../../util/index.ts";

/** A conversation as listed. */
export interface ListedConversation extends ConversationCreation {
  readonly metadata?: ConversationMetadata;
  readonly isArchived: boolean;
  /** Present only in a workspace. */
  readonly place?: string;
  readonly lastEventAt?: Timestamp;
  readonly openTurn?: OpenTurnState;
  readonly problem?: string;
}

type StateNames = Readonly<Record<Exclude<OpenTurnState["type"], "waiting_for_input">, string>>;

/** The names that other versions use, which programs may read. */
const STATES: StateNames = {
  running: "running",
  pending_calls: "interrupted (pending tool execution)",
  pending_follow_up: "interrupted (pending follow-up)",
  pending_reply: "interrupted (pending LLM response)",
  pending_check: "interrupted (pending check of the answer)",
};

/** The name of an incomplete turn's state. */
export function nameState(state: OpenTurnState): string {
  if (state.type === "waiting_for_input") return `waiting-for-input (${state.tool})`;
  return STATES[state.type];
}

const IN_WORDS: StateNames = {
  running: "running",
  pending_calls: "interrupted during tool calls",
  pending_follow_up: "interrupted after tool calls",
  pending_reply: "interrupted before the reply",
  pending_check: "interrupted before the answer was checked",
};

/** The state in words, for people. */
export function describeState(state: OpenTurnState): string {
  return state.type === "waiting_for_input"
    ? `waits for you (${state.tool})`
    : IN_WORDS[state.type];
}

/** One object per conversation: one line of `jp conversation ls`. */
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
    ...(openTurn !== undefined && { state: nameState(openTurn) }),
    ...(problem !== undefined && { problem }),
  };
}
