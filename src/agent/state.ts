/**
 * What a turn remembers, and what one of its calls has used up. All of `TurnState` can be rebuilt from
 * the events of the turn, except what it waits for. Secrets live only in `GivenAnswers`.
 */
import { type CallLimits, DEFAULT_LIMITS } from "../config/index.ts";
import {
  type CallProgress,
  type ConversationEvent,
  type ConversationStream,
  type Decider,
  type InquiryId,
  type InquiryRequest,
  type InquiryResponse,
  eventsOf,
  lastTurnOf,
  type PermissionDecision,
} from "../conversation/index.ts";
import type { AttemptRequest, ModelReply, ResultContent } from "../executor/index.ts";
import type { InquiryBackend } from "../answer-model/index.ts";
import type { ConversationWriter } from "../storage/index.ts";
import type { Question } from "../tool/index.ts";
import { type Clock, type Json, truncateBytes } from "../util/index.ts";
import type { PromptQueue } from "./prompts.ts";
import { declinedByModel } from "./model-texts.ts";
import type { AnswerSource, Journal, Observer, Prompter, Toolbox } from "./ports.ts";
import { WaitingList } from "./waiting.ts";

/** Everything that the calls of a turn share. */
export interface TurnContext {
  readonly journal: Journal;
  readonly tools: Toolbox;
  readonly prompter: Prompter;
  readonly prompts: PromptQueue;
  readonly answers?: AnswerSource;
  readonly inquiries: InquiryBackend;
  readonly state: TurnState;
  readonly clock: Clock;
  /** The default limits apply if absent. */
  readonly limits?: CallLimits;
  /** What models see of the conversation, apart from compactions; everything if absent. */
  readonly view?: (stream: ConversationStream) => ConversationStream;
  readonly observer?: Observer;
  /** Another process can go on from the record, so that a person may leave things for later. */
  readonly allowsLater?: boolean;
  /** The name of the person whom the prompter asks. */
  readonly userName?: string;
}

/** What becomes of something that a person would decide. `detached` is what the config says if none can. */
export function withoutAnswer<Mode extends string>(
  { answers, prompter }: Pick<TurnContext, "answers" | "prompter">,
  { progress }: { readonly progress: CallProgress },
  detached: Mode,
): Mode | "ask" | "defer" {
  if (answers?.isComplete === true) return "defer";
  return prompter.canAsk(progress.request.id) ? "ask" : detached;
}

export interface RememberedAnswer {
  readonly answer: Json;
  /** The inquiry in which the person gave it. */
  readonly from: InquiryId;
  /** Who gave it, if they have a name. */
  readonly name?: string;
}

export interface RememberedPermission {
  readonly isApproved: boolean;
  /** The call for which the person gave it. */
  readonly from: string;
}

/** Something that was denied only because no person could be asked. */
export interface DetachedDenial {
  readonly tool: string;
  readonly what: "permission" | "question" | "delivery";
}

/** The inquiry ids of a turn, and the answers and permissions that a person gave for all of it. */
export class TurnState {
  readonly #inquiryIds = new Set<InquiryId>();
  readonly #answers = new Map<string, RememberedAnswer>();
  readonly #permissions = new Map<string, RememberedPermission>();
  readonly #denials = new Map<string, DetachedDenial>();
  readonly waiting = new WaitingList();
  #automaticAnswers = 0;

  /** Takes the events of one turn, in order. */
  static fromEvents(events: Iterable<ConversationEvent>): TurnState {
    const state = new TurnState();
    const toolOf = new Map<string, string>();
    const requests = new Map<string, InquiryRequest>();
    for (const event of events) {
      if (event.type === "tool_call_request") toolOf.set(event.id, event.name);
      if (event.type === "permission_request") state.#inquiryIds.add(event.id);
      if (event.type === "inquiry_request") {
        state.#inquiryIds.add(event.id);
        requests.set(event.id, event);
      }
      if (event.type === "inquiry_response") {
        if (isAutomatic(event)) state.#automaticAnswers += 1;
        const { source, toolCallId = "", questionId } = requests.get(event.id) ?? {};
        // Two calls may share an id, so the source is the better witness if it names the tool.
        const tool = source?.source === "tool" ? source.name : toolOf.get(toolCallId);
        if (tool !== undefined && questionId !== undefined) {
          state.rememberAnswer(tool, questionId, event);
        }
      }
      if (event.type === "permission_decision") state.rememberPermission(event);
    }
    return state;
  }

  /** Call and question ids may contain dots, so a count per question could produce the same id twice. */
  nextInquiryId(toolCallId: string, questionId: string): InquiryId {
    for (let attempt = 1; ; attempt += 1) {
      const id = mintInquiryId(toolCallId, questionId, attempt);
      if (this.#inquiryIds.has(id)) continue;
      this.#inquiryIds.add(id);
      return id;
    }
  }

  findAnswer(tool: string, questionId: string): RememberedAnswer | undefined {
    return this.#answers.get(key(tool, questionId));
  }

  /** Takes any recorded response, and keeps it only if a person gave it for the whole turn. */
  rememberAnswer(tool: string, questionId: string, response: InquiryResponse): void {
    if (response.outcome !== "answered" || !isForTurn(response.answeredBy)) return;
    const { answer, id: from, answeredBy } = response;
    const named =
      answeredBy?.kind === "user" && answeredBy.name !== undefined ? { name: answeredBy.name } : {};
    this.#answers.set(key(tool, questionId), { answer, from, ...named });
  }

  /** Counts an answer without a person, before it is given. Returns false if `max` is reached. */
  countAutomaticAnswer(max: number): boolean {
    if (this.#automaticAnswers >= max) return false;
    this.#automaticAnswers += 1;
    return true;
  }

  /** Each kind once per tool. */
  get denials(): readonly DetachedDenial[] {
    return [...this.#denials.values()];
  }

  addDenial(denial: DetachedDenial): void {
    this.#denials.set(key(denial.tool, denial.what), denial);
  }

  findPermission(tool: string): RememberedPermission | undefined {
    return this.#permissions.get(tool);
  }

  /** Takes any recorded decision, and keeps it only if a person made it for the whole turn. */
  rememberPermission({ tool, toolCallId, action, ...event }: PermissionDecision): void {
    if (action !== "run" || !isForTurn(event.decidedBy)) return;
    const isApproved = event.decision !== "denied";
    this.#permissions.set(tool, { isApproved, from: toolCallId });
  }
}

/** The only place that creates inquiry ids. Treat them as opaque. */
function mintInquiryId(toolCallId: string, questionId: string, attempt: number): InquiryId {
  return `${toolCallId}.${questionId}.${attempt}` as InquiryId; // Branded where it is created.
}

function isAutomatic(response: InquiryResponse): boolean {
  return response.outcome !== "cancelled" && response.answeredBy?.kind !== "user";
}

function isForTurn(decider: Decider | undefined): boolean {
  return decider?.kind === "user" && decider.scope === "turn";
}

/** Names may contain any separator, so a pair is joined as JSON. */
function key(first: string, second: string): string {
  return JSON.stringify([first, second]);
}

/** An answer as the tool that asked gets it. */
export interface GivenAnswer {
  readonly answer: Json;
  readonly note?: string;
  /** No person gave it. */
  readonly isAutomatic: boolean;
  /** Set if a model answered a prompt that the tool wrote for it. */
  readonly reply?: ModelReply;
  /** Set if a model said no. */
  readonly decline?: Decline;
}

/** A model's no, which the model that made the call should not take for the user's. */
export interface Decline {
  /** `provider/name`. */
  readonly model: string;
  readonly reason?: string;
}

export function declineOf(
  { answerType }: Pick<Question, "answerType">,
  { answer, answerReason, answeredBy }: AnswerFields,
): { readonly decline?: Decline } {
  if (answerType.type !== "boolean" || answer !== false || answeredBy?.kind !== "assistant") {
    return {};
  }
  const { model } = answeredBy;
  return { decline: { model, ...(answerReason !== undefined && { reason: answerReason }) } };
}

export type RecordedAnswer = Extract<InquiryResponse, { outcome: "answered" }>;
type AnswerFields = Pick<RecordedAnswer, "answer" | "answerReason" | "answeredBy">;

/** Adds a note on each question that a model has answered with no. */
export function withDeclines(
  content: string,
  answers: readonly (Pick<GivenAnswer, "decline"> & { readonly question: Question })[],
): string {
  const notes = answers.flatMap(({ question, decline }) =>
    decline === undefined ? [] : [declinedByModel(question, decline.model, decline.reason)],
  );
  return [content, ...notes].join("\n\n");
}

/** The answers that one call has received so far, secrets included. */
export class GivenAnswers {
  /** The latest answer for each question id. */
  readonly #answers = new Map<string, GivenAnswer & { readonly question: Question }>();
  /** How many times in a row each question was answered without a person. */
  readonly #automatic = new Map<string, number>();

  add(question: Question, given: GivenAnswer): void {
    const { id } = question;
    this.#answers.set(id, { ...given, question });
    this.#automatic.set(id, given.isAutomatic ? this.automaticAnswers({ id }) + 1 : 0);
  }

  /** An answer from the record. Secrets are not on it. */
  restore(question: Question, response: RecordedAnswer): void {
    const { answer, note, answeredBy } = response;
    const given = note === undefined ? { answer } : { answer, note };
    this.add(question, {
      ...given,
      isAutomatic: answeredBy?.kind !== "user",
      ...declineOf(question, response),
    });
  }

  /** A result of the tool, with a note on each question that a model has answered with no. */
  annotate(content: string): string {
    return withDeclines(content, [...this.#answers.values()]);
  }

  automaticAnswers({ id }: Pick<Question, "id">): number {
    return this.#automatic.get(id) ?? 0;
  }

  toRequest(): Pick<AttemptRequest, "answers" | "secretAnswers" | "notes" | "replies"> {
    const entries = [...this.#answers];
    const replies = entries.flatMap(([id, { reply }]) =>
      reply === undefined ? [] : [[id, reply] as const],
    );
    return {
      answers: Object.fromEntries(entries.map(([id, { answer }]) => [id, answer])),
      secretAnswers: entries.flatMap(([id, { question }]) =>
        question.answerType.type === "secret" ? [id] : [],
      ),
      notes: Object.fromEntries(
        entries.flatMap(([id, { note }]) => (note === undefined ? [] : [[id, note]])),
      ),
      ...(replies.length > 0 && { replies: Object.fromEntries(replies) }),
    };
  }
}

/** The config key of a limit that was reached. */
export type LimitKey = `conversation.limits.${string}`;

/** The model gets at least this much of a result, however little the budget has left. */
const MIN_RESULT_BYTES = 1024;

/** How many automatic answers and recorded bytes one call has left. */
export class CallBudget {
  readonly #limits: CallLimits;
  readonly #state: TurnState;
  #answers = 0;
  #bytes = 0;

  constructor({ limits = DEFAULT_LIMITS, state }: Pick<TurnContext, "limits" | "state">) {
    this.#limits = limits;
    this.#state = state;
  }

  /** What an earlier process has used. The state of the turn has its answers already. */
  restore(question: Question, response?: InquiryResponse): void {
    this.#bytes += Buffer.byteLength(JSON.stringify(question));
    if (response?.outcome === "answered") this.#bytes += bytesOf(response);
    if (response !== undefined && isAutomatic(response)) this.#answers += 1;
  }

  /** Counts an answer without a person, before it is given. Returns the limit that forbids it. */
  countAnswer(): LimitKey | undefined {
    const { automaticAnswersPerCall, automaticAnswersPerTurn } = this.#limits;
    if (this.#answers >= automaticAnswersPerCall) {
      return "conversation.limits.automatic_answers_per_call";
    }
    if (!this.#state.countAutomaticAnswer(automaticAnswersPerTurn)) {
      return "conversation.limits.automatic_answers_per_turn";
    }
    this.#answers += 1;
    return undefined;
  }

  /** Counts questions, and what is recorded with them, before they are. Returns the limit that forbids it. */
  countQuestions(questions: readonly Question[], state = ""): LimitKey | undefined {
    const bytes = this.#bytes + Buffer.byteLength(JSON.stringify(questions) + state);
    if (bytes > this.#limits.recordBytesPerCall) {
      return "conversation.limits.record_bytes_per_call";
    }
    this.#bytes = bytes;
    return undefined;
  }

  /** Answers are counted but never refused: they were asked for. */
  addAnswer(given: GivenAnswer): void {
    this.#bytes += bytesOf(given);
  }

  /** Truncates a result to the bytes that are left. */
  fitResult({ content, blocks }: ResultContent): ResultContent {
    const left = Math.max(this.#limits.recordBytesPerCall - this.#bytes, MIN_RESULT_BYTES);
    const text = truncateBytes(content, left);
    const bytes = Buffer.byteLength(text) + Buffer.byteLength(JSON.stringify(blocks ?? []));
    // Without its blocks a result still has its text.
    return { content: text, ...(blocks !== undefined && bytes <= left && { blocks }) };
  }
}

function bytesOf({ answer, note = "" }: Pick<GivenAnswer, "answer" | "note">): number {
  return Buffer.byteLength(JSON.stringify(answer) + note);
}

/** Records to a stored conversation, and reports each event once it is on disk. */
export function createJournal(conversation: ConversationWriter, observer?: Observer): Journal {
  return {
    conversation: conversation.id,
    get stream() {
      return conversation.stream;
    },
    record: async (...events) => {
      await conversation.append(...events);
      for (const event of events) observer?.observe({ type: "event", event });
    },
  };
}

/** The events of the turn that the record ends with. Those before the first `turn_start` form one too. */
export function lastTurn({ stream }: Pick<Journal, "stream">): readonly ConversationEvent[] {
  const turn = lastTurnOf(stream.entries);
  return turn.length > 0 ? turn : [...eventsOf(stream.entries)];
}

/** A prompter for non-interactive runs. `canAsk` is false, so nothing else is called. */
export const noPrompter: Prompter = {
  channel: "none",
  canAsk: () => false,
  ask: rejectPrompt,
  askPermission: rejectPrompt,
  askDelivery: rejectPrompt,
};

async function rejectPrompt(): Promise<never> {
  throw new Error("no prompter is available");
}
