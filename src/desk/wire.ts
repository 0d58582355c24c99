/**
 * The JSON of the desk's API, as types. The server, the page and `DeskClient` share them, and the schemas of the OpenAPI
 * document are held to them. Keys are those of the record. Whatever else comes along is from a newer version.
 */
import type { DecisionKind, TermsJson, VoteJson } from "../conversation/index.ts";
import type { Right } from "../people/index.ts";
import type { Addressee, InquirySource, ToolOrigin } from "../tool/index.ts";
import type { Json, JsonObject } from "../util/index.ts";

export type { Right } from "../people/index.ts";

/** What one of several people has said who decide together. */
export type SaidJson = Omit<VoteJson, "by" | "at"> & {
  readonly by: DeciderJson;
  readonly at: string;
};

/** What came of an answer: it counts, or others have to say the same before anything is decided. */
export type AnswerOutcome =
  | { readonly type: "recorded" }
  | { readonly type: "counted"; readonly count: number; readonly quorum: number };

/** Someone of the people file. */
export interface KnownJson {
  readonly name: string;
  readonly roles: readonly string[];
  /** Those who are away now, and in whose place they decide. */
  readonly stands_in_for?: readonly { readonly name: string; readonly roles: readonly string[] }[];
}

/** Who is calling. */
export interface DeskUser {
  readonly name: string;
  readonly rights: readonly Right[];
  /** Who they are where that has to be proven: for what is for a role. Absent if no one knows them. */
  readonly known?: KnownJson;
  /** No people are known, so that everyone may decide what is for a role. */
  readonly decides_all?: boolean;
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

/** What was decided, and who did. Nothing while it waits. */
export interface OutcomeJson {
  /**
   * `answered`, `redacted` or `cancelled` for a question, `approved`, `denied` or `edited` for anything else. Without an
   * answer: `unanswered` if its turn went on or ended, and absent while it is pending.
   */
  readonly outcome?: string;
  readonly answer?: Json;
  /** The person did not choose one of the options. */
  readonly other?: boolean;
  readonly note?: string;
  /** Why a model answered so. */
  readonly answer_reason?: string;
  /** The person's reason for a decision, or the code of why a question was cancelled. */
  readonly reason?: string;
  /** The code of why it was denied, other than by a person's no. */
  readonly cause?: string;
  readonly problem?: string;
  /** The arguments that the call runs with instead. */
  readonly edited_arguments?: JsonObject;
  readonly answered_by?: DeciderJson;
}

/** A decision: a question, a permission, a delivery, or what to do with a call in doubt. It waits, or is on record. */
export interface DecisionJson extends OutcomeJson {
  readonly workspace: string;
  readonly conversation: string;
  readonly id: string;
  readonly kind: DecisionKind;
  readonly tool: string;
  readonly tool_call_id?: string;
  /** Of a question that a tool asked: the name that the tool gave it. */
  readonly question_id?: string;
  /** Who asks, in words: a tool, a server, `assistant` or `user`. For a question, `source` has it as in the record. */
  readonly label: string;
  readonly source?: InquirySource;
  /** Where the tool comes from. Absent if an older version has asked, like `folder` and `digest`. */
  readonly origin?: ToolOrigin;
  /** Where the tool runs, relative to the workspace. */
  readonly folder?: string;
  /** Of the call, exactly as it would run. */
  readonly arguments?: JsonObject;
  /** What is asked, as in the record: every decision can be put as a question. */
  readonly question: QuestionJson;
  /** A yes makes a tool run or change something, and takes the right to approve. */
  readonly acts: boolean;
  readonly digest?: string;
  /** The decision that this one replaces, and what has changed since: codes such as `arguments` or `file`. */
  readonly replaces?: string;
  readonly changed?: readonly string[];
  readonly asked_at: string;
  readonly deadline?: string;
  /** The only person who may decide. */
  readonly for?: string;
  /** Several, of whom any may decide: people, and those who have a role. */
  readonly for_any?: readonly Addressee[];
  /** What it takes besides: several people, or someone else than whoever started the turn. */
  readonly terms?: TermsJson;
  /** What people have said so far who decide together. */
  readonly votes?: readonly SaidJson[];
  /** For a delivery that waits: what the tool returned. */
  readonly result?: { readonly content: string; readonly is_error: boolean };
  /** For a call in doubt: what the tool's own check said. A code: `done`, `not_done`, `unknown`, `failed` or `timed_out`. */
  readonly check?: string;
  /** The title of the conversation, if it has one. */
  readonly title?: string;
  /** While it waits: whether a process waits for the answer. Otherwise the turn has to be continued after it. */
  readonly is_live?: boolean;
  /** On record: the number of the turn, from 1. */
  readonly turn?: number;
  readonly answered_at?: string;
  /** What was decided. With edited arguments it is another one than was asked about. */
  readonly answered_digest?: string;
  /** It does not count, because these have changed since: codes as in `changed`. */
  readonly void?: readonly string[];
  /** What a model made of the question, before it was left to a person. */
  readonly escalation?: OutcomeJson;
}

/** As in the record. */
export interface QuestionJson {
  readonly text: string;
  readonly context?: string;
  readonly answer_type: Json;
}

/** Who decided, as in the record: `user`, `assistant`, `config` and the like, each with its own details. */
export interface DeciderJson {
  readonly kind: string;
  /** How a person was reached, and who it was. */
  readonly channel?: string;
  readonly name?: string;
  /** How it is known who they are, and the role in which they decided: for what is for a role. */
  readonly auth?: string;
  readonly role?: string;
  readonly model?: string;
  /** In the config. */
  readonly key?: string;
  /** In a file of answers. */
  readonly entry?: string;
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
