/** The person of a recorded process: repeats the recorded decisions, and the answers given in advance. */
import {
  type AnswerSource,
  type AnsweredPrompt,
  type NoAnswer,
  type NoAnswerReason,
  type Prompter,
  type PromptRequest,
  type PromptResult,
  type RequestBase,
} from "../../core/agent/index.ts";
import {
  ACTIONS,
  type AnswerEvent,
  deciderOf,
  grantOf,
  type InquiryId,
  isAnswer,
  type PendingItem,
  pendingOf,
  type PermissionDecision,
  readTurnProgress,
  type Reply,
  RERUN_ANSWERS,
  timestampToMilliseconds,
  lastTurn,
} from "../../record/conversation/index.ts";
import type { ConversationWriter } from "../../stores/index.ts";
import type { Clock } from "../../util/index.ts";
import { problemOf } from "./recorded-parts.ts";
import { isByPerson } from "./recorded-process.ts";
import type { ReplayScript } from "./replay-script.ts";

/** Replaces a secret, for tools that do not run. */
export const UNKNOWN_SECRET = "(secret)";

export interface RecordedPrompterOptions {
  readonly script: ReplayScript;
  /** The conversation of the replay. */
  readonly conversation: ConversationWriter;
  /** Whether there was a person to ask. */
  readonly canAsk: boolean;
  /** People who could be asked about decisions reserved for them. */
  readonly people: readonly string[];
  /** Whether a model was asked instead if no person answered, where a question ended with an error. */
  readonly asksModel: boolean;
  /** False if tools run for real: no record has the secrets they would need. */
  readonly knowsSecrets: boolean;
  /** The replay's clock. */
  readonly clock: Clock;
}

/** Answers as recorded. Defers what the process got no answer to. */
export class RecordedPrompter implements Prompter {
  readonly channel = "replay";
  /** Calls of one reply may have been decided out of order. */
  readonly showsPermissions = true;
  readonly #options: RecordedPrompterOptions;

  constructor(options: RecordedPrompterOptions) {
    this.#options = options;
  }

  canAsk(): boolean {
    return this.#options.canAsk;
  }

  canReach(name: string): boolean {
    return this.#options.people.includes(name);
  }

  /** Answers whichever call was decided first. The others are asked about again. */
  async ask(request: PromptRequest): Promise<PromptResult> {
    if (request.kind !== "permissions") return this.#askOne(request);
    const { inquiryId, calls } = request;
    const first = await Promise.race(calls.map((call) => this.#askOne(call)));
    return { inquiryId, type: "form", results: [first] };
  }

  /** Answers at the recorded point in time. */
  async #askOne({ inquiryId, signal }: RequestBase): Promise<PromptResult> {
    const { script, asksModel } = this.#options;
    const left: PromptResult = { inquiryId, type: "later" };
    const item = this.#findItem(inquiryId);
    const end = item && script.answerTo(item);
    if (item !== undefined && end === undefined && script.isPassedOn(item)) {
      await script.untilClosed(signal);
      return left;
    }
    if (item === undefined || end === undefined) return left;
    await script.until(end);
    if (script.order.isOver || signal.aborted) return left;
    if (hasFailed(end)) {
      if (end.type === "permission_decision" || !asksModel) throw new Error(problemOf(end));
      return { inquiryId, type: "unanswered", reason: "unavailable" };
    }
    if (isByPerson(end))
      return script.isLeftFirst(end) ? left : { inquiryId, ...this.#repeat(end) };
    // Another question's answer still has to come first, so this one had been deferred by then.
    if (script.isBehindAnswer(end)) return left;
    const reason = this.#isOverdue(item) ? undefined : findReason(end, item);
    if (reason !== undefined) return { inquiryId, type: "unanswered", reason };
    await script.untilClosed(signal);
    return left;
  }

  #findItem(inquiryId: InquiryId): PendingItem | undefined {
    const progress = readTurnProgress(lastTurn(this.#options.conversation));
    return pendingOf(progress, true).find(({ id }) => id === inquiryId);
  }

  #isOverdue({ deadline }: PendingItem): boolean {
    if (deadline === undefined) return false;
    return this.#options.clock.now().getTime() >= timestampToMilliseconds(deadline);
  }

  #repeat(end: AnswerEvent): AnsweredPrompt | NoAnswer {
    const by = deciderOf(end);
    const named = by?.kind === "user" && by.name !== undefined ? { userName: by.name } : {};
    if (isSecret(end) && !this.#options.knowsSecrets) {
      throw new Error("the answer is a secret, which no record has");
    }
    const reply = replyOf(end);
    return reply === undefined
      ? { type: "cancelled", ...named }
      : { type: "answered", ...reply, ...named };
  }
}

/** Recorded answers given before the turn. */
export function recordedAnswers({
  script,
  knowsSecrets,
}: Pick<RecordedPrompterOptions, "script" | "knowsSecrets">): AnswerSource {
  return {
    isComplete: false,
    find: (asked) => {
      const lane = script.idOnRecord(asked.toolCallId);
      const end = script.upcoming(lane).find((event) => isAnswer(event) && isAbout(event));
      if (end === undefined || !isAnswer(end) || (isSecret(end) && !knowsSecrets)) return undefined;
      const [decidedBy, reply] = [deciderOf(end), replyOf(end)];
      return decidedBy?.kind === "answers_file" && reply ? { ...reply, decidedBy } : undefined;

      function isAbout(event: AnswerEvent): boolean {
        if (asked.kind !== "question") {
          return event.type === "permission_decision" && event.action === ACTIONS[asked.kind];
        }
        return script
          .requestsOf(lane)
          .some(
            (request) =>
              request.id === event.id &&
              request.type === "inquiry_request" &&
              request.questionId === asked.question.id,
          );
      }
    },
  };
}

function isSecret(end: AnswerEvent): boolean {
  return end.type === "inquiry_response" && end.outcome === "redacted";
}

/** The reply behind this recorded event. Undefined if there was none. */
function replyOf(end: AnswerEvent): Reply | undefined {
  const decider = deciderOf(end);
  const isRemembered = decider?.kind === "user" && decider.scope === "turn";
  const grant = grantOf(end);
  const granted = grant === undefined ? {} : { grant };
  if (end.type === "permission_decision") {
    return end.cause === "closed" ? undefined : { ...decisionReply(end), isRemembered, ...granted };
  }
  if (end.outcome === "cancelled") return undefined;
  if (end.outcome === "redacted") return { answer: UNKNOWN_SECRET };
  const { answer, note, redirects = false } = end;
  return { answer, isRemembered, redirects, ...(note !== undefined && { note }), ...granted };
}

function decisionReply(end: PermissionDecision): Reply {
  const { action, decision, reason: note, redirects = false, arguments: edited, result } = end;
  const skipped = result?.content ?? RERUN_ANSWERS.skip;
  if (action === "rerun") {
    return { answer: decision === "approved" ? RERUN_ANSWERS.rerun : skipped };
  }
  return {
    answer: decision !== "denied",
    redirects,
    ...(note !== undefined && { note }),
    ...(edited !== undefined && { arguments: edited }),
    ...(result !== undefined && { content: result.content }),
  };
}

/** Why the prompter got no answer. Undefined if its prompt was closed because the tool stopped waiting. */
function findReason(end: AnswerEvent, { deadline }: PendingItem): NoAnswerReason | undefined {
  if (end.type === "permission_decision") {
    const { cause } = end;
    return cause === "timed_out" || cause === "declined_by_client" ? cause : "unavailable";
  }
  if (end.outcome !== "cancelled") {
    // Only a question with a deadline has a default answer for when it passes.
    const isDefault = deciderOf(end)?.kind === "default" && deadline !== undefined;
    return isDefault ? "timed_out" : "unavailable";
  }
  const { reason } = end;
  if (reason === "timed_out" || reason === "declined_by_client") return reason;
  return reason === "no_prompt_backend" ? "unavailable" : undefined;
}

/** The prompt failed, or a model that was asked instead did. */
export function hasFailed(end: AnswerEvent): end is AnswerEvent & { readonly problem?: string } {
  if (end.type === "permission_decision") return end.cause === "prompt_failed";
  return end.outcome === "cancelled" && end.reason === "backend_error";
}
