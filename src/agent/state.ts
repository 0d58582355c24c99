/**
 * What a turn remembers, and what one of its calls has used up. All of `TurnState` can be rebuilt from
 * the events of the turn. Secrets live only in `GivenAnswers`.
 */
import { type CallLimits, DEFAULT_LIMITS } from "../config/index.ts";
import type {
  ConversationEvent,
  Decider,
  InquiryId,
  InquiryRequest,
  InquiryResponse,
  PermissionDecision,
} from "../conversation/index.ts";
import type { AttemptRequest, ModelReply } from "../executor/index.ts";
import type { InquiryBackend } from "../inquiry/index.ts";
import type { ConversationWriter } from "../storage/index.ts";
import type { Question } from "../tool/index.ts";
import { type Clock, type Json, truncateBytes } from "../util/index.ts";
import type { PromptQueue } from "./interrupts.ts";
import type { Journal, Observer, Prompter, Toolbox } from "./ports.ts";

/** Everything that the calls of a turn share. */
export interface TurnContext {
  readonly journal: Journal;
  readonly tools: Toolbox;
  readonly prompter: Prompter;
  readonly prompts: PromptQueue;
  readonly inquiries: InquiryBackend;
  readonly state: TurnState;
  readonly clock: Clock;
  /** The default limits apply if absent. */
  readonly limits?: CallLimits;
  readonly observer?: Observer;
}

export interface RememberedAnswer {
  readonly answer: Json;
  /** The inquiry in which the person gave it. */
  readonly from: InquiryId;
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
  #automaticAnswers = 0;

  /** Takes the events of one turn, in order. */
  static fromEvents(events: Iterable<ConversationEvent>): TurnState {
    const state = new TurnState();
    const toolOf = new Map<string, string>();
    const requests = new Map<string, InquiryRequest>();
    for (const event of events) {
      if (event.type === "tool_call_request") toolOf.set(event.id, event.name);
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
    this.#answers.set(key(tool, questionId), { answer: response.answer, from: response.id });
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
}

/** The answers that one call has received so far, secrets included. */
export class GivenAnswers {
  /** The latest answer for each question id. */
  readonly #answers = new Map<string, GivenAnswer & { readonly isSecret: boolean }>();
  /** How many times in a row each question was answered without a person. */
  readonly #automatic = new Map<string, number>();

  add({ id, answerType }: Question, given: GivenAnswer): void {
    this.#answers.set(id, { ...given, isSecret: answerType.type === "secret" });
    this.#automatic.set(id, given.isAutomatic ? this.automaticAnswers({ id }) + 1 : 0);
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
      secretAnswers: entries.flatMap(([id, { isSecret }]) => (isSecret ? [id] : [])),
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

  /** Counts questions before they are recorded. Returns the limit that forbids it. */
  countQuestions(questions: readonly Question[]): LimitKey | undefined {
    const bytes = this.#bytes + Buffer.byteLength(JSON.stringify(questions));
    if (bytes > this.#limits.recordBytesPerCall) {
      return "conversation.limits.record_bytes_per_call";
    }
    this.#bytes = bytes;
    return undefined;
  }

  /** Answers are counted but never refused: they were asked for. */
  addAnswer({ answer, note = "" }: GivenAnswer): void {
    this.#bytes += Buffer.byteLength(JSON.stringify(answer) + note);
  }

  /** Truncates a result to the bytes that are left. */
  fitResult(content: string): string {
    const left = this.#limits.recordBytesPerCall - this.#bytes;
    return truncateBytes(content, Math.max(left, MIN_RESULT_BYTES));
  }
}

/** Records to a stored conversation, and reports each event once it is on disk. */
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
