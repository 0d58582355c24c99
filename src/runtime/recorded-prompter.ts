/** The person of a recorded turn, who decides again what is on record. */
import { isDeepStrictEqual } from "node:util";
import {
  type DeliveryRequest,
  type DeliveryResult,
  isWithheld,
  type PermissionRequest,
  type PermissionResult,
  type Prompter,
  type PromptRequest,
  type PromptResult,
  RERUN_ANSWERS,
  withoutEditedArguments,
} from "../agent/index.ts";
import type { ToolSettings } from "../config/index.ts";
import {
  type AnswerEvent,
  type ConversationEvent,
  type InquiryResponse,
  isAnswer,
  type PermissionAction,
  type PermissionDecision,
} from "../conversation/index.ts";
import { untilAborted } from "./recorded-parts.ts";
import {
  failureOf,
  hasTimedOut,
  isBound,
  isTakeover,
  wasSomeoneThere,
} from "./recorded-presence.ts";
import type { Lane, RecordedTurn } from "./recorded-turn.ts";

export interface RecordedPrompterOptions {
  /** False if tools run for real: they cannot be given a secret, because no record has it. */
  readonly knowsSecrets: boolean;
  /** The settings of the tools that were called so far. */
  readonly settings: ReadonlyMap<Lane, ToolSettings>;
}

/** Answers as recorded. What has no answer on record stays open. */
export class RecordedPrompter implements Prompter {
  readonly channel = "replay";
  readonly #turn: RecordedTurn;
  readonly #options: RecordedPrompterOptions;
  /** They are recorded a little later. */
  readonly #given = new Set<ConversationEvent>();
  /** Another process got them. */
  readonly #later = new Set<ConversationEvent>();

  constructor(turn: RecordedTurn, options: RecordedPrompterOptions) {
    this.#turn = turn;
    this.#options = options;
  }

  canAsk(toolCallId?: string): boolean {
    if (toolCallId === undefined) return true;
    const lane = this.#turn.laneOf(toolCallId);
    return wasSomeoneThere(this.#turn, lane, this.#options.settings.get(lane));
  }

  async ask({ inquiryId, questionId, signal }: PromptRequest): Promise<PromptResult> {
    const found = this.#turn.responseTo(inquiryId);
    const isGiven = found !== undefined && isNext(this.#turn, found);
    const response = isGiven ? await this.#give(found, signal) : undefined;
    if (response === undefined && questionId === "rerun") {
      const id = this.#turn.idOnRecord(inquiryId);
      const isAsked = (decision: PermissionDecision) => this.#turn.requestOf(decision)?.id === id;
      const answer = rerunAnswer(await this.#decision("rerun", isAsked, signal));
      if (answer !== undefined) return { inquiryId, type: "answered", answer, isRemembered: false };
    }
    if (response !== undefined && hasTimedOut(this.#turn, response)) {
      await untilAborted(signal);
      return { inquiryId, type: "interrupted" };
    }
    if (response?.outcome === "cancelled") {
      if (response.reason === "backend_error") {
        throw new Error(
          failureOf(this.#turn.upcoming(this.#turn.laneOfInquiry(inquiryId)))?.message,
        );
      }
      // Another question has ended the call, while no one could see this one.
      if (response.reason === "timed_out") return { inquiryId, type: "later" };
      return { inquiryId, type: response.reason === "user" ? "cancelled" : "interrupted" };
    }
    if (response === undefined || !isPersons(response.answeredBy)) {
      return { inquiryId, type: "interrupted" };
    }
    if (response.outcome === "redacted") {
      if (!this.#options.knowsSecrets)
        throw new Error("the answer is a secret, which no record has");
      return { inquiryId, type: "answered", answer: "(secret)", isRemembered: false };
    }
    const { answer, note, answeredBy } = response;
    return {
      inquiryId,
      type: "answered",
      answer,
      isRemembered: isForTurn(answeredBy),
      ...(note !== undefined && { note }),
    };
  }

  async askPermission(request: PermissionRequest): Promise<PermissionResult> {
    const { tool, arguments: shown, signal } = request;
    const isAsked = (decision: PermissionDecision) =>
      decision.tool === tool &&
      isDeepStrictEqual(this.#turn.requestOf(decision)?.arguments ?? shown, shown);
    const decided = await this.#decision("run", isAsked, signal);
    if (decided === undefined) return { type: "interrupted" };
    const { decision, decidedBy, arguments: edited, reason } = decided;
    const isRemembered = isForTurn(decidedBy);
    if (decision === "denied") {
      return { type: "skip", isRemembered, ...(reason !== undefined && { reason }) };
    }
    return { type: "run", isRemembered, ...(edited !== undefined && { arguments: edited }) };
  }

  async askDelivery({ tool, content: shown, signal }: DeliveryRequest): Promise<DeliveryResult> {
    const isAsked = (decision: PermissionDecision) =>
      decision.tool === tool &&
      (this.#turn.requestOf(decision)?.result?.content ?? shown) === shown;
    const decided = await this.#decision("deliver", isAsked, signal);
    if (decided === undefined) return { type: "interrupted" };
    const response = this.#turn
      .upcoming(decided.toolCallId)
      .find((event) => event.type === "tool_call_response");
    const content = withoutEditedArguments(response?.content ?? "");
    if (decided.decision === "denied")
      return { type: isWithheld(content) ? "withhold" : "cancelled" };
    return decided.decision === "edited" ? { type: "deliver", content } : { type: "deliver" };
  }

  async #decision(
    action: PermissionAction,
    isAsked: (decision: PermissionDecision) => boolean,
    signal: AbortSignal,
  ): Promise<PermissionDecision | undefined> {
    const decision = this.#turn
      .upcoming()
      .find(
        (event): event is PermissionDecision =>
          event.type === "permission_decision" &&
          event.action === action &&
          isPersons(event.decidedBy) &&
          isAsked(event) &&
          !this.#given.has(event) &&
          this.#turn.upcoming(event.toolCallId)[0] === event,
      );
    return decision && this.#give(decision, signal);
  }

  /** At the time at which it was given then: others may use it from then on. */
  async #give<Event extends AnswerEvent>(
    event: Event,
    signal: AbortSignal,
  ): Promise<Event | undefined> {
    if (this.#isForLater(event)) {
      this.#later.add(event);
      return undefined;
    }
    this.#given.add(event);
    await this.#turn.untilNext(event);
    return signal.aborted ? undefined : event;
  }

  /** Whether another process got it. Prompts open one after the other: whoever answered the next one had left this. */
  #isForLater(event: AnswerEvent): boolean {
    if (isBound(this.#turn, event)) return false;
    return this.#turn
      .othersBefore(event)
      .some(
        (other) =>
          this.#later.has(other) ||
          isTakeover(this.#turn, other) ||
          (isAnswer(other) &&
            isByPerson(other) &&
            !this.#given.has(other) &&
            this.#turn.wasAskedBefore(event, other)),
      );
  }
}

function isByPerson(event: AnswerEvent): boolean {
  if (event.type === "permission_decision") return isPersons(event.decidedBy);
  return event.outcome === "cancelled" ? event.reason === "user" : isPersons(event.answeredBy);
}

/** Where something else comes first, it was another process that got the answer. */
function isNext(turn: RecordedTurn, response: InquiryResponse): boolean {
  const upcoming = turn.upcoming(turn.laneOfInquiry(response.id));
  const before = upcoming.slice(0, upcoming.indexOf(response));
  return before.every(({ type }) => type === "inquiry_response");
}

/** Older versions did not say who answered, and newer ones may say more. */
function isPersons(decider: PermissionDecision["decidedBy"] | undefined): boolean {
  return decider === undefined || decider.kind === "user" || decider.kind === "unknown";
}

function isForTurn(decider: PermissionDecision["decidedBy"] | undefined): boolean {
  return decider?.kind === "user" && decider.scope === "turn";
}

function rerunAnswer(decided: PermissionDecision | undefined): string | undefined {
  if (decided === undefined) return undefined;
  if (decided.decision === "approved") return RERUN_ANSWERS.rerun;
  return decided.result?.content ?? RERUN_ANSWERS.skip;
}
