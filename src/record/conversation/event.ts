/**
 * The events of a conversation in memory, and which of them a model may see. `type` has the strings
 * used on disk; the JSON form of each event is in the codecs.
 */
import type {
  Addressee,
  ContentBlock,
  InquiryQuestion,
  InquirySource,
  ToolOrigin,
} from "../tool/index.ts";
import type { Json, JsonObject } from "../../util/index.ts";
import type { RecordedFile } from "./message-file.ts";
import type { Timestamp } from "./timestamp.ts";
import type { Usage } from "./usage.ts";

/** Everything that can happen in a conversation, discriminated by `type`. */
export type ConversationEvent =
  | TurnStart
  | ChatRequest
  | ChatResponse
  | ToolCallRequest
  | ToolCallResponse
  | InquiryRequest
  | InquiryEscalation
  | InquiryResponse
  | PermissionRequestEvent
  | PermissionDecision
  | DecisionVoid
  | DecisionVote
  | AttemptStart
  | ToolStep
  | ReplyFailure
  | TurnResume
  | TurnEndEvent
  | TokenUsage
  | ReplySources
  | ReplyFile
  | TurnUndo;

/** The `type` of an event, in memory and on disk. */
export type EventType = ConversationEvent["type"];

interface EventBase {
  readonly timestamp: Timestamp;
  /** Such as provider signatures. Its strings are base64 on disk. */
  readonly metadata?: JsonObject;
  /** Unknown fields, kept for writing back. */
  readonly extra?: JsonObject;
}

/** Starts a turn. */
export interface TurnStart extends EventBase {
  readonly type: "turn_start";
}

/** A message of the user, or a correction by jp. */
export interface ChatRequest extends EventBase {
  readonly type: "chat_request";
  readonly content: string;
  /** JSON Schema of the requested structured output. */
  readonly schema?: JsonObject;
  readonly author?: string;
  /** The name of the known person who has started the turn with it. Unlike the author, they are not who they say they are. */
  readonly startedBy?: string;
  /** Not empty. */
  readonly files?: readonly RecordedFile[];
  /** jp checks the answer against the schema, and a `turn_end` says when that is over. */
  readonly isChecked?: boolean;
  /** Set if jp asks again, not the user: what is wrong with the answer before, one problem per line. */
  readonly correction?: string;
  /** This turn takes the place of the one before, which models no longer see. It stays on record. */
  readonly replacesTurn?: boolean;
  /** The files that the user has undone since the message before, which models are told. Not empty. */
  readonly undone?: readonly UndoneFile[];
  /** The user sent it while the turn was running: it follows results, starts no turn, and has no schema. */
  readonly isSteering?: boolean;
}

/** A message, reasoning or structured output of the assistant. */
export interface ChatResponse extends EventBase {
  readonly type: "chat_response";
  readonly content:
    | { readonly type: "message"; readonly text: string }
    | { readonly type: "reasoning"; readonly text: string }
    | { readonly type: "structured"; readonly data: Json };
}

/** The assistant calls a tool. */
export interface ToolCallRequest extends EventBase {
  readonly type: "tool_call_request";
  /** Assigned by the provider. Not unique: some reuse ids within a turn. */
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonObject;
}

/** The result of a call that the model gets. */
export interface ToolCallResponse extends EventBase, ToolResult {
  readonly type: "tool_call_response";
  readonly id: string;
}

/** The part of a result that is jp's own, in characters. */
export interface AddedText {
  readonly before: number;
  readonly after: number;
}

/** The digest of what is decided, and those of its parts, so that what differs can be named. */
export interface SubjectDigest {
  /** SHA-256 over the canonical JSON of the subject, in hexadecimal digits. */
  readonly digest: string;
  /** Digests of different versions cannot be compared. */
  readonly version: number;
  /** By part: the first 16 hexadecimal digits of its own digest. */
  readonly parts: Readonly<Record<string, string>>;
}

/** The request for a decision has these, so that the answer can be held to them. Absent in older records. */
export interface DecisionSubject {
  readonly subject?: SubjectDigest;
  /** Where the tool comes from, for the person who decides. */
  readonly origin?: ToolOrigin;
  /** Where it runs, relative to the workspace. Absent if in the workspace itself. */
  readonly folder?: string;
  /** Files outside the workspace that its arguments name, by real path. Absent if there are none. */
  readonly outside?: readonly string[];
  /** The request whose decision was made void: this asks again. */
  readonly replaces?: InquiryId;
  /** A person had decided, so that neither a model nor a default may do it now. */
  readonly isForPerson?: boolean;
  /** The name of the only person who may decide. Any person may if this and `forAny` are absent. */
  readonly for?: string;
  /** Several, of whom any may decide. */
  readonly forAny?: readonly Addressee[];
  readonly terms?: Terms;
  /** The ids of the people whom `for`, `forAny` and `terms` name, by name, as far as they were known when it was opened. */
  readonly personIds?: Readonly<Record<string, string>>;
  /** What an answer may bring with it. Absent in older records: then only what `Takes` says of an empty one. */
  readonly takes?: Takes;
  /** Its place among those who are asked one after the other, counted from 0. Absent for the first. */
  readonly rung?: number;
  /** It need not be decided after this time. */
  readonly deadline?: Timestamp;
  /** The span of the turn that asks, where turns are traced, so that whoever continues the turn continues its trace. */
  readonly traceparent?: Traceparent;
}

/**
 * What an answer may bring besides itself, worked out when the request is opened. A no always takes a note. Not part of the
 * subject.
 */
export interface Takes {
  /** What an answer "for this turn" would cover. Absent if that is not offered. */
  readonly turn?: TurnCover;
  /** Every answer takes a note. */
  readonly note?: "any";
}

/**
 * What an answer for the rest of the turn covers. `calls`: calls of the same tool that need no more than what was shown.
 * `label`: everything that the tool asks under the same `label`. `question`: the same question again.
 */
export interface TurnCover {
  readonly code: "calls" | "label" | "question";
  readonly label?: string;
}

declare const traceparentBrand: unique symbol;

/** A span, as W3C Trace Context writes it: `00-<trace id>-<span id>-<flags>`. */
export type Traceparent = string & { readonly [traceparentBrand]: "Traceparent" };

/** What a decision takes besides someone who may make it. Whoever is named by a program alone, or by no one, cannot meet them. */
export interface Terms {
  /** So many different people have to say the same. */
  readonly quorum?: number;
  /** A no counts like a yes, so that it takes as many. Otherwise the first one ends it. */
  readonly countsRefusals?: true;
  /** Whoever has started the turn may not decide. `name` is absent if that is not known: then no one may. */
  readonly notBy?: { readonly name?: string };
  /** Whoever decides has to sign it. */
  readonly isSigned?: true;
  /** A newer version asks for more than this one knows, so that no one can decide here. */
  readonly isUnknown?: true;
}

/** A tool or the assistant asks a question. */
export interface InquiryRequest extends EventBase, DecisionSubject {
  readonly type: "inquiry_request";
  readonly id: InquiryId;
  readonly source: InquirySource;
  readonly question: InquiryQuestion;
  /** The call that asks, and which of its questions this is. Absent in older records. */
  readonly toolCallId?: string;
  readonly questionId?: string;
  /** The state that the server wants back with the answer. */
  readonly state?: string;
  /** The question belongs to a connection, and cannot be answered after it. */
  readonly isBound?: boolean;
}

/**
 * The outcome of asking a model, as its response would say it. The question stays open for a person. Unlike a
 * response it closes nothing.
 */
export type InquiryEscalation = EventBase & {
  readonly type: "inquiry_escalation";
  /** The id of the request. */
  readonly id: InquiryId;
  /** The deadline of the person. Replaces that of the request. */
  readonly deadline?: Timestamp;
} & InquiryOutcome;

/** The outcome of a question, and who answered it. */
export type InquiryResponse = EventBase & {
  readonly type: "inquiry_response";
  /** The id of the request it closes. */
  readonly id: InquiryId;
  /** The digest of the subject that was answered. */
  readonly digest?: string;
  /** The note is also the person's next message. */
  readonly redirects?: boolean;
  /** What the person has added to a yes. */
  readonly grant?: RecordedGrant;
  readonly signature?: RecordedSignature;
} & InquiryOutcome;

/** What a person signs: SHA-256 over its canonical JSON. */
export interface ToSign {
  /** Of what was shown. */
  readonly digest: string;
  /** Of the decision. */
  readonly id: string;
  /** See `answerToSign`. */
  readonly answer: Json;
  /** The name of who signs. */
  readonly person: string;
  /** Made for this signature. See `newNonce`. */
  readonly nonce: string;
}

/** A person's own signature of what they decide. Bytes are in base64url. */
export type DecisionSignature = {
  /** The id of the key. */
  readonly key: string;
  readonly nonce: string;
  readonly sig: string;
} & (
  | { readonly type: "ed25519" }
  /** Of a passkey, which signs these two, and the second of them has what the person signs. */
  | { readonly type: "webauthn"; readonly authenticatorData: string; readonly clientData: string }
);

/** A newer version may sign in ways that this one does not know. Those prove nothing here, and are kept. */
export type RecordedSignature = DecisionSignature | { readonly unknown: Json };

/** What a person adds to a yes: calls like this one run without asking, as far as the rule says and as long as it counts. */
export interface Grant {
  /** As config has it, without a place: for the tool of the call, and with the mode `unattended`. */
  readonly rule: JsonObject;
  /** `turn`: until the turn ends. Otherwise it is saved for the workspace, until this time or `always`. */
  readonly until: "turn" | "always" | Timestamp;
}

/** A newer version may grant in ways that this one does not know. Those have no effect, and are kept. */
export type RecordedGrant = Grant | { readonly unknown: Json };

/** A question is answered, answered with a redacted answer, or cancelled. */
export type InquiryOutcome =
  | {
      readonly outcome: "answered";
      readonly answer: Json;
      /** The user typed the answer instead of choosing an option. */
      readonly isOther?: boolean;
      /** The user's note on the answer. */
      readonly note?: string;
      /** Why a model answered so. */
      readonly answerReason?: string;
      readonly answeredBy?: Decider;
    }
  /** The tool got the answer, but it is a secret and not in the record. */
  | { readonly outcome: "redacted"; readonly answeredBy?: Decider }
  | {
      readonly outcome: "cancelled";
      readonly reason: CancellationReason;
      /** Details of the reason, in words. */
      readonly problem?: string;
    };

export type AnsweredOutcome = Extract<InquiryOutcome, { readonly outcome: "answered" }>;

/** The things that a person may decide about a call. */
export type PermissionAction =
  /** The call may run. */
  | "run"
  /** Its result may reach the model. */
  | "deliver"
  /** It may run again, although it is in doubt whether it has run already. */
  | "rerun";

/** The result of a tool: the text for the model, and all of it if that is more. */
export interface ToolResult {
  readonly content: string;
  readonly isError: boolean;
  readonly blocks?: readonly ContentBlock[];
  /** How many characters of `content` jp has added before and after the tool's own. */
  readonly added?: AddedText;
  /** The tool returned an object or a list, and the content that is not added is its JSON. */
  readonly isJson?: boolean;
}

/** A person is asked about a call. Written before the prompt opens. */
export interface PermissionRequestEvent extends EventBase, DecisionSubject {
  readonly type: "permission_request";
  /** Unique within the turn. */
  readonly id: InquiryId;
  readonly toolCallId: string;
  readonly tool: string;
  readonly action: PermissionAction;
  /** The arguments that the call would run with. */
  readonly arguments?: JsonObject;
  /** They are not the model's: one of several people who decide together has changed them. */
  readonly isEdited?: true;
  /** `deliver`: the finished result that waits. */
  readonly result?: ToolResult;
  /** `rerun`: what the tool's own check said before. A code such as `unknown`: see `CheckCode`. */
  readonly check?: string;
}

/**
 * What a tool's own check says of a call in doubt. `failed` and `timed_out`: the check itself went wrong, which counts as
 * `unknown`.
 */
export type CheckCode = "done" | "not_done" | "unknown" | "failed" | "timed_out";

/** A tool starts to run. Written before it does, so that a call that may have run is known. */
export interface AttemptStart extends EventBase {
  readonly type: "attempt_start";
  readonly toolCallId: string;
  /** The tool was declared safe to run twice. */
  readonly isIdempotent?: boolean;
  /** Whom decisions about calls of the tool are for: see `DecisionSubject`. If it ends in doubt, they have to say what to do. */
  readonly for?: string;
  readonly forAny?: readonly Addressee[];
  readonly terms?: Terms;
  readonly personIds?: Readonly<Record<string, string>>;
}

/** A tool has finished a step that must not run twice. Written before the tool gets the step's result. */
export interface ToolStep extends EventBase {
  readonly type: "tool_step";
  readonly toolCallId: string;
  /** Which of the turn's calls with this id, counted from 0. Absent if it is the first. */
  readonly callIndex?: number;
  /** Unique within the call. */
  readonly name: string;
  /** Absent if the step returned nothing. */
  readonly result?: Json;
  /** The step has run, but its result could not be recorded: a code such as `not_json` or `too_large`. */
  readonly failure?: string;
}

/** The model gave no reply, or only a part of it, and jp gave up. The turn can be continued. */
export interface ReplyFailure extends EventBase {
  readonly type: "reply_failure";
  /** That of the error, such as `provider_rate_limited`. */
  readonly code: string;
}

/** Another process goes on with the turn. What is open on record, the one before has left. */
export interface TurnResume extends EventBase {
  readonly type: "turn_resume";
}

/** Written only where the rest of a turn does not say that it has ended. */
export interface TurnEndEvent extends EventBase {
  readonly type: "turn_end";
  /** `done`: the model had nothing to say. `stopped`: by the user. `discarded`: never to be continued. */
  readonly reason: "done" | "stopped" | "discarded";
  /** Why the last reply is no answer. */
  readonly cause?: "length" | "refused" | "invalid_data";
  /** `invalid_data`: what is wrong with it, one problem per line. */
  readonly problem?: string;
}

/** What the model names as the sources of its reply, such as the pages of a search. Any of it may be made up. */
export interface ReplySources extends EventBase {
  readonly type: "reply_sources";
  readonly sources: readonly NamedSource[];
}

/** A page, or a document that the provider has. */
export interface NamedSource {
  readonly url?: string;
  readonly title?: string;
  readonly filename?: string;
  readonly mediaType?: string;
}

/** A file that the model has sent, such as an image. Its bytes were stored before. */
export interface ReplyFile extends EventBase, KeptFile {
  readonly type: "reply_file";
  /** In bytes. */
  readonly size: number;
}

/** Identifies a file of a conversation. */
export interface KeptFile {
  /** Such as `image/png`, as the model says. */
  readonly mediaType: string;
  /** SHA-256 of its bytes, in hexadecimal digits. */
  readonly digest: string;
}

/** The cost of a request to a model, or several for the same purpose. */
export interface TokenUsage extends EventBase {
  readonly type: "token_usage";
  /** `provider/name`. */
  readonly model: string;
  /** `reply`, `inquiry` (a question of a tool), `summary` (of a compaction), `title`, or what another version records. */
  readonly purpose: string;
  /** Set for an `inquiry`. */
  readonly inquiryId?: InquiryId;
  /** How many requests this is the sum of; 1 if absent. */
  readonly requests?: number;
  readonly usage: Usage;
}

/** The user undoes what a turn has changed. Written before the files are put back. */
export interface TurnUndo extends EventBase {
  readonly type: "turn_undo";
  /** When the turn started. */
  readonly turn: Timestamp;
  readonly files: readonly UndoneFile[];
  /** Models no longer see the turn. It stays on record. */
  readonly hidesTurn?: boolean;
  /** Also what someone else had changed since. */
  readonly isForced?: boolean;
}

/** A file that is as it was before a turn. */
export interface UndoneFile {
  /** Relative to the workspace. */
  readonly path: string;
  /** `removed`: it did not exist before. */
  readonly change: "restored" | "removed";
}

/** A decision about a call, and who made it. */
export interface PermissionDecision extends EventBase {
  readonly type: "permission_decision";
  /** The id of the request. Absent if no one was asked, and in older records. */
  readonly id?: InquiryId;
  readonly toolCallId: string;
  readonly tool: string;
  readonly action: PermissionAction;
  readonly decision: "approved" | "denied" | "edited";
  /** The arguments the call ran with, if the user edited them. */
  readonly arguments?: JsonObject;
  /** `edited`: the result that the user gave instead, or that the tool says a call in doubt had. */
  readonly result?: ToolResult;
  /** `rerun`: what the tool's own check said. A code such as `done`: see `CheckCode`. */
  readonly check?: string;
  readonly decidedBy: Decider;
  /** The person's own words. */
  readonly reason?: string;
  /** They are also the person's next message. */
  readonly redirects?: boolean;
  /** What the person has added to a yes. */
  readonly grant?: RecordedGrant;
  /** Why it was denied, other than by a person's no. */
  readonly cause?: DenialCause;
  /** Details of the cause, in words. */
  readonly problem?: string;
  /** The digest of the subject that was decided: with the edited arguments, if they were edited. */
  readonly digest?: string;
  readonly signature?: RecordedSignature;
}

/** Why something was denied, other than by a person's no. */
export type DenialCause =
  /** The config skips it. */
  | "skipped"
  /** Only tools that read may run for now. */
  | "planning"
  /** No person could be asked. */
  | "unavailable"
  /** No person answered in time. */
  | "timed_out"
  /** The person closed the prompt. */
  | "closed"
  /** The prompt could not be shown. */
  | "prompt_failed"
  /** The subject of the decision kept changing. */
  | "subject_unstable"
  /** The person turned down another call of the same reply, and said what to do instead. */
  | "redirected"
  /** The program that should have asked the person declined. It does not say whether the person did. */
  | "declined_by_client";

/**
 * A decision no longer counts, because what was decided has changed since, or no one has made it in time and others are asked. It
 * is asked again under a new id.
 */
export interface DecisionVoid extends EventBase {
  readonly type: "decision_void";
  /** The id of the request that was answered, or that waited. */
  readonly id: InquiryId;
  /** Codes: which parts of the subject have changed, such as `arguments` or `file`; `deadline` if none has, but time is up. */
  readonly changed: readonly string[];
}

/** What one of several people has said about something that they decide together. It decides nothing by itself. */
export interface DecisionVote extends EventBase {
  readonly type: "decision_vote";
  /** The id of the request. */
  readonly id: InquiryId;
  /** The call, if it is about one: a doubt may be decided before anyone was asked. */
  readonly toolCallId?: string;
  readonly by: Decider;
  /** About a call, and the result that the person gives instead. */
  readonly decision?: PermissionDecision["decision"];
  readonly result?: ToolResult;
  /** To a question. */
  readonly answer?: Json;
  /** The person's own words. */
  readonly note?: string;
  /** The digest of what was shown. */
  readonly digest?: string;
  readonly signature?: RecordedSignature;
}

declare const inquiryIdBrand: unique symbol;

/** Pairs a request with its response within one turn. Opaque: readers must not parse it. */
export type InquiryId = string & { readonly [inquiryIdBrand]: "InquiryId" };

/** Who or what decided. */
export type Decider =
  /** `scope`: the user said that the decision holds until the turn ends. */
  | {
      readonly kind: "user";
      readonly channel: string;
      readonly scope?: "turn";
      readonly name?: string;
      /** The person's id in the directory that knew them. A name may be given to someone else later, an id never is. */
      readonly personId?: string;
      /** How jp knows who answered: see `Authentication`. Absent in older records. */
      readonly auth?: string;
      /** The role in which they decided. */
      readonly role?: string;
      /** The person who is away, in whose place they decided. */
      readonly onBehalfOf?: string;
    }
  | { readonly kind: "assistant"; readonly model: string }
  | { readonly kind: "config"; readonly key: string }
  | { readonly kind: "remembered"; readonly from: string }
  /** `rules`: those that decided, if rules did. */
  | { readonly kind: "policy"; readonly key: string; readonly rules?: readonly DecidingRule[] }
  | { readonly kind: "default" }
  /** The tool's own check of a call in doubt. */
  | { readonly kind: "tool" }
  /** `entry`: which one of the file, as in `answers[3]`, counted from 0. */
  | { readonly kind: "answers_file"; readonly entry: string }
  /** Written by a newer version. */
  | { readonly kind: "unknown"; readonly raw: JsonObject };

/** A rule that decided about a call. */
export interface DecidingRule {
  /** A code: `user`, `workspace`, `environment`, `command_line`, `program`, `saved` or `turn`. */
  readonly from: string;
  /** Where it stands there: a key of the config, the id of a saved rule, or the id of the inquiry that granted it. */
  readonly key: string;
  /** The SHA-256 of the file that it stands in, as that was when jp read it. Absent if it is not in a file. */
  readonly file?: string;
  /** As it was written. */
  readonly rule: JsonObject;
}

/** Why a question has no answer. jp writes only these. */
export type KnownCancellationReason =
  | "user"
  | "backend_error"
  | "no_prompt_backend"
  | "assistant_routing_denied"
  | "invalid_static_answer"
  | "interrupted"
  | "attempts_exhausted"
  | "timed_out"
  /** The subject of the question kept changing. */
  | "subject_unstable"
  /** The program that should have asked the person declined. It does not say whether the person did. */
  | "declined_by_client";

/** A reason of another version is kept as text; no decision may depend on it. */
export type CancellationReason = KnownCancellationReason | { readonly unknown: string };

/** The events that a model may see. */
export type ProviderEvent = ChatRequest | ChatResponse | ToolCallRequest | ToolCallResponse;

/** The allowlist of RFD 005: only events that are `true` here reach a model. */
const PROVIDER_VISIBLE = {
  turn_start: false,
  chat_request: true,
  chat_response: true,
  tool_call_request: true,
  tool_call_response: true,
  inquiry_request: false,
  inquiry_escalation: false,
  inquiry_response: false,
  permission_request: false,
  permission_decision: false,
  decision_void: false,
  decision_vote: false,
  attempt_start: false,
  tool_step: false,
  reply_failure: false,
  turn_resume: false,
  turn_end: false,
  token_usage: false,
  reply_sources: false,
  reply_file: false,
  turn_undo: false,
} as const satisfies Record<EventType, boolean>;

/** All event types. */
export const EVENT_TYPES = Object.keys(PROVIDER_VISIBLE) as readonly EventType[];

/** The types of events that are part of a decision: what is asked, decided, or no longer counts. */
export const DECISION_TYPES: ReadonlySet<EventType | undefined> = new Set([
  "inquiry_request",
  "inquiry_escalation",
  "inquiry_response",
  "permission_request",
  "permission_decision",
  "decision_void",
  "decision_vote",
] satisfies readonly EventType[]);

/** Whether it is part of a decision. */
export function isDecisive(type: EventType | undefined): boolean {
  return DECISION_TYPES.has(type);
}

/** Whether it is the type of an event that jp knows. */
export function isEventType(type: unknown): type is EventType {
  return typeof type === "string" && Object.hasOwn(PROVIDER_VISIBLE, type);
}

/** Whether a model may see events of this type. */
export function isProviderVisibleType(type: EventType | undefined): boolean {
  return type !== undefined && PROVIDER_VISIBLE[type];
}

/** Whether a model may see the event. */
export function isProviderVisible(event: ConversationEvent): event is ProviderEvent {
  return PROVIDER_VISIBLE[event.type];
}

export function isReasoning(event: ProviderEvent): event is ChatResponse {
  return event.type === "chat_response" && event.content.type === "reasoning";
}
