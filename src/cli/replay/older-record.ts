/**
 * Records of earlier versions, which say in sentences what has fields now. The fields are derived here, once for a turn, and
 * nothing else reads those sentences. They are as those versions wrote them, whatever jp says today.
 */
import type {
  AddedText,
  ConversationEvent,
  PermissionAction,
  PermissionDecision,
  PermissionRequestEvent,
  ToolCallResponse,
  ToolResult,
} from "../../record/conversation/index.ts";
import { RecordedCalls } from "./recorded-calls.ts";

/** The events of one turn, as this version would have recorded them. */
export function withDerivedFields(
  turn: readonly ConversationEvent[],
): readonly ConversationEvent[] {
  const calls = new RecordedCalls(turn);
  const byCall = Map.groupBy(turn, (event) => calls.of(event));
  const undecided = new Map<string, PermissionRequestEvent>();
  return turn.flatMap((event): readonly ConversationEvent[] => {
    const call = new OlderCall(byCall.get(calls.of(event)) ?? []);
    switch (event.type) {
      case "permission_request":
        undecided.set(subjectOf(event), event);
        return [call.isOlder ? call.completeRequest(event) : event];
      case "permission_decision": {
        const request = undecided.get(subjectOf(event));
        undecided.delete(subjectOf(event));
        const identified = { ...(request !== undefined && { id: request.id }), ...event };
        return [call.isOlder ? call.completeDecision(identified) : identified];
      }
      case "inquiry_response":
        return [call.isOlder ? call.completeOutcome(event) : event];
      case "tool_call_response": {
        if (!call.isOlder) return [event];
        const left = [...undecided.values()].filter(({ toolCallId }) => toolCallId === event.id);
        return [...left.flatMap((request) => call.denialOf(request)), call.complete(event)];
      }
      default:
        return [event];
    }
  });
}

/** Earlier versions recorded no id with a decision. */
function subjectOf({ toolCallId, action }: PermissionDecision | PermissionRequestEvent): string {
  return JSON.stringify([toolCallId, action]);
}

const EDITED = /^The user edited the arguments of this call before it ran\. .*\n\n/;
const DECLINED = /\n\n\[A secondary assistant \(\S+\), not the user, answered no to "[\s\S]*\]$/;
const DELIVERY_CANCELLED = "Result delivery cancelled.";
const OUTCOME_UNKNOWN =
  "The process ended while this tool was running, so it is not known whether the tool did its work. It was " +
  "not run again. Check before you call it again.";
const PROMPT_FAILED: Readonly<Record<PermissionAction | "ask", string>> = {
  run: "Permission prompt failed: ",
  rerun: "Permission prompt failed: ",
  deliver: "Delivery prompt failed: ",
  ask: "Question prompt failed: ",
};
const MODEL_FAILED = "but the secondary assistant failed to provide a valid answer. Error: ";
const MODEL_FAILED_END = ". You may retry the tool call or end the turn.";

/** One call. Its result has the sentences. */
class OlderCall {
  readonly #events: readonly ConversationEvent[];
  readonly #response: ToolCallResponse | undefined;

  constructor(events: readonly ConversationEvent[]) {
    this.#events = events;
    this.#response = events.find((event) => event.type === "tool_call_response");
  }

  /** This version records a digest with every decision. */
  get isOlder(): boolean {
    return !this.#events.some(
      (event) =>
        ("digest" in event && event.digest !== undefined) ||
        ("subject" in event && event.subject !== undefined),
    );
  }

  complete<Result extends ToolResult>(result: Result): Result {
    const added = this.#addedTo(result);
    return added === undefined ? result : { ...result, added };
  }

  completeRequest(request: PermissionRequestEvent): PermissionRequestEvent {
    const { result } = request;
    return result === undefined ? request : { ...request, result: this.complete(result) };
  }

  completeDecision(decision: PermissionDecision): PermissionDecision {
    if (decision.action !== "deliver" || decision.cause !== undefined) return decision;
    const seen = this.#seen;
    const isClosed = decision.decision === "denied" && seen === DELIVERY_CANCELLED;
    if (isClosed) return { ...decision, cause: "closed" };
    if (decision.decision !== "edited" || decision.result !== undefined) return decision;
    return { ...decision, result: { content: seen, isError: this.#response?.isError ?? false } };
  }

  completeOutcome(
    response: Extract<ConversationEvent, { type: "inquiry_response" }>,
  ): ConversationEvent {
    if (response.outcome !== "cancelled" || response.reason !== "backend_error") return response;
    const problem = response.problem ?? problemIn(this.#seen, "ask");
    return problem === undefined ? response : { ...response, problem };
  }

  /** The decision about a request that ended with the call, without one of its own. */
  denialOf(request: PermissionRequestEvent): readonly PermissionDecision[] {
    const { id, toolCallId, tool, action } = request;
    const { timestamp = request.timestamp } = this.#response ?? {};
    const denied = {
      type: "permission_decision",
      timestamp,
      id,
      toolCallId,
      tool,
      action,
      decision: "denied",
    } as const;
    const problem = problemIn(this.#seen, action);
    if (problem !== undefined) {
      const key = `conversation.tools.${tool}.${action === "deliver" ? "result" : "run"}`;
      return [{ ...denied, decidedBy: { kind: "policy", key }, cause: "prompt_failed", problem }];
    }
    const isClosed = action === "rerun" && this.#seen === OUTCOME_UNKNOWN;
    return isClosed
      ? [{ ...denied, decidedBy: { kind: "user", channel: "unknown" }, cause: "closed" }]
      : [];
  }

  /** The result that the model got, without the notice about edited arguments. */
  get #seen(): string {
    return this.#response?.content.replace(EDITED, "") ?? "";
  }

  #addedTo({ content, added }: ToolResult): AddedText | undefined {
    const isEdited = this.#events.some(
      (event) => event.type === "permission_decision" && event.arguments !== undefined,
    );
    const isDeclined = this.#events.some(
      (event) =>
        event.type === "inquiry_response" &&
        event.outcome === "answered" &&
        event.answeredBy?.kind === "assistant",
    );
    const before = isEdited ? lengthOf(EDITED.exec(content)) : 0;
    const after = isDeclined ? lengthOf(DECLINED.exec(content)) : 0;
    return added === undefined && before + after > 0 ? { before, after } : added;
  }
}

function lengthOf(found: RegExpExecArray | null): number {
  return found?.[0].length ?? 0;
}

function problemIn(content: string, action: PermissionAction | "ask"): string | undefined {
  const prompt = PROMPT_FAILED[action];
  if (content.startsWith(prompt)) return content.slice(prompt.length);
  const start = content.indexOf(MODEL_FAILED);
  if (action !== "ask" || start === -1 || !content.endsWith(MODEL_FAILED_END)) return undefined;
  return content.slice(start + MODEL_FAILED.length, -MODEL_FAILED_END.length);
}
