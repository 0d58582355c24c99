/**
 * What a turn remembers. All of it can be rebuilt from the events of the turn, except what it waits for.
 */
import type {
  ConversationEvent,
  Decider,
  InquiryId,
  InquiryRequest,
  InquiryResponse,
  PermissionDecision,
} from "../conversation/index.ts";
import type { Json } from "../util/index.ts";
import { WaitingList } from "./waiting.ts";

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

/** Whether no person gave the answer. */
export function isAutomatic(response: InquiryResponse): boolean {
  return response.outcome !== "cancelled" && response.answeredBy?.kind !== "user";
}

function isForTurn(decider: Decider | undefined): boolean {
  return decider?.kind === "user" && decider.scope === "turn";
}

/** Names may contain any separator, so a pair is joined as JSON. */
function key(first: string, second: string): string {
  return JSON.stringify([first, second]);
}
