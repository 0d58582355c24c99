/** What the agent needs of the world around it. A terminal, a test, a page and a program are equals. */
import type { CallLimits, ToolSettings } from "../config/index.ts";
import {
  type ConversationEvent,
  type ConversationStream,
  type InquiryId,
  type Timestamp,
  timestampFromDate,
} from "../conversation/index.ts";
import type { RefusedQuestions, RunnableTool } from "../executor/index.ts";
import type { InquiryBackend } from "../inquiry/index.ts";
import type { EndReason, ProviderError, ToolSchema, Usage } from "../provider/index.ts";
import type { ConversationWriter } from "../storage/index.ts";
import type { InquiryQuestion } from "../tool/index.ts";
import type { Clock, Json, JsonObject } from "../util/index.ts";
import type { PromptQueue } from "./interrupts.ts";
import type { TurnState } from "./state.ts";

/**
 * A person, and how to reach that person. One thing is asked at a time. `cancelled` is the person's own
 * decision not to answer; `interrupted` is any other end, a closed window for example. Abort closes what
 * is open and gives either: who aborted it is known. A method throws only if its question cannot be shown.
 */
export interface Prompter {
  /** How the person is reached; recorded with every answer. */
  readonly channel: string;

  /** Whether anybody can be asked at the moment. Never throws. */
  canAsk(): boolean;

  /** A question of a tool, or of the assistant. */
  ask(request: PromptRequest): Promise<PromptResult>;

  /** Several that belong together, with a look at all answers before they count. Else one by one. */
  askForm?(request: FormRequest): Promise<FormResult>;

  /** Whether a tool may run. */
  askPermission(request: PermissionRequest): Promise<PermissionResult>;

  /** Whether the model may see what a tool gave. */
  askDelivery(request: DeliveryRequest): Promise<DeliveryResult>;
}

/** A question to be put to a person. */
export interface PromptRequest {
  /** Comes back with the answer: an answer goes to the question it was given for, and to no other. */
  readonly inquiryId: InquiryId;
  readonly question: InquiryQuestion;
  /** Who is asking, for the eye; absent where nothing is said about it. */
  readonly label?: string;
  /**
   * The tool that asks, and which of its questions this is: an answer for the rest of the turn answers
   * that question of that tool. Absent where nothing is remembered.
   */
  readonly tool?: string | undefined;
  readonly questionId?: string | undefined;
  readonly signal: AbortSignal;
}

/** What a person says to a `PromptRequest`, under the same id. */
export type PromptResult = { readonly inquiryId: InquiryId } & (
  | {
      readonly type: "answered";
      readonly answer: Json;
      /** The person wants it to hold until the turn ends. */
      readonly isRemembered: boolean;
      /** What the person had to say besides. */
      readonly note?: string;
    }
  /** The person did not answer, and said so. */
  | { readonly type: "cancelled" }
  /** The person could not answer any more. */
  | { readonly type: "interrupted" }
);

/** Several questions of one call, asked together. */
export interface FormRequest {
  /** In the order in which they are asked. */
  readonly fields: readonly Omit<PromptRequest, "signal">[];
  readonly signal: AbortSignal;
}

/** All of them, in the order of the fields, or none. */
export type FormResult =
  | { readonly type: "answered"; readonly results: readonly PromptResult[] }
  | { readonly type: "cancelled" }
  | { readonly type: "interrupted" };

/** Where a tool comes from. */
export type ToolOrigin =
  | { readonly type: "builtin" }
  | { readonly type: "local" }
  | { readonly type: "mcp"; readonly server: string };

/** A call that may only run if a person says so. */
export interface PermissionRequest {
  readonly tool: string;
  readonly origin: ToolOrigin;
  readonly arguments: JsonObject;
  /** The person is to look at the arguments: they are opened for editing at once. */
  readonly isEditing: boolean;
  /** What is wrong with edited arguments; undefined if nothing is. Never throws. */
  readonly check: (edited: JsonObject) => Promise<string | undefined>;
  readonly signal: AbortSignal;
}

/** What a person says to a `PermissionRequest`. */
export type PermissionResult =
  /** `arguments`: edited by the person, and checked. */
  | { readonly type: "run"; readonly isRemembered: boolean; readonly arguments?: JsonObject }
  /** `reason` is told to the model. */
  | { readonly type: "skip"; readonly isRemembered: boolean; readonly reason?: string }
  | { readonly type: "cancelled" }
  | { readonly type: "interrupted" };

/** What a tool gave, and whether the model may see it. */
export interface DeliveryRequest {
  readonly tool: string;
  readonly content: string;
  readonly isError: boolean;
  /** The result is opened for editing at once. */
  readonly isEditing: boolean;
  readonly signal: AbortSignal;
}

/** What a person says to a `DeliveryRequest`. */
export type DeliveryResult =
  /** `content`: edited by the person. */
  | { readonly type: "deliver"; readonly content?: string }
  | { readonly type: "withhold" }
  | { readonly type: "cancelled" }
  | { readonly type: "interrupted" };

/** What to do about work that a person has interrupted. The work goes on meanwhile. */
export interface InterruptMenu {
  /** Abort closes it and gives `continue`: what was interrupted has ended by itself. */
  choose(request: InterruptRequest): Promise<InterruptChoice>;
}

/** What can be chosen where the turn stands. */
export interface InterruptRequest {
  readonly choices: readonly InterruptChoice["type"][];
  readonly signal: AbortSignal;
}

/** What a person wants to become of what was interrupted. */
export type InterruptChoice =
  | { readonly type: "continue" }
  /** End what is under way, and go on with what the person says about it; it may be nothing. */
  | { readonly type: "reply"; readonly message: string }
  /** End what is under way, and the turn; what there is so far is kept. */
  | { readonly type: "stop" }
  /** End what is under way, and drop what there is of it. */
  | { readonly type: "discard" }
  /** Begin again with the tools that have not ended. */
  | { readonly type: "restart" }
  /** The menu itself was interrupted: the person wants to leave. */
  | { readonly type: "leave" };

/** A prompter for programs without anybody to ask. */
export const NOBODY: Prompter = {
  channel: "none",
  canAsk: () => false,
  ask: nobodyAnswers,
  askPermission: nobodyAnswers,
  askDelivery: nobodyAnswers,
};

async function nobodyAnswers(): Promise<never> {
  throw new Error("nobody is there to be asked");
}

/** Hears everything that happens in a turn. */
export interface Observer {
  /** Must not throw, and must not wait. */
  observe(update: TurnUpdate): void;
}

/** One thing that happened in a turn: an event that was recorded, or what led to it. */
export type TurnUpdate =
  /** It is on the disk. */
  | { readonly type: "event"; readonly event: ConversationEvent }
  /** A request to the model; the first of a turn is number 1. */
  | { readonly type: "cycle_start"; readonly cycle: number }
  | { readonly type: "reasoning_delta"; readonly text: string }
  | { readonly type: "message_delta"; readonly text: string }
  /** The model has begun to write a call. */
  | { readonly type: "tool_call_start"; readonly id: string; readonly name: string }
  /** A line about what a tool is doing. */
  | {
      readonly type: "tool_call_delta";
      readonly toolCallId: string;
      readonly tool: string;
      readonly message: string;
    }
  | { readonly type: "response_end"; readonly reason: EndReason; readonly usage: Usage }
  /** The request failed and will be made again. */
  | {
      readonly type: "retry_start";
      readonly error: ProviderError;
      readonly retry: number;
      readonly maxRetries: number;
      readonly delayMs: number;
    };

/** The record of one conversation, as a turn reads it and adds to it. */
export interface Journal {
  /** Grows with what is recorded. */
  readonly stream: ConversationStream;
  /** Resolves when the events are on the disk. Throws `write_failed`. */
  record(...events: readonly ConversationEvent[]): Promise<void>;
}

/** Writes to the conversation, and tells the observer what is on the disk. */
export function createJournal(conversation: ConversationWriter, observer?: Observer): Journal {
  return {
    get stream() {
      return conversation.stream;
    },
    record: async (...events) => {
      await conversation.append(...events);
      for (const event of events) observer?.observe({ type: "event", event });
    },
  };
}

/** What the calls of a turn share. */
export interface TurnParts {
  readonly journal: Journal;
  readonly tools: Toolbox;
  readonly prompter: Prompter;
  readonly prompts: PromptQueue;
  readonly inquiries: InquiryBackend;
  readonly state: TurnState;
  readonly clock: Clock;
  /** The usual ones if absent. */
  readonly limits?: CallLimits;
  readonly observer?: Observer;
}

/** The tools that are on. */
export interface Toolbox {
  /** As the model is told of them. A tool that cannot be had is not among them. */
  schemas(signal: AbortSignal): Promise<readonly ToolSchema[]>;
  /** Undefined if there is none of that name. Throws if it cannot be had at the moment. */
  find(name: string, signal: AbortSignal): Promise<CallableTool | undefined>;
  /**
   * Calls back for each question that belongs to no call under way, and was refused for that, until
   * what it returns is called. Absent where there can be none.
   */
  listen?(onStray: (refused: RefusedQuestions) => void): () => void;
}

/** A tool that can be run, with what the config says of it. */
export interface CallableTool extends RunnableTool {
  readonly settings: ToolSettings;
}

export function timestampOf(clock: Clock): Timestamp {
  return timestampFromDate(clock.now());
}
