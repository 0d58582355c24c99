/** Stand-ins for the models and tools of a recorded process, which repeat what is on record. */
import type {
  CallableTool,
  DataValidator,
  InterruptChoice,
  InterruptMenu,
  SteeringSource,
} from "../../core/agent/index.ts";
import {
  type CheckCode,
  type ConversationEvent,
  type InquiryRequest,
  type InquiryResponse,
  isSteering,
  type ToolResult,
} from "../../record/conversation/index.ts";
import type { AttemptResult, Executor } from "../../reach/executor/index.ts";
import type { InquiryAnswer, InquiryBackend } from "../../core/answer-model/index.ts";
import type { EndReason, Model, ModelEvent } from "../../reach/provider/index.ts";
import type { ModelPrompt } from "../../record/tool/index.ts";
import { untilAborted } from "./replay-order.ts";
import type { Lane, ReplayScript } from "./replay-script.ts";

/** Replies as recorded. Calls `interrupt` where the person interrupted the reply. */
export function recordedModel(script: ReplayScript, interrupt: () => void): Model {
  return {
    id: "recorded/model",
    async *stream({ signal }): AsyncGenerator<ModelEvent> {
      const reply = script.nextReply();
      // It is recorded once it ends.
      const next = script.afterReply();
      for (const event of reply) yield* toModelEvents(event);
      if (interruptionOf(next) !== undefined) {
        interrupt();
        await untilAborted(signal);
      }
      const hasCalls = reply.some(({ type }) => type === "tool_call_request");
      const reason = hasCalls ? "tool_calls" : reasonOf(next);
      yield { type: "response_end", reason, usage: {} };
    },
  };
}

function toModelEvents(event: ConversationEvent): readonly ModelEvent[] {
  const metadata = event.metadata === undefined ? {} : { metadata: event.metadata };
  if (event.type === "tool_call_request") {
    const { id, name, arguments: given } = event;
    return [{ type: "tool_call_request", id, name, arguments: given, ...metadata }];
  }
  if (event.type !== "chat_response") return [];
  const { content } = event;
  if (content.type === "reasoning") {
    const { text } = content;
    return [
      { type: "reasoning_delta", text },
      { type: "reasoning_end", ...metadata },
    ];
  }
  const text = content.type === "message" ? content.text : JSON.stringify(content.data);
  return [
    { type: "message_delta", text },
    { type: "message_end", ...metadata },
  ];
}

/** Why the reply ended, which is on record only where it matters. */
function reasonOf(next: ConversationEvent | undefined): EndReason {
  const cause = next?.type === "turn_end" ? next.cause : undefined;
  return cause === "length" || cause === "refused" ? cause : "stop";
}

/** Repeats the recorded problems of an answer. A program's own schema is not on record. */
export function recordedCheck(script: ReplayScript): DataValidator {
  return async (value) => {
    const [next] = script.upcoming();
    const problem =
      next?.type === "chat_request"
        ? next.correction
        : next?.type === "turn_end"
          ? next.problem
          : undefined;
    return problem === undefined
      ? { ok: true, value }
      : { ok: false, problems: problem.split("\n") };
  };
}

/** The choice in the interrupt menu that leads to this event, if any. */
function interruptionOf(event: ConversationEvent | undefined): InterruptChoice | undefined {
  if (event?.type === "chat_request" && event.correction === undefined && !isSteering(event)) {
    return { type: "reply", message: event.content };
  }
  return event?.type === "turn_end" && event.reason === "stopped" ? { type: "stop" } : undefined;
}

/** Repeats what the user wrote while the turn ran. */
export function recordedSteering(script: ReplayScript): SteeringSource {
  return {
    take: () => {
      const upcoming = script.upcoming();
      const end = upcoming.findIndex((event) => !isSteering(event));
      const messages = end === -1 ? upcoming : upcoming.slice(0, end);
      return messages.flatMap((event) => {
        if (event.type !== "chat_request") return [];
        const { content, author } = event;
        return [{ content, ...(author !== undefined && { author }) }];
      });
    },
  };
}

/** Repeats the recorded choice. */
export function recordedMenu(script: ReplayScript): InterruptMenu {
  return {
    choose: async () => interruptionOf(script.upcoming()[0]) ?? { type: "continue" },
  };
}

/** A live model. Everything else waits while it writes. */
export function observedModel(model: Model, script: ReplayScript): Model {
  const properties = model.properties?.bind(model);
  return {
    id: model.id,
    isLocal: model.isLocal ?? false,
    ...(properties !== undefined && { properties }),
    async *stream(request): AsyncGenerator<ModelEvent> {
      const events = model.stream(request)[Symbol.asyncIterator]();
      try {
        for (;;) {
          const next = await script.order.during(events.next());
          if (next.done === true) return;
          yield next.value;
        }
      } finally {
        await events.return?.();
      }
    },
  };
}

/** Repeats a model's recorded answers to questions. */
export function recordedInquiries(script: ReplayScript): InquiryBackend {
  return {
    inquire: async ({ inquiryId, signal }): Promise<InquiryAnswer> => {
      const outcome = script.outcomeOf(inquiryId);
      const { answeredBy } = outcome?.outcome === "answered" ? outcome : {};
      if (outcome?.outcome === "answered" && answeredBy?.kind === "assistant") {
        await script.until(outcome);
        const { answer, answerReason: reason } = outcome;
        const { model } = answeredBy;
        return { type: "answered", answer, model, ...(reason !== undefined && { reason }) };
      }
      if (outcome?.outcome === "cancelled" && outcome.reason === "backend_error") {
        await script.until(outcome);
        return { type: "failed", kind: "other", message: problemOf(outcome) };
      }
      await script.untilClosed(signal); // It did not answer in time, or someone else was faster.
      return { type: "cancelled" };
    },
  };
}

/** Why a question or permission prompt failed. */
export function problemOf({ problem }: { readonly problem?: string }): string {
  return problem ?? "the record does not say why";
}

/** Returns the recorded results of one call, and asks its recorded questions. */
export function recordedExecutor(
  script: ReplayScript,
  lane: Lane,
  tool: Pick<CallableTool, "settings">,
): Executor {
  return {
    attempt: async ({ signal }) => {
      const next = script.upcoming(lane);
      await script.until(next[0]);
      const end = next.findIndex(({ type }) => type !== "inquiry_request");
      const asked = end === -1 ? next : next.slice(0, end);
      const requests = asked
        .filter((event) => event.type === "inquiry_request")
        // Leaves out escalations: the tool did not ask again, jp asked others after a timeout.
        .filter(
          ({ replaces, rung = 0 }, _index, all) =>
            !all.some(({ id, rung: before = 0 }) => id === replaces && before < rung),
        );
      if (requests.length > 0) return toNeedsInput(script, requests, tool);
      // The result of an unstable call is used whole: jp adds nothing to it in a replay.
      const result = resultOf(next, script.isUnstable(lane) ? contentOf : ownContent);
      if (result !== undefined) return result;
      await script.untilClosed(signal);
      return { type: "cancelled" };
    },
    ...recordedChecks(script, lane),
  };
}

/**
 * The recorded result of the tool's own check, if it ran. No check runs again, because its subject has changed since.
 */
function recordedChecks(script: ReplayScript, lane: Lane): Pick<Executor, "check"> {
  const upcoming = script.upcoming(lane);
  const start = upcoming.findIndex(({ type }) => type === "attempt_start");
  const before = start === -1 ? upcoming : upcoming.slice(0, start);
  const about = before
    .filter((event) => event.type === "permission_request" || event.type === "permission_decision")
    .find(({ action }) => action === "rerun");
  if (about?.check === undefined) return {};
  const { check, result } = about;
  if (check === "done" && result !== undefined) {
    const { added: _, ...found } = result;
    return { check: async () => ({ type: "done", ...found }) };
  }
  const known = CHECKS.find((each) => each === check) ?? "unknown";
  return { check: async () => ({ type: known }) };
}

const CHECKS = ["not_done", "unknown", "failed", "timed_out"] as const satisfies readonly Exclude<
  CheckCode,
  "done"
>[];

/** A live tool. It does not run if it had no result when its process ended. */
export function observedExecutor(script: ReplayScript, lane: Lane, executor: Executor): Executor {
  return {
    ...recordedChecks(script, lane),
    attempt: async (request) => {
      const [next] = script.upcoming(lane);
      if (next === undefined) {
        await script.until(next);
        return { type: "cancelled" };
      }
      const result = await script.order.during(executor.attempt(request));
      await script.until(next);
      return result;
    },
  };
}

/** The tool's own result, as far as it is on record. */
function resultOf(
  events: readonly ConversationEvent[],
  toContent: (result: ToolResult) => string,
): AttemptResult | undefined {
  const [next, after] = events;
  const shown =
    next?.type === "permission_request" && next.action === "deliver" ? next.result : undefined;
  const response = next?.type === "permission_decision" && next.action === "deliver" ? after : next;
  const result = shown ?? (response?.type === "tool_call_response" ? response : undefined);
  if (result === undefined) return undefined;
  const { isError, blocks, isJson } = result;
  return {
    type: isError ? "error" : "success",
    content: toContent(result),
    ...(blocks !== undefined && { blocks }),
    ...(isJson === true && { isJson }),
  };
}

function contentOf({ content }: ToolResult): string {
  return content;
}

/** Strips jp's additions, which jp adds again. */
function ownContent({ content, added = { before: 0, after: 0 } }: ToolResult): string {
  return content.slice(added.before, content.length - added.after);
}

function toNeedsInput(
  script: ReplayScript,
  requests: readonly InquiryRequest[],
  { settings }: Pick<CallableTool, "settings">,
): AttemptResult {
  const [first] = requests;
  const [question, ...more] = requests.map(({ question: asked, questionId, id }) => {
    return { ...asked, id: questionId ?? id };
  });
  if (first === undefined || question === undefined) throw new Error("nothing is asked");
  const next = script.upcoming(first.toolCallId);
  const responses = next.filter((event) => event.type === "inquiry_response");
  const byModel = requests.filter(({ id }) =>
    responses.some((response) => response.id === id && isByModel(response)),
  );
  const isRemote = settings.source.type === "mcp";
  const prompts = new Map(
    isRemote ? byModel.map(({ questionId = "" }) => [questionId, NO_PROMPT] as const) : [],
  );
  const { source, state, isBound = false } = first;
  return {
    type: "needs_input",
    question,
    ...(more.length > 0 && { more }),
    source,
    ...(prompts.size > 0 && { prompts }),
    ...(state !== undefined && { state }),
    ...(isBound && { isBound }),
    ...(isWithdrawn(next) && { closed: AbortSignal.abort() }),
  };
}

/** A server may ask a model. The prompt does not matter, because the answer is on record. */
const NO_PROMPT: ModelPrompt = { messages: [], maxTokens: 1 };

function isByModel(response: InquiryResponse): boolean {
  return response.outcome === "answered" && response.answeredBy?.kind === "assistant";
}

/** The server withdrew its questions, and the call continued without answers. */
function isWithdrawn(events: readonly ConversationEvent[]): boolean {
  const start = events.findIndex(({ type }) => type === "attempt_start");
  const ends = events.slice(0, start).filter((event) => event.type === "inquiry_response");
  return (
    ends.length > 0 &&
    ends.every(
      ({ outcome, ...end }) =>
        outcome === "cancelled" && "reason" in end && end.reason === "interrupted",
    )
  );
}
