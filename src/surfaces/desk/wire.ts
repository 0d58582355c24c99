/**
 * The types of the desk's API JSON. The server, the page and `DeskClient` share them, and the OpenAPI schemas are
 * checked against them. Keys are those of the record. Unknown fields are from a newer version.
 */
import type { DecisionKind } from "../../record/conversation/index.ts";
import type { Right } from "../../settings/people/index.ts";
import type { DecisionJson } from "../render/index.ts";
import type { JsonObject } from "../../util/index.ts";

export type { Right } from "../../settings/people/index.ts";
export type {
  DeciderJson,
  DecisionJson,
  OutcomeJson,
  QuestionJson,
  VoteJson,
} from "../render/index.ts";

/** The result of an answer: recorded, or counted as a vote until the quorum is met. */
export type AnswerOutcome =
  /** `notice`: what has to happen before the turn continues. */
  | { readonly type: "recorded"; readonly notice?: string }
  | { readonly type: "counted"; readonly count: number; readonly quorum: number };

/** A person from the people file. */
export interface KnownJson extends IdentityJson {
  /** Identified by the OS user that runs the desk, not by a token. */
  readonly is_owner?: boolean;
  /**
   * For an account created at the desk: when it was confirmed. Until then, it cannot make decisions assigned to people.
   */
  readonly confirmed?: string | false;
  /** The absent people for whom they decide. */
  readonly stands_in_for?: readonly IdentityJson[];
}

interface IdentityJson {
  /** Never reassigned. */
  readonly id?: string;
  readonly name: string;
  readonly roles: readonly string[];
}

/** A person who may use the desk, as administrators see them. */
export interface PersonJson extends IdentityJson {
  readonly rights: readonly Right[];
  /** For an account created at the desk: the ids of its creator, the creator's creator, and so on. */
  readonly made_by?: readonly string[];
  /** When an account created at the desk was confirmed. */
  readonly confirmed?: string | false;
  /** Whether the caller may confirm it. */
  readonly may_confirm: boolean;
}

/** A logged change of a person's keys. */
export interface KeyChangeJson {
  readonly at: string;
  /** `key_added`, `key_replaced` or `key_removed`. */
  readonly what: string;
  readonly name: string;
  /** `channel`: `cli` with an `os_user`, or `desk` with the person's `person_id` and `name`. */
  readonly by: JsonObject;
  readonly key?: string;
  readonly key_type?: string;
  readonly rp_id?: string;
  /** The key that the new one replaced. */
  readonly replaced?: string;
  /** `link`, or the id of the passkey that signed. */
  readonly allowed_by?: string;
}

/** The caller. */
export interface DeskUser {
  /** Absent for the owner of the desk. */
  readonly id?: string;
  readonly name: string;
  readonly rights: readonly Right[];
  /** Their identity in decisions assigned to a role. Absent if they are not in the directory. */
  readonly known?: KnownJson;
  /** No people are known, so decisions that need people wait. */
  readonly no_people?: boolean;
  /** With `no_people`: the machine's user decides in their place. */
  readonly owner_alone?: boolean;
  /** Changes to their keys in the last 30 days, newest first. */
  readonly key_changes?: readonly KeyChangeJson[];
  /** Whether the desk resumes turns once all their decisions are made. */
  readonly runs: boolean;
}

/** The text that the page signs to prove that it holds its session's key. */
export function proofText(origin: string, nonce: string): string {
  return `jp desk session\n${origin}\n${nonce}`;
}

/** Identifies a conversation. `workspace` matters only if the desk serves several. */
export interface ConversationAddress {
  readonly conversation: string;
  readonly workspace?: string | undefined;
}

/** Identifies a decision and the version that was read. A `DecisionJson` is one. */
export interface InquiryAddress extends ConversationAddress {
  readonly id: string;
  /** If given, answers only the question asked at this time: a later one may have the same id. */
  readonly asked_at?: string | undefined;
  /** Digest of the version that was read. Required for an answer, which counts only for that version. */
  readonly digest?: string | undefined;
}

/** A decision that is no longer pending, and why, if recorded. */
export type AnsweredJson = Pick<
  DecisionJson,
  "workspace" | "conversation" | "id" | "outcome" | "answered_by" | "void"
>;

/**
 * One page of a list. `next` is the cursor of the next page, if there may be more: a page of a long search may have
 * fewer items than requested, or none.
 */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly next?: string;
}

/** Filters for recorded decisions. */
export interface InquiryQuery {
  /** The root of a workspace. Defaults to all. */
  readonly workspace?: string;
  readonly conversation?: string;
  readonly kind?: DecisionKind;
  readonly outcome?: string;
  /** The kind of decider, such as `user` or `assistant`. */
  readonly by?: string;
  readonly text?: string;
  readonly cursor?: string;
  readonly limit?: number;
}

/** Filters for pending decisions. */
export type PendingQuery = Omit<InquiryQuery, "outcome" | "by">;

/** Filters for conversations. */
export interface ConversationQuery {
  /** The root of a workspace. Defaults to all. */
  readonly workspace?: string;
  /** Searched for in titles and messages. */
  readonly text?: string;
  readonly cursor?: string;
  readonly limit?: number;
}

/** A conversation in a list. */
export interface ConversationJson {
  readonly workspace: string;
  readonly id: string;
  readonly title?: string;
  /** Such as `running` or `waiting_for_input`; absent if its last turn is complete. */
  readonly state?: string;
  readonly last_event_at?: string;
  readonly last_activated_at?: string;
}

/**
 * Part of a conversation: its events as JSON with readable text, starting at index `first`. A long one comes in several
 * parts: continue at `first + events.length` until that equals `count`.
 */
export interface ConversationPart {
  readonly conversation: ConversationJson;
  /** The conversation's total number of events. */
  readonly count: number;
  readonly first: number;
  readonly events: readonly JsonObject[];
}

/** A change at the desk. */
export type DeskChange =
  /** A decision became pending or changed: often only `is_live`, which determines whether a secret can be given. */
  | { readonly type: "pending"; readonly data: DecisionJson }
  | { readonly type: "answered"; readonly data: AnsweredJson }
  | { readonly type: "conversation"; readonly data: ChangedConversation }
  /** Changes may have been missed: read everything again. */
  | { readonly type: "reset"; readonly data: object };

/** Includes the current number of events, unless the conversation was removed. */
export type ChangedConversation =
  | (ConversationJson & { readonly count: number; readonly removed?: undefined })
  | { readonly workspace: string; readonly id: string; readonly removed: true };

/** A change with an increasing id. */
export type DeskEvent = DeskChange & { readonly id: number };
