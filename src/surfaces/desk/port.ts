/**
 * The ports of the desk: what waits for people, what they do about it, and who they are. The server (`server.ts`)
 * speaks HTTP and knows people; the desk (`desk.ts`) knows workspaces and their records. Both speak the JSON of
 * `wire.ts`.
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

/** Which conversation: ids are unique within a workspace, whose root is in `workspace` where there are several. */
export interface ConversationRef extends ConversationAddress {
  readonly conversation: ConversationId;
}

/** Which decision, and which reading of it. */
export interface InquiryRef extends InquiryAddress {
  readonly conversation: ConversationId;
  readonly id: InquiryId;
}

/** A reply, with the signature of who gives it if one is needed. */
export type SignedReply = ReplyOrCancel & { readonly signature?: DecisionSignature };

/** What has to be signed for an answer. */
export interface PreparedAnswer {
  readonly type: "to_sign";
  readonly toSign: ToSign;
}

/** What became of an answer. */
export type DeskAnswerResult =
  | { readonly type: "recorded" }
  /** Others have to say the same before anything is decided. */
  | ({ readonly type: "counted" } & VoteCount)
  /** It has an answer already: `by` is who gave it, as in the record, if that is known. */
  | { readonly type: "answered"; readonly by?: DeciderJson }
  /** What is asked is not what was read. `changed` has codes for what differs, if that is known. */
  | { readonly type: "changed"; readonly changed: readonly string[] }
  /** The answer does not say what was read. */
  | { readonly type: "digest_required" }
  /** Nothing with this id waits, and nothing with it was answered. */
  | { readonly type: "not_found" }
  /** It cannot be answered here, for the reason that `code` names. */
  | { readonly type: "conflict"; readonly code: string; readonly message: string }
  /** It does not count, for the reason that `code` names and `message` says in words. */
  | {
      readonly type: "refused";
      readonly code: RefusalCode | "overdue" | "busy";
      readonly message: string;
    }
  /** `not_for_you`: only others may decide it, as `reason` names. `forbidden`: the person lacks a right. */
  | {
      readonly type: "forbidden";
      readonly code: "forbidden" | "not_for_you";
      readonly reason?: RefusalCode;
      readonly message: string;
    };

/**
 * What waits in the workspaces that are served, their conversations, and what people do. Whatever takes a conversation
 * throws `ambiguous_conversation` if several workspaces have it, and none is named.
 */
export interface Desk extends AsyncDisposable {
  /** What waits, oldest first. Throws `invalid_cursor`. */
  listPending(query?: PendingQuery): Promise<Page<DecisionJson>>;
  /** One that waits, or the same as on record (with `outcome`) once it was decided. */
  findInquiry(ref: InquiryRef): Promise<DecisionJson | undefined>;
  /** Decisions on record, newest first. */
  listInquiries(query: InquiryQuery): Promise<Page<DecisionJson>>;
  /** Newest first. `text` is searched for in titles and in what was said. */
  listConversations(query: ConversationQuery): Promise<Page<ConversationJson>>;
  /** Undefined if there is none. */
  readConversation(ref: ConversationRef, first?: number): Promise<ConversationPart | undefined>;
  /** Checks the person's rights, for whom the question is, and what was read. The first valid answer counts. */
  answer(ref: InquiryRef, reply: SignedReply, person: Person): Promise<DeskAnswerResult>;
  /** Checks the same, and returns what the person has to sign. Its nonce is new. */
  prepareAnswer(
    ref: InquiryRef,
    reply: ReplyOrCancel,
    person: Person,
  ): Promise<PreparedAnswer | DeskAnswerResult>;
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
