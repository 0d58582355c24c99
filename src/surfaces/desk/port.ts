/**
 * The desk's ports: pending decisions, what people do about them, and who they are. The server (`server.ts`) speaks
 * HTTP and knows people; the desk (`desk.ts`) knows workspaces and their records. Both use the JSON of `wire.ts`.
 */
import type {
  ConversationId,
  DecisionSignature,
  InquiryId,
  RefusalCode,
  ReplyOrCancel,
  ToSign,
  VoteCount,
} from "../../record/conversation/index.ts";
import type { Person } from "../../settings/people/index.ts";
import type {
  ConversationAddress,
  ConversationJson,
  ConversationPart,
  ConversationQuery,
  DeciderJson,
  DecisionJson,
  DeskEvent,
  InquiryAddress,
  InquiryQuery,
  Page,
  PendingQuery,
} from "./wire.ts";

export type { PeopleReader, Person } from "../../settings/people/index.ts";

/**
 * Identifies a conversation. Ids are unique within a workspace; `workspace` is its root, needed if there are several.
 */
export interface ConversationRef extends ConversationAddress {
  readonly conversation: ConversationId;
}

/** Identifies a decision and the version that was read. */
export interface InquiryRef extends InquiryAddress {
  readonly conversation: ConversationId;
  readonly id: InquiryId;
}

/** A reply, with the person's signature if one is needed. */
export type SignedReply = ReplyOrCancel & { readonly signature?: DecisionSignature };

/** The content to sign for an answer. */
export interface PreparedAnswer {
  readonly type: "to_sign";
  readonly toSign: ToSign;
}

/** A file that a model has sent. Its content may be hostile. */
export interface DeskFile {
  /** Its digest and a known extension. */
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** The result of an answer. */
export type DeskAnswerResult =
  /** `notice`: what has to happen before the turn continues. */
  | { readonly type: "recorded"; readonly notice?: string }
  /** Recorded as a vote; the quorum is not met yet. */
  | ({ readonly type: "counted" } & VoteCount)
  /** Already answered. `by` is who answered, as recorded, if known. */
  | { readonly type: "answered"; readonly by?: DeciderJson }
  /** The question differs from the version that was read. `changed` has codes for the differences, if known. */
  | { readonly type: "changed"; readonly changed: readonly string[] }
  /** The answer does not name the version that was read. */
  | { readonly type: "digest_required" }
  /** No pending or answered decision has this id. */
  | { readonly type: "not_found" }
  /** It cannot be answered here. `code` names the reason. */
  | { readonly type: "conflict"; readonly code: string; readonly message: string }
  /** The answer does not count. `code` names the reason and `message` explains it. */
  | {
      readonly type: "refused";
      readonly code: RefusalCode | "overdue" | "busy";
      readonly message: string;
    }
  /** `not_for_you`: only others may decide it, for the given `reason`. `forbidden`: the person lacks a right. */
  | {
      readonly type: "forbidden";
      readonly code: "forbidden" | "not_for_you";
      readonly reason?: RefusalCode;
      readonly message: string;
    };

/**
 * The served workspaces' pending decisions and conversations, and what people do with them. Every method that takes a
 * conversation throws `ambiguous_conversation` if several workspaces have it and none is named.
 */
export interface Desk extends AsyncDisposable {
  /** Pending decisions, oldest first. Throws `invalid_cursor`. */
  listPending(query?: PendingQuery): Promise<Page<DecisionJson>>;
  /** A pending decision, or its record (with `outcome`) once it is decided. */
  findInquiry(ref: InquiryRef): Promise<DecisionJson | undefined>;
  /** Decisions on record, newest first. */
  listInquiries(query: InquiryQuery): Promise<Page<DecisionJson>>;
  /** Newest first. `text` is searched for in titles and messages. */
  listConversations(query: ConversationQuery): Promise<Page<ConversationJson>>;
  /** Undefined if it does not exist. */
  readConversation(ref: ConversationRef, first?: number): Promise<ConversationPart | undefined>;
  /** A file that the model has sent. Undefined if there is none with this digest. */
  readFile(ref: ConversationRef, digest: string): Promise<DeskFile | undefined>;
  /** Checks the person's rights, who the question is for, and the version they read. The first valid answer counts. */
  answer(ref: InquiryRef, reply: SignedReply, person: Person): Promise<DeskAnswerResult>;
  /** Makes the same checks, and returns the content to sign with a new nonce. */
  prepareAnswer(
    ref: InquiryRef,
    reply: ReplyOrCancel,
    person: Person,
  ): Promise<PreparedAnswer | DeskAnswerResult>;
  /** Resumes a turn whose questions are answered. Undefined if the conversation is unknown. */
  resume(ref: ConversationRef, person: Person): Promise<ResumeResult | undefined>;
  /** Calls the listener for every event after this id, or from now on without one. */
  subscribe(listener: (event: DeskEvent) => void, after?: number): Disposable;
}

/** Whether a turn was resumed. */
export type ResumeResult =
  | { readonly type: "started" }
  /** Nothing is left to do, a decision is still pending, or the server does not run turns (`--run`). */
  | { readonly type: "refused"; readonly message: string };

/** Resumes a conversation's turn in a separate process, like `jp query --continue-turn`. */
export type ResumeTurn = (ref: ConversationRef) => Promise<ResumeResult>;
