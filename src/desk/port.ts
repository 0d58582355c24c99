/**
 * The ports of the desk: what waits for people, what they do about it, and who they are. The server (`server.ts`)
 * speaks HTTP and knows people; the desk (`desk.ts`) knows workspaces and their records. The page and the client get
 * the JSON types of this file, whose keys are those of the record.
 */
import type { ConversationId, InquiryId } from "../conversation/index.ts";
import type { Json, JsonObject } from "../util/index.ts";

/** What a person may do: see what there is, answer questions, permit calls and deliveries, manage people. */
export type Right = "see" | "answer" | "approve" | "administer";

/** Someone who may use the desk. */
export interface Person {
  /** Recorded with what they decide. */
  readonly name: string;
  readonly rights: readonly Right[];
}

/** Which conversation: ids are unique within a workspace, whose root is in `workspace` where there are several. */
export interface ConversationRef {
  readonly conversation: ConversationId;
  readonly workspace?: string | undefined;
}

/** Which question, permission, delivery or doubt. */
export interface InquiryRef extends ConversationRef {
  readonly id: InquiryId;
  /** `asked_at` of the one that is meant: a later one may have the same id. Any with the id, unless given. */
  readonly askedAt?: string | undefined;
}

/** Something that waits. The fields of `jp inquiry ls --pending --format json`, and what a page shows besides. */
export interface PendingJson extends JsonObject {
  readonly workspace: string;
  readonly conversation: string;
  readonly id: string;
  readonly kind: "question" | "permission" | "delivery" | "in_doubt";
  readonly tool: string;
  readonly text: string;
  readonly asked_at: string;
  /** Of the conversation, if it has one. */
  readonly title?: string;
  /** Who asks, in words. For a question, `source` has the same as in the record. */
  readonly label: string;
  /** The questions of one call can be answered together. */
  readonly tool_call_id: string;
  /** Whether a process waits for the answer. Otherwise the turn has to be continued after it. */
  readonly is_live: boolean;
  /** For a delivery: the result that the model would see. */
  readonly content?: string;
  readonly is_error?: boolean;
}

/** What a person says to something that waits. */
export type DeskReply =
  | {
      readonly type: "answer";
      readonly answer: Json;
      readonly note?: string;
      readonly isRemembered?: boolean;
      /** For a delivery: what the model sees instead of the result. */
      readonly content?: string;
    }
  | { readonly type: "cancel" };

/** What became of it. */
export type DeskAnswerResult =
  | { readonly type: "recorded" }
  /** It has an answer already: `by` is who gave it, as in the record, if that is known. */
  | { readonly type: "answered"; readonly by?: JsonObject }
  /** Nothing with this id waits, and nothing with it was answered. */
  | { readonly type: "not_found" }
  /** It does not fit, or this person may not: `message` says why. */
  | { readonly type: "refused"; readonly message: string }
  | { readonly type: "forbidden"; readonly message: string };

/**
 * One page of a list. `next` is the cursor of the page after it, if there may be more: a page of a long search may have
 * fewer items than asked for, or none.
 */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly next?: string;
}

/** Which questions on record are wanted. */
export interface InquiryQuery {
  /** The root of a workspace. All of them, unless given. */
  readonly workspace?: string;
  readonly conversation?: string;
  readonly outcome?: string;
  /** The kind of who decided, such as `user` or `assistant`. */
  readonly by?: string;
  readonly text?: string;
  readonly cursor?: string;
  readonly limit?: number;
}

/** Which conversations are wanted. */
export interface ConversationQuery {
  /** The root of a workspace. All of them, unless given. */
  readonly workspace?: string;
  readonly text?: string;
  readonly cursor?: string;
  readonly limit?: number;
}

/** A conversation in a list. */
export interface ConversationJson extends JsonObject {
  readonly workspace: string;
  readonly id: string;
  /** `running`, `waiting_for_input` and the like; absent if its last turn is complete. */
  readonly state?: string;
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

/** Something that changed. Ids grow; a listener that missed some is told with `reset` to read everything again. */
export interface DeskEvent {
  readonly id: number;
  readonly type: "pending" | "answered" | "conversation" | "reset";
  /**
   * `pending`: the `PendingJson` of what waits now, or has changed: often only `is_live`, which decides whether a secret can
   * be given. `answered`: its `workspace`, `conversation` and `id`, its
   * `outcome`, and `answered_by`, if those are on record. `conversation`: the `ConversationJson`, with `count`, how many
   * events it has now; if it is gone, only `workspace`, `id` and `removed`.
   */
  readonly data: JsonObject;
}

/**
 * What waits in the workspaces that are served, their conversations, and what people do. Whatever takes a conversation
 * throws `ambiguous_conversation` if several workspaces have it, and none is named.
 */
export interface Desk extends AsyncDisposable {
  /** Everything that waits, oldest first. */
  listPending(): Promise<readonly PendingJson[]>;
  /** One that waits, or the same as on record (with `outcome`) once it was answered. */
  findInquiry(ref: InquiryRef): Promise<JsonObject | undefined>;
  /** Questions on record, newest first: the fields of `jp inquiry ls --format json`. */
  listInquiries(query: InquiryQuery): Promise<Page<JsonObject>>;
  /** Newest first. `text` is searched for in titles and in what was said. */
  listConversations(query: ConversationQuery): Promise<Page<ConversationJson>>;
  /** Undefined if there is none. */
  readConversation(ref: ConversationRef, first?: number): Promise<ConversationPart | undefined>;
  /** Checks the person's rights, and for whom the question is. The first valid answer counts. */
  answer(ref: InquiryRef, reply: DeskReply, person: Person): Promise<DeskAnswerResult>;
  /** Lets a turn go on whose questions are answered. Undefined if the conversation is unknown. */
  resume(ref: ConversationRef, person: Person): Promise<ResumeResult | undefined>;
  /** Calls the listener for everything after the event with this id; without one, from now on. */
  subscribe(listener: (event: DeskEvent) => void, after?: number): Disposable;
}

/** Whether a turn goes on. */
export type ResumeResult =
  | { readonly type: "started" }
  /** Nothing is left to do, something still waits, or the server does not run turns (`--run`). */
  | { readonly type: "refused"; readonly message: string };

/** Continues the turn of a conversation in a process of its own, as `jp query --continue-turn` does. */
export type ResumeTurn = (ref: ConversationRef) => Promise<ResumeResult>;

/** The people who may use the desk, by their tokens. */
export interface People {
  /** By the SHA-256 hash of their token, in hexadecimal digits. Takes as long whoever it is. */
  findByHash(hash: string): Promise<Person | undefined>;
  list(): Promise<readonly Person[]>;
  /** Returns the token, which is stored only as a hash. Throws `person_exists`. */
  add(name: string, rights: readonly Right[]): Promise<string>;
  /** Returns false if there is no such person. */
  remove(name: string): Promise<boolean>;
}
