/** The person of a recorded process, who decides again what is on record. */
import { isDeepStrictEqual } from "node:util";
import {
  type DeliveryRequest,
  type DeliveryResult,
  failureIn,
  isWithheld,
  lastTurn,
  NO_ANSWER_IN_TIME,
  type NoAnswer,
  type NoAnswerReason,
  type PermissionRequest,
  type PermissionResult,
  type Prompter,
  type PromptRequest,
  type PromptResult,
  RERUN_ANSWERS,
  withoutEditedArguments,
  withoutNotes,
} from "../agent/index.ts";
import {
  type AnswerEvent,
  deciderOf,
  isAnswer,
  type InquiryResponse,
  type PendingItem,
  pendingOf,
  type PermissionDecision,
  type PermissionRequestEvent,
  readTurnProgress,
  timestampToMilliseconds,
  type ToolCallResponse,
} from "../conversation/index.ts";
import type { ConversationWriter } from "../storage/index.ts";
import type { Clock } from "../util/index.ts";
import { failureOf } from "./recorded-parts.ts";
import { isByPerson } from "./recorded-process.ts";
import type { ReplayScript } from "./replay-script.ts";

/** Takes the place of a secret, for tools that do not run. */
export const UNKNOWN_SECRET = "(secret)";

export interface RecordedPrompterOptions {
  readonly script: ReplayScript;
  /** What is asked now. */
  readonly conversation: ConversationWriter;
  /** Whether there was a person to ask. */
  readonly canAsk: boolean;
  /** Whether that was also the person whom a question is for, although the record does not show it. */
  readonly reachesAll: boolean;
  /** False if tools run for real: they cannot be given a secret, because no record has it. */
  readonly knowsSecrets: boolean;
  /** Of the replay. */
  readonly clock: Clock;
}

/** Answers as recorded. What the process got no answer to is left for later. */
export class RecordedPrompter implements Prompter {
  readonly channel = "replay";
  readonly #options: RecordedPrompterOptions;
  /** The permissions and deliveries that this has been asked about. */
  readonly #asked = new Set<string>();

  constructor(options: RecordedPrompterOptions) {
    this.#options = options;
  }

  canAsk(): boolean {
    return this.#options.canAsk;
  }

  canReach(name: string): boolean {
    const { script, reachesAll } = this.#options;
    return reachesAll || script.hasReached(name);
  }

  async ask({ inquiryId, signal }: PromptRequest): Promise<PromptResult> {
    const end = await this.#end(({ id }) => id === inquiryId, signal);
    switch (end?.type) {
      case "inquiry_response":
        return this.#repeat(end, inquiryId);
      case "permission_decision":
        return { inquiryId, type: "answered", answer: rerunAnswer(end), isRemembered: false };
      case "unanswered":
        return { inquiryId, ...end };
      default:
        return { inquiryId, type: end === undefined ? "later" : "cancelled" };
    }
  }

  async askPermission({
    tool,
    arguments: shown,
    signal,
  }: PermissionRequest): Promise<PermissionResult> {
    const decided = await this.#decision("permission", signal, (request) => {
      return request.tool === tool && isDeepStrictEqual(request.arguments, shown);
    });
    if (decided === undefined) return { type: "later" };
    if (decided.type === "unanswered") return decided;
    const { decision, arguments: edited, reason } = decided;
    const isRemembered = isForTurn(decided);
    if (decision === "denied") {
      return { type: "skip", isRemembered, ...(reason !== undefined && { reason }) };
    }
    return { type: "run", isRemembered, ...(edited !== undefined && { arguments: edited }) };
  }

  async askDelivery({ tool, content: shown, signal }: DeliveryRequest): Promise<DeliveryResult> {
    const decided = await this.#decision("delivery", signal, (request) => {
      return request.tool === tool && request.result?.content === shown;
    });
    if (decided === undefined) return { type: "later" };
    if (decided.type === "unanswered") return decided;
    const { content = "" } = this.#options.script.responseOf(decided.toolCallId) ?? {};
    const seen = withoutEditedArguments(content);
    if (decided.decision === "denied") return { type: isWithheld(seen) ? "withhold" : "cancelled" };
    return decided.decision === "edited" ? { type: "deliver", content: seen } : { type: "deliver" };
  }

  #repeat(response: InquiryResponse, inquiryId: InquiryResponse["id"]): PromptResult {
    if (response.outcome === "cancelled") return { inquiryId, type: "cancelled" };
    const { answeredBy } = response;
    const named =
      answeredBy?.kind === "user" && answeredBy.name !== undefined
        ? { userName: answeredBy.name }
        : {};
    if (response.outcome === "redacted") {
      if (!this.#options.knowsSecrets)
        throw new Error("the answer is a secret, which no record has");
      return { inquiryId, type: "answered", answer: UNKNOWN_SECRET, isRemembered: false, ...named };
    }
    const { answer, note } = response;
    const isRemembered = isForTurn(response);
    return {
      inquiryId,
      type: "answered",
      answer,
      isRemembered,
      ...(note !== undefined && { note }),
      ...named,
    };
  }

  async #decision(
    kind: PendingItem["kind"],
    signal: AbortSignal,
    isShown: (request: PermissionRequestEvent) => boolean,
  ): Promise<PermissionDecision | Unanswered | undefined> {
    // Prompts open in the order of the calls. If two look alike, the first is the one that was not asked yet.
    const isIt = ({ id, request, ...item }: PendingItem) =>
      item.kind === kind &&
      request?.type === "permission_request" &&
      isShown(request) &&
      !this.#asked.has(id);
    const end = await this.#end((item) => {
      const isFound = isIt(item);
      if (isFound) this.#asked.add(item.id);
      return isFound;
    }, signal);
    return end?.type === "permission_decision" || end?.type === "unanswered" ? end : undefined;
  }

  /**
   * What answered it while the process ran. If the call went on without an answer, it is what the model was told:
   * the prompt failed, or the person closed it. Given at the time at which it was given then.
   */
  async #end(
    isAsked: (item: PendingItem) => boolean,
    signal: AbortSignal,
  ): Promise<AnswerEvent | ToolCallResponse | Unanswered | undefined> {
    const { script, conversation, clock } = this.#options;
    const item = pendingOf(readTurnProgress(lastTurn(conversation)), true).find(isAsked);
    if (item === undefined) return undefined;
    const end = script.answerTo(item) ?? script.responseOf(item.toolCallId);
    if (end === undefined) return undefined;
    await script.until(end);
    if (script.order.isOver) return undefined;
    if (hasFailed(end)) {
      const response = script.responseOf(item.toolCallId);
      // A model was asked instead, and failed.
      const isModels = failureIn(withoutNotes(response?.content ?? ""))?.what === "inquiry";
      if (isModels) return { type: "unanswered", reason: "unavailable" };
      throw new Error(failureOf(script, item.toolCallId));
    }
    if (isAnswer(end) && !isByPerson(end)) {
      // What came of another question of the call is still missing: this one was left for later by then.
      if (script.isBehindAnswer(end)) return undefined;
      const isOverdue =
        item.deadline !== undefined &&
        clock.now().getTime() >= timestampToMilliseconds(item.deadline);
      const reason = isOverdue ? undefined : findReason(end, item);
      if (reason !== undefined) return { type: "unanswered", reason };
      await script.untilClosed(signal);
    }
    return script.order.isOver || signal.aborted ? undefined : end;
  }
}

type Unanswered = Extract<NoAnswer, { type: "unanswered" }>;

/** Why the prompter got no answer. Undefined if its prompt was closed: the tool did not wait for an answer. */
function findReason(end: AnswerEvent, { deadline }: PendingItem): NoAnswerReason | undefined {
  if (end.type === "permission_decision") {
    return end.reason === NO_ANSWER_IN_TIME ? "timed_out" : "unavailable";
  }
  if (end.outcome !== "cancelled") {
    // Only a question with a deadline has an answer for the case that it passes.
    const isDefault = deciderOf(end)?.kind === "default" && deadline !== undefined;
    return isDefault ? "timed_out" : "unavailable";
  }
  if (end.reason === "timed_out") return "timed_out";
  return end.reason === "no_prompt_backend" ? "unavailable" : undefined;
}

/** The question could not be shown. */
function hasFailed(end: AnswerEvent | ToolCallResponse): boolean {
  if (end.type === "tool_call_response") return failureIn(end.content)?.what === "prompt";
  if (end.type === "permission_decision" || end.outcome !== "cancelled") return false;
  return end.reason === "backend_error";
}

function isForTurn(answer: AnswerEvent): boolean {
  const decider = deciderOf(answer);
  return decider?.kind === "user" && decider.scope === "turn";
}

function rerunAnswer({ decision, result }: PermissionDecision): string {
  if (decision === "approved") return RERUN_ANSWERS.rerun;
  return result?.content ?? RERUN_ANSWERS.skip;
}
