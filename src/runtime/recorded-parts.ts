/** What stands in for the models and the tools of a recorded turn: each says again what is on record. */
import {
  type CallableTool,
  type InterruptChoice,
  type InterruptMenu,
  withoutNotes,
} from "../agent/index.ts";
import type { ConversationEvent, InquiryRequest, InquiryResponse } from "../conversation/index.ts";
import type { AttemptResult, Executor } from "../executor/index.ts";
import type { InquiryAnswer, InquiryBackend } from "../inquiry/index.ts";
import type { Model, ModelEvent } from "../provider/index.ts";
import type { ModelPrompt } from "../tool/index.ts";
import { abortable } from "../util/index.ts";
import { failureOf, hasTimedOut } from "./recorded-presence.ts";
import type { Lane, RecordedTurn } from "./recorded-turn.ts";

/** Ends what happens now in the way it ended then. */
export interface Interrupter {
  /** The person interrupts. What the person chooses then is on record. */
  interrupt(): void;
  /** The process ends. Another one may have gone on. */
  leave(): void;
}

/** Replies as recorded, and is interrupted where it was. */
export function recordedModel(turn: RecordedTurn, interrupter: Interrupter): Model {
  return {
    id: "recorded/model",
    async *stream({ signal }): AsyncGenerator<ModelEvent> {
      const reply = turn.nextReply();
      for (const event of reply) {
        for (const piece of toModelEvents(event)) yield piece;
      }
      const [next] = turn.upcoming();
      const hasCalls = reply.some(({ type }) => type === "tool_call_request");
      if (next !== undefined && interruptionOf(next) !== undefined) interrupter.interrupt();
      else if (reply.length === 0 && !(next?.type === "turn_end" && next.reason === "done")) {
        interrupter.leave();
      } else {
        yield { type: "response_end", reason: hasCalls ? "tool_calls" : "stop", usage: {} };
        return;
      }
      await abortable(new Promise<never>(() => undefined), signal);
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

/** What the person chose in the menu, if this is what came of it. */
function interruptionOf(event: ConversationEvent): InterruptChoice | undefined {
  if (event.type === "chat_request") return { type: "reply", message: event.content };
  return event.type === "turn_end" && event.reason === "stopped" ? { type: "stop" } : undefined;
}

/** Chooses in the menu what was chosen then. */
export function recordedMenu(turn: RecordedTurn): InterruptMenu {
  return {
    choose: async () => {
      const [next] = turn.upcoming();
      return (next && interruptionOf(next)) ?? { type: "continue" };
    },
  };
}

/** Answers in place of a model, as one did then. */
export function recordedInquiries(turn: RecordedTurn): InquiryBackend {
  return {
    inquire: async ({ inquiryId, signal }): Promise<InquiryAnswer> => {
      const outcome = turn.outcomeOf(inquiryId);
      await turn.untilNext(outcome);
      if (outcome !== undefined && hasTimedOut(turn, outcome)) await untilAborted(signal);
      if (signal.aborted) return { type: "cancelled" };
      if (outcome?.outcome === "answered") {
        const { answer, answeredBy, answerReason: reason } = outcome;
        const model = answeredBy?.kind === "assistant" ? answeredBy.model : "recorded/model";
        return { type: "answered", answer, model, ...(reason !== undefined && { reason }) };
      }
      const problem = outcome?.type === "inquiry_escalation" ? outcome.problem : undefined;
      const failure = failureOf(turn.upcoming(turn.laneOfInquiry(inquiryId)));
      const message = problem ?? failure?.message ?? "the record has no answer";
      return { type: "failed", kind: "other", message };
    },
  };
}

/** Gives the recorded results of one call, and asks its recorded questions. */
export function recordedExecutor(
  turn: RecordedTurn,
  lane: Lane,
  {
    interrupter,
    tool,
  }: { readonly interrupter: Interrupter; readonly tool: Pick<CallableTool, "settings"> },
): Executor {
  return {
    attempt: async ({ signal }) => {
      const next = turn.upcoming(lane);
      await abortable(turn.untilNext(next[0]), signal).catch(() => undefined);
      const questions = leadingQuestions(next);
      if (questions.length > 0) return toNeedsInput(turn, questions, tool);
      const result = resultOf(next);
      if (result !== undefined) {
        const { content, isError } = result;
        return { type: isError ? "error" : "success", content };
      }
      interrupter.leave(); // It was running when its process ended.
      await untilAborted(signal);
      return { type: "cancelled" };
    },
  };
}

export async function untilAborted(signal: AbortSignal): Promise<void> {
  await abortable(new Promise<never>(() => undefined), signal).catch(() => undefined);
}

/** Those that were asked together. What follows at another time was asked again by another process. */
function leadingQuestions(events: readonly ConversationEvent[]): readonly InquiryRequest[] {
  const [first] = events;
  const end = events.findIndex(
    ({ type, timestamp }) => type !== "inquiry_request" || timestamp !== first?.timestamp,
  );
  return (end === -1 ? events : events.slice(0, end)) as readonly InquiryRequest[]; // All of them are.
}

/** The tool's own result, as far as the record has it. */
function resultOf(events: readonly ConversationEvent[]) {
  const [next, after] = events;
  const shown =
    next?.type === "permission_request" && next.action === "deliver" ? next.result : undefined;
  const response = next?.type === "permission_decision" && next.action === "deliver" ? after : next;
  const result = shown ?? (response?.type === "tool_call_response" ? response : undefined);
  return result && { content: withoutNotes(result.content), isError: result.isError };
}

function toNeedsInput(
  turn: RecordedTurn,
  requests: readonly InquiryRequest[],
  { settings }: Pick<CallableTool, "settings">,
): AttemptResult {
  const [first] = requests;
  if (first === undefined) throw new Error("nothing is asked");
  const [question, ...more] = requests.map(({ question: asked, questionId, id }) => {
    return { ...asked, id: questionId ?? id };
  });
  if (question === undefined) throw new Error("nothing is asked");
  const responses = requests.map(({ id }) => turn.responseTo(id));
  const prompts = new Map(
    requests.flatMap(({ questionId = "" }, index) => {
      const response = responses[index];
      const isByModel =
        response?.outcome === "answered" && response.answeredBy?.kind === "assistant";
      return isByModel && settings.source.type === "mcp" ? [[questionId, NO_PROMPT] as const] : [];
    }),
  );
  const { source, state } = first;
  return {
    type: "needs_input",
    question,
    ...(more.length > 0 && { more }),
    source,
    ...(prompts.size > 0 && { prompts }),
    ...(state !== undefined && { state }),
    ...(first.isBound === true && { isBound: true }),
    ...(isWithdrawn(turn, first, responses) && { closed: AbortSignal.abort() }),
  };
}

/** A server may ask a model. What it said is not needed: the answer is on record. */
const NO_PROMPT: ModelPrompt = { messages: [], maxTokens: 1 };

/** The server took the question back, and the call went on without an answer. */
function isWithdrawn(
  turn: RecordedTurn,
  { toolCallId = "" }: InquiryRequest,
  responses: readonly (InquiryResponse | undefined)[],
): boolean {
  const isOpen = responses.every(
    (response) => response?.outcome === "cancelled" && response.reason === "interrupted",
  );
  const next = turn.upcoming(toolCallId).find(({ type }) => !type.startsWith("inquiry"));
  return isOpen && next?.type === "attempt_start";
}
