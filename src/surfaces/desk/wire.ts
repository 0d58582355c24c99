/**
 * The JSON of the desk's API, as types. The server, the page and `DeskClient` share them, and the schemas of the OpenAPI
 * document are held to them. Keys are those of the record. Whatever else comes along is from a newer version.
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

/** What came of an answer: it counts, or others have to say the same before anything is decided. */
export type AnswerOutcome =
  | { readonly type: "recorded" }
  | { readonly type: "counted"; readonly count: number; readonly quorum: number };

/** Someone of the people file. */
export interface KnownJson extends IdentityJson {
  /** Known by the OS user that runs the desk, not by a token. */
  readonly is_owner?: boolean;
  /** For an account that was made at the desk: when it was confirmed. Until then, it decides nothing that names people. */
  readonly confirmed?: string | false;
  /** Those who are away now, and in whose place they decide. */
  readonly stands_in_for?: readonly IdentityJson[];
}

interface IdentityJson {
  /** Never given to anyone else. */
  readonly id?: string;
  readonly name: string;
  readonly roles: readonly string[];
}

/** Someone who may use the desk, for those who may administer. */
export interface PersonJson extends IdentityJson {
  readonly rights: readonly Right[];
  /** The ids of the maker, of whoever made the maker, and so on, for an account that was made at the desk. */
  readonly made_by?: readonly string[];
  /** When an account that was made at the desk was confirmed. */
  readonly confirmed?: string | false;
  /** Whether the caller may confirm it. */
  readonly may_confirm: boolean;
}

/** A change of someone's keys, as it is logged. */
export interface KeyChangeJson {
  readonly at: string;
  /** `key_added`, `key_replaced` or `key_removed`. */
  readonly what: string;
  readonly name: string;
  /** `channel`: `cli` with an `os_user`, or `desk` with the `person_id` and `name` of who did it. */
  readonly by: JsonObject;
  readonly key?: string;
  readonly key_type?: string;
  readonly rp_id?: string;
  /** The key that the new one replaced. */
  readonly replaced?: string;
  /** `link`, or the id of the passkey that signed. */
  readonly allowed_by?: string;
}

/** Who is calling. */
export interface DeskUser {
  /** Absent for the owner of the desk. */
  readonly id?: string;
  readonly name: string;
  readonly rights: readonly Right[];
  /** Who they are where that has to be proven: for what is for a role. Absent if no one knows them. */
  readonly known?: KnownJson;
  /** No people are known, so that what takes people waits. */
  readonly no_people?: boolean;
  /** Then whoever uses the machine stands in for them. */
  readonly owner_alone?: boolean;
  /** Changes of their keys in the last 30 days, newest first. */
  readonly key_changes?: readonly KeyChangeJson[];
  /** Whether the desk continues turns when everything they wait for is decided. */
  readonly runs: boolean;
}

/** What the page signs to show that it has the key of its session. */
export function proofText(origin: string, nonce: string): string {
  return `jp desk session\n${origin}\n${nonce}`;
}

/** A conversation, as in what the desk returns. `workspace` matters only if the desk serves several. */
export interface ConversationAddress {
  readonly conversation: string;
  readonly workspace?: string | undefined;
}

/** A decision, and which reading of it is meant. A `DecisionJson` is one. */
export interface InquiryAddress extends ConversationAddress {
  readonly id: string;
  /** If given, only the one that was asked then is answered: a later one may have the same id. */
  readonly asked_at?: string | undefined;
  /** What was read. An answer needs it, and counts for nothing else. */
  readonly digest?: string | undefined;
}

/** That something no longer waits, and why, if that is on record. */
export type AnsweredJson = Pick<
  DecisionJson,
  "workspace" | "conversation" | "id" | "outcome" | "answered_by" | "void"
>;

/**
 * One page of a list. `next` is the cursor of the page after it, if there may be more: a page of a long search may have
 * fewer items than asked for, or none.
 */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly next?: string;
}

/** Which decisions on record are wanted. */
export interface InquiryQuery {
  /** The root of a workspace. All of them, unless given. */
  readonly workspace?: string;
  readonly conversation?: string;
  readonly kind?: DecisionKind;
  readonly outcome?: string;
  /** The kind of who decided, such as `user` or `assistant`. */
  readonly by?: string;
  readonly text?: string;
  readonly cursor?: string;
  readonly limit?: number;
}

/** Which of what waits is wanted. */
export type PendingQuery = Omit<InquiryQuery, "outcome" | "by">;

/** Which conversations are wanted. */
export interface ConversationQuery {
  /** The root of a workspace. All of them, unless given. */
  readonly workspace?: string;
  /** Searched for in titles and in what was said. */
  readonly text?: string;
  readonly cursor?: string;
  readonly limit?: number;
}

/** A conversation in a list. */
export interface ConversationJson {
  readonly workspace: string;
  readonly id: string;
  readonly title?: string;
  /** `running`, `waiting_for_input` and the like; absent if its last turn is complete. */
  readonly state?: string;
  readonly last_event_at?: string;
  readonly last_activated_at?: string;
}

/**
 * Part of a conversation: its events as JSON with readable text, from the index `first` on. A long one comes in several
 * parts: read on from `first + events.length` until that is `count`.
 */
export interface ConversationPart {
  readonly conversation: ConversationJson;
  /** How many events the conversation has. */
  readonly count: number;
  readonly first: number;
  readonly events: readonly JsonObject[];
}

/** Something that changed. */
export type DeskChange =
  /** Something waits now, or has changed: often only `is_live`, which decides whether a secret can be given. */
  | { readonly type: "pending"; readonly data: DecisionJson }
  | { readonly type: "answered"; readonly data: AnsweredJson }
  | { readonly type: "conversation"; readonly data: ChangedConversation }
  /** Changes may have been missed: read everything again. */
  | { readonly type: "reset"; readonly data: object };

/** With how many events it has now, unless it is gone. */
export type ChangedConversation =
  | (ConversationJson & { readonly count: number; readonly removed?: undefined })
  | { readonly workspace: string; readonly id: string; readonly removed: true };

/** A change, with a number that grows. */
export type DeskEvent = DeskChange & { readonly id: number };
