/**
 * What a turn remembers. All that it decides by can be told from the events of the turn, so that a turn
 * can be taken up again by another process; secrets alone are nowhere but in the call that got them.
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
import type { Question } from "../tool/index.ts";
import { type Json, truncateBytes } from "../util/index.ts";
import type { TurnParts } from "./ports.ts";

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

/** Something of a tool that was denied only because no one could be asked. */
export interface DetachedDenial {
  readonly tool: string;
  readonly what: "permission" | "question" | "delivery";
}

/** What a turn remembers: its inquiry ids, and what a person said for the rest of it. */
export class TurnState {
  /** All that the turn has so far: ids may hold dots, so that counting alone could make two alike. */
  readonly #inquiryIds = new Set<InquiryId>();
  readonly #answers = new Map<string, RememberedAnswer>();
  readonly #permissions = new Map<string, RememberedPermission>();
  readonly #denials = new Map<string, DetachedDenial>();
  #automaticAnswers = 0;

  /** From the events of one turn, in their order. */
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
        // Two calls may share an id; a tool that asks for itself says which it is.
        const tool = source?.source === "tool" ? source.name : toolOf.get(toolCallId);
        if (tool !== undefined && questionId !== undefined) {
          state.rememberAnswer(tool, questionId, event);
        }
      }
      if (event.type === "permission_decision") state.rememberPermission(event);
    }
    return state;
  }

  /** The id of the next time this question of this call is recorded. */
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

  /** Takes a response that is on record; keeps nothing but a person's answer for the turn. */
  rememberAnswer(tool: string, questionId: string, response: InquiryResponse): void {
    if (response.outcome !== "answered" || !holdsForTurn(response.answeredBy)) return;
    this.#answers.set(key(tool, questionId), { answer: response.answer, from: response.id });
  }

  /** Counts an answer that no person gives, before it is given; false if there are so many already. */
  takeAutomaticAnswer(most: number): boolean {
    if (this.#automaticAnswers >= most) return false;
    this.#automaticAnswers += 1;
    return true;
  }

  /** Each kind once for each tool. */
  get denials(): readonly DetachedDenial[] {
    return [...this.#denials.values()];
  }

  noteDenial(denial: DetachedDenial): void {
    this.#denials.set(key(denial.tool, denial.what), denial);
  }

  findPermission(tool: string): RememberedPermission | undefined {
    return this.#permissions.get(tool);
  }

  /** Takes a decision that is on record; keeps nothing but a person's word for the turn. */
  rememberPermission({ tool, toolCallId, action, ...event }: PermissionDecision): void {
    if (action !== "run" || !holdsForTurn(event.decidedBy)) return;
    const isApproved = event.decision !== "denied";
    this.#permissions.set(tool, { isApproved, from: toolCallId });
  }
}

function isAutomatic(response: InquiryResponse): boolean {
  return response.outcome !== "cancelled" && response.answeredBy?.kind !== "user";
}

function holdsForTurn(decider: Decider | undefined): boolean {
  return decider?.kind === "user" && decider.scope === "turn";
}

/** Ids may hold any character: written as JSON, two different pairs never look alike. */
function key(first: string, second: string): string {
  return JSON.stringify([first, second]);
}

/** `attempt` counts from 1 within the turn, for each question of each call. */
function mintInquiryId(toolCallId: string, questionId: string, attempt: number): InquiryId {
  return `${toolCallId}.${questionId}.${attempt}` as InquiryId; // Branded where it is made.
}

/** The limit that was reached, as a key of the config. */
export type LimitKey = `conversation.limits.${string}`;

/** However little is left, the model is told something. */
const LEAST_RESULT_BYTES = 1024;

export class CallBudget {
  readonly #limits: CallLimits;
  readonly #state: TurnState;
  #answers = 0;
  #bytes = 0;

  constructor({ limits = DEFAULT_LIMITS, state }: Pick<TurnParts, "limits" | "state">) {
    this.#limits = limits;
    this.#state = state;
  }

  /** Counts an answer that no person gives, before it is given. Returns the limit if there must be none. */
  takeAnswer(): LimitKey | undefined {
    const { automaticAnswersPerCall, automaticAnswersPerTurn } = this.#limits;
    if (this.#answers >= automaticAnswersPerCall) {
      return "conversation.limits.automatic_answers_per_call";
    }
    if (!this.#state.takeAutomaticAnswer(automaticAnswersPerTurn)) {
      return "conversation.limits.automatic_answers_per_turn";
    }
    this.#answers += 1;
    return undefined;
  }

  /** Counts what is about to be recorded. Returns the limit if it must not be. */
  takeQuestions(questions: readonly Question[]): LimitKey | undefined {
    const bytes = this.#bytes + Buffer.byteLength(JSON.stringify(questions));
    if (bytes > this.#limits.recordBytesPerCall) {
      return "conversation.limits.record_bytes_per_call";
    }
    this.#bytes = bytes;
    return undefined;
  }

  /** An answer is kept in any case: whoever gave it was asked for it. */
  addAnswer({ answer, note = "" }: GivenAnswer): void {
    this.#bytes += Buffer.byteLength(JSON.stringify(answer) + note);
  }

  /** As much of a result as the record has room for. */
  fitResult(content: string): string {
    const left = this.#limits.recordBytesPerCall - this.#bytes;
    return truncateBytes(content, Math.max(left, LEAST_RESULT_BYTES));
  }
}

export interface GivenAnswer {
  readonly answer: Json;
  readonly note?: string;
  /** No person was asked. */
  readonly isAutomatic: boolean;
  /** Of a model that was given words of its own. */
  readonly reply?: ModelReply;
}

export class GivenAnswers {
  /** By question id; the latest answer to each. */
  readonly #answers = new Map<string, GivenAnswer & { readonly isSecret: boolean }>();
  /** How often in a row each question was answered without a person. */
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
