/** The ports of the agent: everything a turn needs from a terminal, a test or an embedding program. */
import type { ToolSettings } from "../../settings/config/index.ts";
import type {
  ConversationEvent,
  Compaction,
  ConversationId,
  ConversationStream,
  Decider,
  InquiryId,
  DecisionVote,
  Reply,
  Terms,
  ToolResult,
} from "../../record/conversation/index.ts";
import type {
  RefusedQuestions,
  RunnableTool,
  ServerQuestions,
} from "../../reach/executor/index.ts";
import type { InquiryUpdate } from "../answer-model/index.ts";
import type { EndReason, RequestNews, ToolSchema, Usage } from "../../reach/provider/index.ts";
import type {
  Addressee,
  InquiryQuestion,
  InquirySource,
  Question,
  ToolOrigin,
} from "../../record/tool/index.ts";
import type { CheckedGrant, ProposedGrant } from "../policy/index.ts";
import type { ConversationWriter } from "../../stores/index.ts";
import type { JsonObject } from "../../util/index.ts";

/**
 * Reaches a person: on a terminal, a web page, in a chat. jp asks one thing at a time.
 *
 * A request has a `signal`. When it is aborted, close the prompt and return anything but an answer: jp knows why it was
 * aborted. An answer that the person has just given still counts. A prompt that stays open is abandoned after two seconds,
 * and what it returns later has no effect.
 */
export interface Prompter {
  /** How the person is reached. Recorded with every answer. */
  readonly channel: string;

  /**
   * How jp knows who answers: `os_user` for the person using this machine, `client` for another program's form, which
   * may have answered by itself. `program` if absent: your program vouches for it.
   */
  readonly auth?: "os_user" | "client";

  /**
   * Why no one can be asked when `canAsk` is false, as a clause for the model: "no interactive terminal is
   * available". Defaults to "no user is available to answer".
   */
  readonly unavailableBecause?: string;

  /** Several questions can be shown together, for review. Otherwise they are asked one at a time. */
  readonly showsForms?: boolean;

  /**
   * Several calls of one reply can be shown together: see `PermissionsRequest`. Otherwise jp asks about one after the
   * other.
   */
  readonly showsPermissions?: boolean;

  /** Whether a person can be asked right now, about this call if one is given. Throwing, or a promise, counts as false. */
  canAsk(toolCallId?: string): boolean;

  /** Whether it can ask someone other than the turn's `userName`: see `for`. Counts as false if absent or if it throws. */
  canReach?(name: string): boolean;

  /** Asks a person to decide. Throws only if it cannot show the request. */
  ask(request: PromptRequest): Promise<PromptResult>;
}

/** A decision that waits for a person, several questions in one form, or several calls. Told apart by `kind`. */
export type PromptRequest = DecisionRequest | FormRequest | PermissionsRequest;

/**
 * One thing to decide. A prompter that shows neither forms nor several calls gets no other request, and may declare
 * that.
 */
export type DecisionRequest = QuestionRequest | PermissionRequest | DeliveryRequest | DoubtRequest;

/** The parts that every request to a person has. */
export interface RequestBase {
  /**
   * Unique in the conversation's turn, and the request's id on record. A form has the id of its first question, and a
   * group of permissions that of its first call.
   */
  readonly inquiryId: InquiryId;
  readonly conversation: ConversationId;
  /**
   * The call that the request is about. Not unique: some providers reuse ids within a turn. Empty for a question of an MCP
   * server that any of several calls may have asked: their ids are in `arguments`.
   */
  readonly toolCallId: string;
  readonly tool: string;
  /** The tool's origin. Show it with everything that `acts`. Absent for a result whose tool is gone. */
  readonly origin?: ToolOrigin;
  /** The folder that the tool runs in, relative to the workspace. */
  readonly folder?: string;
  /** Files outside the workspace that the arguments name, by real path. */
  readonly outside?: readonly string[];
  /** The call's arguments, exactly as it runs with them. */
  readonly arguments: JsonObject;
  /** Who asks. A permission is asked by the assistant, and a delivery by the tool. */
  readonly source: InquirySource;
  /** A label for who asks: the question's `prompt_label` in the config, the tool's name, or "assistant". */
  readonly label: string;
  /** Aborted when the request no longer waits for this person. */
  readonly signal: AbortSignal;
  /** `later` is a possible result: the request can be answered in another process. */
  readonly allowsLater: boolean;
  /** The name of the only person who may decide. With any other `userName` in its result, the request stays open. */
  readonly for?: string;
  /** People and roles, any of whom may decide. */
  readonly forAny?: readonly Addressee[];
  /** Further requirements: a quorum, or someone other than the person who started the turn. */
  readonly terms?: Terms;
  /**
   * A yes is signed with this key of the person, which the prompt has to say first. Without a key, a yes cannot be
   * given here.
   */
  readonly signing?: { readonly key?: string };
  /** The votes so far, if it takes several people. */
  readonly votes?: readonly DecisionVote[];
  /**
   * A yes makes a tool run or change something. The person must be able to read everything to its end before a yes
   * counts, and no key that may be pressed by accident may give it.
   */
  readonly acts: boolean;
  /**
   * Set if the same was asked before: codes of what has changed since, such as `arguments`, `file`, `definition`; only
   * `deadline` if the people asked before did not answer in time.
   */
  readonly changed?: readonly string[];
  /** The digest of the decision's subject. */
  readonly digest: string;
}

/** A simple prompter only has to show `question`, for every kind. */
export interface DecisionBase extends RequestBase {
  readonly question: InquiryQuestion;
  /** The answer can be given for the whole turn (`isRemembered`). */
  readonly canRemember: boolean;
}

/** Grants that the person may add to a yes: see `grant` in the result. */
export interface GrantChoices {
  /** Rules that would let calls like this one run, the narrowest useful one first. Absent if only a yes or a no is possible. */
  readonly grants?: readonly ProposedGrant[];
  /** Whether a rule that the person wrote can be granted instead. Never throws. Absent with `grants`. */
  readonly checkGrant?: (rule: JsonObject) => Promise<CheckedGrant>;
}

/** A question of a tool or of the assistant. */
export interface QuestionRequest extends DecisionBase, GrantChoices {
  readonly kind: "question";
  /** The tool's id for the question. */
  readonly questionId: string;
}

/** A call that runs only if a person approves it: the answer is true or false. */
export interface PermissionRequest extends DecisionBase, GrantChoices {
  readonly kind: "permission";
  /** Open the arguments in an editor right away. */
  readonly isEditing: boolean;
  /**
   * Returns what is wrong with edited arguments, or undefined if they are valid. Never throws. Absent if they cannot be
   * edited.
   */
  readonly check?: (edited: JsonObject) => Promise<string | undefined>;
  /**
   * Among several calls, a yes to all must not cover this one: it destroys something, runs without a sandbox or with a
   * network, has changed since it was decided, or is asked about each time.
   */
  readonly isDecidedAlone?: boolean;
}

/**
 * Two or more calls of one reply that wait for permission, in the order of the reply. The result is of the type `form`,
 * with results for some or all of them: jp records each separately, and asks again about those without one. A yes may
 * only cover what the person could see in full. The fields of `RequestBase` are those of the first call, but `signal`
 * closes all.
 */
export interface PermissionsRequest extends RequestBase {
  readonly kind: "permissions";
  readonly calls: readonly PermissionRequest[];
}

/** A tool's result that the model sees only if a person approves it: the answer is true or false. */
export interface DeliveryRequest extends DecisionBase {
  readonly kind: "delivery";
  readonly content: string;
  readonly isError: boolean;
  /** Open the result in an editor right away. */
  readonly isEditing: boolean;
}

/** A call that may or may not have run: the answer is `run`, `skip`, or its result in the person's words. */
export interface DoubtRequest extends DecisionBase {
  readonly kind: "in_doubt";
}

/** Several questions of one call, asked together in this order. */
export interface FormRequest extends RequestBase {
  readonly kind: "form";
  readonly fields: readonly QuestionRequest[];
}

/** A person's response. It repeats the id, so that an answer can never reach the wrong request. */
export type PromptResult = { readonly inquiryId: InquiryId } & (
  | AnsweredPrompt
  | AnsweredForm
  | NoAnswer
);

/** A person decided. */
export interface AnsweredPrompt extends Reply {
  readonly type: "answered";
  /** Who decided, for the record. Overrides the turn's `userName`. */
  readonly userName?: string;
}

/**
 * A form is answered as a whole, with one result per field, or not at all. With several permissions, some may have no
 * result.
 */
export interface AnsweredForm {
  readonly type: "form";
  readonly results: readonly PromptResult[];
  /** Who filled it in, unless the result of a field says otherwise. */
  readonly userName?: string;
}

/** The ways in which any prompt can end without an answer. */
export type NoAnswer =
  /** The person decided not to answer. `userName` is recorded with a denied permission or delivery. */
  | { readonly type: "cancelled"; readonly userName?: string }
  /** The prompt ended in any other way, for example because the window closed. The request stays open. */
  | { readonly type: "interrupted" }
  /** The person wants to answer later, perhaps elsewhere. The request stays open. */
  | { readonly type: "later" }
  /** No one answered, and no one will. The request ends, and is not recorded as the person's decision. */
  | { readonly type: "unanswered"; readonly reason: NoAnswerReason };

/** Why no one answered. */
export type NoAnswerReason =
  /** As if the question's deadline had passed: `on_timeout` applies. Permissions and deliveries are denied. */
  | "timed_out"
  /** As if `canAsk` had returned false: `detached` applies. */
  | "unavailable"
  /**
   * The program that should have asked the person declined, and does not say whether the person did. Questions end without
   * an answer. Permissions and deliveries are denied.
   */
  | "declined_by_client";

/**
 * Answers that were given before the turn: in a file, in an earlier run, or by a program. They rank below the person's
 * answers for the whole turn, and above the config and the person. Methods never throw.
 */
export interface AnswerSource {
  /**
   * No one else is asked. If this has no answer for a person's decision, it stays open, regardless of the `detached`
   * settings.
   */
  readonly isComplete: boolean;
  find(asked: DecisionToGive): Given;
}

/** A decision that may have been answered in advance. */
export type DecisionToGive = CallToDecide &
  (
    | { readonly kind: "question" | "in_doubt"; readonly question: Question }
    | { readonly kind: "permission" }
    | { readonly kind: "delivery"; readonly result: ToolResult }
  );

/** A call about which something has to be decided. */
export interface CallToDecide {
  readonly tool: string;
  readonly toolCallId: string;
  /** With defaults filled in, and with a person's edits. */
  readonly arguments: JsonObject;
  /** The digest of the decision's subject: the pending decision's, if it already waits. */
  readonly digest: string;
}

/** Undefined if there is no answer. `later`: there is one, but it cannot be used, so the decision waits. */
export type Given = GivenReply | "later" | undefined;

/** A reply and who gave it, for the record. It is checked like any other. */
export interface GivenReply extends Omit<Reply, "isRemembered" | "grant"> {
  readonly decidedBy: Decider;
}

/** Messages that the user writes while the turn runs. Methods must not throw. */
export interface SteeringSource {
  /**
   * Returns the messages written so far, oldest first, and forgets them. Called before each request that carries results of
   * tools: the messages follow the results. The caller of the turn keeps those that no request has carried.
   */
  take(): readonly SteeringMessage[];
  /** The messages taken last are on record. Not called if they cannot be recorded: then the turn fails. */
  onRecorded?(): void;
}

/** A message for a running turn. */
export interface SteeringMessage {
  readonly content: string;
  readonly author?: string;
}

/** Lets a person choose what to do about interrupted work. The work continues while the menu is open. */
export interface InterruptMenu {
  /** Aborting the signal closes the menu with `continue`: the work has finished by itself. */
  choose(request: InterruptRequest): Promise<InterruptChoice>;
}

/** The choices that are possible at this point of the turn. */
export interface InterruptRequest {
  readonly choices: readonly InterruptChoice["type"][];
  readonly signal: AbortSignal;
  /**
   * Stops the work at once. Call it when the person has chosen `reply` and begins to write; otherwise the work
   * continues until `choose` returns. From then on, the end of the work does not abort the signal, and anything but a
   * reply or `leave` counts as `stop`.
   */
  readonly stopNow?: () => void;
}

/** A person's choice in the interrupt menu. */
export type InterruptChoice =
  | { readonly type: "continue" }
  /** Stop the current work and continue the turn with this message, which may be empty. */
  | { readonly type: "reply"; readonly message: string }
  /** Stop the current work and the turn. Keep everything up to here. */
  | { readonly type: "stop" }
  /** Stop the current work and the turn. Drop the unfinished text. */
  | { readonly type: "discard" }
  /** Restart the tools that have not finished. */
  | { readonly type: "restart" }
  /** The menu itself was interrupted: the person wants to quit. */
  | { readonly type: "leave" };

/** Watches a turn as it happens. */
export interface Observer {
  /** Must not block. If it throws or rejects, the turn continues, and reports the first error as a process warning. */
  observe(update: TurnUpdate): void;
}

/** The subject of an update, as far as it has one. */
export interface UpdateIds {
  /** Absent only in updates that do not come from jp. */
  readonly conversation?: ConversationId;
  /** Assigned by the provider. Not unique: some reuse ids within a turn. */
  readonly toolCallId?: string;
  /** For a decision: its request's id on record. Unique within the turn. */
  readonly inquiryId?: InquiryId;
}

/** How full a model's context window is. */
export interface ContextUse {
  /** The count of the provider, with an estimate of what came since. Without a count, an estimate. */
  readonly tokens: number;
  /** The provider has counted nothing yet. */
  readonly isEstimated: boolean;
  /** In tokens. Absent if unknown. */
  readonly contextWindow?: number;
}

/** One thing that happened in a turn. */
export type TurnUpdate = UpdateIds &
  /** The event has been written to disk. */
  (
    | { readonly type: "event"; readonly event: ConversationEvent }
    /** A request to the model starts. The first of a turn is number 1. */
    | { readonly type: "cycle_start"; readonly cycle: number }
    /** How full the model's context window is with the next request. */
    | ({ readonly type: "context_use" } & ContextUse)
    | { readonly type: "reasoning_delta"; readonly text: string }
    | { readonly type: "message_delta"; readonly text: string }
    /** The model has started to write a call. */
    | { readonly type: "tool_call_start"; readonly id: string; readonly name: string }
    /** A tool reports progress. */
    | {
        readonly type: "tool_progress";
        readonly toolCallId: string;
        readonly tool: string;
        readonly message: string;
      }
    | { readonly type: "response_end"; readonly reason: EndReason; readonly usage: Usage }
    /** Something happened to the request besides its reply. A `notice` may also be about an MCP server. */
    | RequestNews
    /** A model starts to summarize old turns. `turns` names them as users see them, such as `turns 2..5`. */
    | { readonly type: "summary_start"; readonly turns: string; readonly model: string }
    /** Old turns were compacted: from now on the model sees less of them. The record keeps all of it. */
    | { readonly type: "compaction"; readonly compaction: Compaction }
    /** Something happened to a tool's question that a model answers. */
    | {
        readonly type: "inquiry_update";
        readonly inquiryId: InquiryId;
        readonly tool: string;
        readonly update: InquiryUpdate;
      }
    /** A question, permission or delivery was answered through another process. Its prompt closes. */
    | {
        readonly type: "answered_elsewhere";
        readonly inquiryId: InquiryId;
        readonly tool: string;
        /** Absent if a question was cancelled. */
        readonly by?: Decider;
      }
  );

/** The conversation that a turn reads and appends to. */
export interface Journal extends Pick<ConversationWriter, "isShared" | "saveFile"> {
  readonly conversation: ConversationId;
  /** Includes everything recorded so far. */
  readonly stream: ConversationStream;
  /** Resolves once the events are on disk. Throws `write_failed`. */
  record(...events: readonly ConversationEvent[]): Promise<void>;
}

/** The tools that the model may call. */
export interface Toolbox {
  /** Their schemas, without tools that are unavailable right now. */
  schemas(signal: AbortSignal): Promise<readonly ToolSchema[]>;
  /** Undefined if the name is unknown. Throws if the tool is unavailable right now. */
  find(name: string, signal: AbortSignal): Promise<CallableTool | undefined>;
  /**
   * Subscribes to questions that were refused because they belong to no running call. Returns a
   * function that unsubscribes. Absent if the tools cannot ask such questions.
   */
  onUnscopedQuestions?(listener: (refused: RefusedQuestions) => void): () => void;
  /**
   * Lets the responder answer questions of servers that any of several calls may have asked; otherwise they are refused.
   * Returns a function that ends this. Absent if the tools cannot ask such questions.
   */
  onServerQuestions?(responder: (asked: ServerQuestions) => void): () => void;
}

/** A runnable tool with its settings. */
export interface CallableTool extends RunnableTool {
  readonly settings: ToolSettings;
}
