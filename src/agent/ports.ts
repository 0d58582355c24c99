/** The ports of the agent: everything a turn needs from a terminal, a test or an embedding program. */
import type { ToolSettings } from "../config/index.ts";
import type {
  ConversationEvent,
  ConversationStream,
  Decider,
  InquiryId,
  ToolResult,
} from "../conversation/index.ts";
import type { RefusedQuestions, RunnableTool } from "../executor/index.ts";
import type { InquiryUpdate } from "../inquiry/index.ts";
import type { EndReason, RequestUpdate, ToolSchema, Usage } from "../provider/index.ts";
import type { InquiryQuestion, Question } from "../tool/index.ts";
import type { Json, JsonObject } from "../util/index.ts";

/**
 * Asks a person, one question at a time. `cancelled` means that the person decided not to answer.
 * `interrupted` means that the prompt ended in any other way, for example because the window closed.
 * Aborting the signal closes an open prompt; either result is then fine, because the agent knows who
 * aborted it. A method throws only if it cannot show its question.
 */
export interface Prompter {
  /** How the person is reached. Recorded with every answer. */
  readonly channel: string;

  /** Whether a person can be asked right now, about this call if one is given. Never throws. */
  canAsk(toolCallId?: string): boolean;

  /** Asks a question of a tool or of the assistant. */
  ask(request: PromptRequest): Promise<PromptResult>;

  /** Asks several questions together and lets the person review them. If absent: one by one. */
  askForm?(request: FormRequest): Promise<FormResult>;

  /** Asks whether a tool may run. */
  askPermission(request: PermissionRequest): Promise<PermissionResult>;

  /** Asks whether the model may see a tool's result. */
  askDelivery(request: DeliveryRequest): Promise<DeliveryResult>;
}

/** One question for a person. */
export interface PromptRequest {
  /** The result repeats it, so that an answer can never reach another question. */
  readonly inquiryId: InquiryId;
  readonly question: InquiryQuestion;
  /** Who is asking, for display. Absent if the config does not say. */
  readonly label?: string;
  /**
   * The tool that asks, and its id for the question. An answer remembered for the turn is kept under
   * this pair. Absent if answers are not remembered.
   */
  readonly tool?: string | undefined;
  readonly questionId?: string | undefined;
  readonly signal: AbortSignal;
  /** The question can be left for later. */
  readonly allowsLater?: boolean;
}

/** A person's response to a `PromptRequest`, with the same id. */
export type PromptResult = { readonly inquiryId: InquiryId } & (
  | {
      readonly type: "answered";
      readonly answer: Json;
      /** The person wants the answer reused until the turn ends. */
      readonly isRemembered: boolean;
      /** A comment that the person added to the answer. */
      readonly note?: string;
    }
  | { readonly type: "cancelled" }
  | { readonly type: "interrupted" }
  /** The person wants to answer later, perhaps elsewhere. The question stays open. */
  | { readonly type: "later" }
);

/** Several questions of one call, asked together in this order. */
export interface FormRequest {
  readonly fields: readonly Omit<PromptRequest, "signal" | "allowsLater">[];
  readonly signal: AbortSignal;
  readonly allowsLater?: boolean;
}

/** A form is answered as a whole, with one result per field, or not at all. */
export type FormResult =
  | { readonly type: "answered"; readonly results: readonly PromptResult[] }
  | { readonly type: "cancelled" }
  | { readonly type: "interrupted" }
  | { readonly type: "later" };

/** Where a tool comes from. */
export type ToolOrigin =
  | { readonly type: "builtin" }
  | { readonly type: "local" }
  | { readonly type: "mcp"; readonly server: string };

/** A call that runs only if a person approves it. */
export interface PermissionRequest {
  readonly tool: string;
  readonly origin: ToolOrigin;
  readonly arguments: JsonObject;
  /** Open the arguments in an editor right away. */
  readonly isEditing: boolean;
  /** Returns what is wrong with edited arguments, or undefined if they are valid. Never throws. */
  readonly check: (edited: JsonObject) => Promise<string | undefined>;
  readonly signal: AbortSignal;
  readonly allowsLater?: boolean;
}

/** A person's response to a `PermissionRequest`. */
export type PermissionResult =
  /** `arguments` are set if the person edited them; they have passed `check`. */
  | { readonly type: "run"; readonly isRemembered: boolean; readonly arguments?: JsonObject }
  /** The model sees `reason`. */
  | { readonly type: "skip"; readonly isRemembered: boolean; readonly reason?: string }
  | { readonly type: "cancelled" }
  | { readonly type: "interrupted" }
  | { readonly type: "later" };

/** A tool's result that the model sees only if a person approves it. */
export interface DeliveryRequest {
  readonly tool: string;
  readonly content: string;
  readonly isError: boolean;
  /** Open the result in an editor right away. */
  readonly isEditing: boolean;
  readonly signal: AbortSignal;
  readonly allowsLater?: boolean;
}

/** A person's response to a `DeliveryRequest`. */
export type DeliveryResult =
  /** `content` is set if the person edited it. */
  | { readonly type: "deliver"; readonly content?: string }
  | { readonly type: "withhold" }
  | { readonly type: "cancelled" }
  | { readonly type: "interrupted" }
  | { readonly type: "later" };

/**
 * Answers that were given before the turn: in a file, in an earlier run, or by a program. They come after what
 * the person has said for the whole turn, and before the config and the person. Methods never throw.
 */
export interface AnswerSource {
  /**
   * No one else is asked. What a person would decide, and this has no answer for, stays open, whatever the
   * `detached` settings are.
   */
  readonly isComplete: boolean;
  findAnswer(asked: CallToDecide & { readonly question: Question }): Given<GivenReply>;
  findPermission(asked: CallToDecide): Given<GivenPermission>;
  findDelivery(asked: CallToDecide & { readonly result: ToolResult }): Given<GivenDelivery>;
}

/** A call about which something has to be decided. */
export interface CallToDecide {
  readonly tool: string;
  readonly toolCallId: string;
  /** With defaults filled in, and as edited if a person did. */
  readonly arguments: JsonObject;
}

/** Undefined if there is no answer. `later`: there is one that cannot be used, so the question stays open. */
export type Given<Value> = GivenBy<Value> | "later" | undefined;

/** With who gave it, for the record. */
export type GivenBy<Value> = Value & { readonly decidedBy: Decider };

/** The answer to a question. It is checked like any other. */
export interface GivenReply {
  readonly answer: Json;
  readonly note?: string;
}

/** Whether a call may run. */
export interface GivenPermission {
  readonly isApproved: boolean;
  /** Run it with these instead. */
  readonly arguments?: JsonObject;
  /** Why not, for the model. */
  readonly reason?: string;
}

/** Whether the model may see a result. */
export interface GivenDelivery {
  readonly isApproved: boolean;
  /** Deliver this instead. */
  readonly content?: string;
}

/** Lets a person choose what to do about interrupted work. The work continues while the menu is open. */
export interface InterruptMenu {
  /** Aborting the signal closes the menu with `continue`: the work has finished by itself. */
  choose(request: InterruptRequest): Promise<InterruptChoice>;
}

/** The choices that make sense at this point of the turn. */
export interface InterruptRequest {
  readonly choices: readonly InterruptChoice["type"][];
  readonly signal: AbortSignal;
}

/** What a person chose in the interrupt menu. */
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
  /** Must neither throw nor block. */
  observe(update: TurnUpdate): void;
}

/** One thing that happened in a turn. */
export type TurnUpdate =
  /** The event has been written to disk. */
  | { readonly type: "event"; readonly event: ConversationEvent }
  /** A request to the model starts. The first of a turn is number 1. */
  | { readonly type: "cycle_start"; readonly cycle: number }
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
  | Exclude<RequestUpdate, { readonly type: "alive" }>
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
    };

/** The conversation as a turn reads it and adds to it. */
export interface Journal {
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
}

/** A runnable tool with its settings. */
export interface CallableTool extends RunnableTool {
  readonly settings: ToolSettings;
}
