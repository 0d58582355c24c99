/**
 * What a turn remembers. All that it decides by can be told from the events of the turn, so that a turn
 * can be taken up again by another process; secrets alone are nowhere but in the call that got them.
 */
import type {
  ConversationEvent,
  Decider,
  InquiryId,
  InquiryRequest,
  InquiryResponse,
  PermissionDecision,
} from "../../conversation/index.ts";
import type { Json } from "../../util/index.ts";
import { mintInquiryId } from "./inquiry-id.ts";

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
