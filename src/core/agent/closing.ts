/**
 * The events that close abandoned turns, calls and questions, and those that start the turn for a person's message in
 * place of a yes. Also has the errors for turns that cannot start or continue.
 */
import {
  type CallProgress,
  type ChatRequest,
  type ConversationEvent,
  type Directory,
  endOf,
  findRequest,
  type InquiryRequest,
  type InquiryResponse,
  lastTurnOf,
  pairInquiries,
  pendingOf,
  type PermissionProgress,
  readTurnProgress,
  timestampFromDate,
  type ToolCallResponse,
  findPerson,
} from "../../record/conversation/index.ts";
import type { RefusedQuestions } from "../../reach/executor/index.ts";
import type { ConversationWriter } from "../../stores/index.ts";
import { type Clock, JpError } from "../../util/index.ts";
import type { Redirection, TurnState } from "./memory.ts";
import type { StopCause } from "./stop-cause.ts";
import {
  INTERRUPTED_AFTER_ANSWER,
  INTERRUPTED_AFTER_DELIVERY,
  INTERRUPTED_AT_DELIVERY,
  INTERRUPTED_AT_QUESTION,
  INTERRUPTED_BEFORE_RUN,
  INTERRUPTED_WHILE_RUNNING,
  REJECTED_AT_DELIVERY,
  REJECTED_AT_QUESTION,
  rejectedBeforeRun,
} from "./model-texts.ts";

/** The events that close everything a turn left open, so that it cannot be continued. None if it is complete. */
export function closeTurn(
  events: readonly ConversationEvent[],
  clock: Clock,
  by: StopCause,
): readonly ConversationEvent[] {
  const { next, calls } = readTurnProgress(events);
  if (next === "done") return [];
  const timestamp = timestampFromDate(clock.now());
  return [
    ...closeServerQuestions(events, clock),
    ...calls.flatMap((call) => closeCall(call, clock, by)),
    { type: "turn_end", timestamp, reason: "discarded" },
  ];
}

/**
 * Like `closeTurn`, before another turn starts, which may replace this one. Throws `nothing_to_replace`,
 * `incomplete_turn`.
 */
export function closeTurnBefore(
  { replacesTurn = false }: Pick<ChatRequest, "replacesTurn">,
  events: readonly ConversationEvent[],
  clock: Clock,
): readonly ConversationEvent[] {
  const closing = closeTurn(events, clock, "interrupted");
  if (!replacesTurn) return closing;
  if (findRequest(events) === undefined) {
    throw new JpError("nothing_to_replace", "There is no earlier message to send again.");
  }
  if (closing.length === 0) return closing;
  // Its calls may still have effects that the model would never learn of.
  throw new JpError("incomplete_turn", "The last turn is incomplete, so it cannot be replaced.", {
    hint: "Continue it first, or close it.",
  });
}

/** The events that close a call and its questions. The last one is its response. */
export function closeCall(
  call: CallProgress,
  clock: Clock,
  by: StopCause,
): readonly [...InquiryResponse[], ToolCallResponse] {
  const timestamp = timestampFromDate(clock.now());
  const { id } = call.request;
  return [
    ...closeQuestions(call, clock, by),
    { type: "tool_call_response", timestamp, id, content: howFar(call), isError: true },
  ];
}

/** A person may have decided something after the process ended. */
function howFar({ attempts, isInDoubt, permissions, asked }: CallProgress): string {
  const { run, deliver } = permissions;
  if (attempts === 0) {
    return isRejected(run) ? rejectedBeforeRun(run?.decision?.reason) : INTERRUPTED_BEFORE_RUN;
  }
  if (isInDoubt) return INTERRUPTED_WHILE_RUNNING;
  if (isRejected(deliver)) return REJECTED_AT_DELIVERY;
  if (deliver !== undefined) {
    const isApproved = deliver.decision !== undefined && deliver.decision.decision !== "denied";
    return isApproved ? INTERRUPTED_AFTER_DELIVERY : INTERRUPTED_AT_DELIVERY;
  }
  const ends = asked.map(({ response }) => response);
  if (ends.some((end) => end?.outcome === "cancelled" && end.reason === "user")) {
    return REJECTED_AT_QUESTION;
  }
  const isAnswered = ends.every((end) => end !== undefined && end.outcome !== "cancelled");
  return isAnswered && ends.length > 0 ? INTERRUPTED_AFTER_ANSWER : INTERRUPTED_AT_QUESTION;
}

/** Rejected by a person. A denial by config is not the user's. */
function isRejected({ decision }: PermissionProgress = {}): boolean {
  return decision?.decision === "denied" && decision.decidedBy.kind !== "policy";
}

/** The events that close the questions a call left open. */
export function closeQuestions(
  { questions }: Pick<CallProgress, "questions">,
  clock: Clock,
  reason: StopCause,
): readonly InquiryResponse[] {
  const timestamp = timestampFromDate(clock.now());
  return questions.flatMap(({ request: { id }, response }): InquiryResponse[] => {
    if (response !== undefined) return [];
    return [{ type: "inquiry_response", timestamp, id, outcome: "cancelled", reason }];
  });
}

/**
 * The events that close questions which an MCP server has asked, and no call. Its connection is gone, or no one will
 * answer. `asker`: only those of this server.
 */
export function closeServerQuestions(
  turn: readonly ConversationEvent[],
  clock: Clock,
  asker?: string,
): readonly InquiryResponse[] {
  const questions = pairInquiries(turn).pairs.filter(({ request, madeVoid }) => {
    const { source, toolCallId, isBound } = request;
    const isAsker = asker === undefined || (source.source === "tool" && source.name === asker);
    return toolCallId === undefined && isBound === true && madeVoid === undefined && isAsker;
  });
  return closeQuestions({ questions }, clock, "interrupted");
}

/** The events of questions that were refused when they were asked: each is recorded together with its end. */
export function refusedQuestions(
  { source, questions, reason }: RefusedQuestions,
  state: TurnState,
  clock: Clock,
): readonly (InquiryRequest | InquiryResponse)[] {
  const timestamp = timestampFromDate(clock.now());
  const requests = questions.map(({ id: questionId, ...question }): InquiryRequest => {
    const id = state.nextInquiryId(source.name, questionId);
    return { type: "inquiry_request", id, timestamp, source, question, questionId };
  });
  const responses = requests.map(({ id }): InquiryResponse => {
    return { type: "inquiry_response", timestamp, id, outcome: "cancelled", reason };
  });
  return [...requests, ...responses];
}

export function turnRunningError(id: string): JpError {
  return new JpError("turn_running", `A turn is already running in conversation ${id}.`, {
    hint: "Wait until it ends, or use another conversation.",
  });
}

function turnWaitingError(id: string): JpError {
  return new JpError("turn_waiting", `The last turn of conversation ${id} waits for a decision.`, {
    hint: "Answer what is pending and resume the turn, or discard it.",
  });
}

export function foreignTurnError({
  id,
  steppedBack,
}: Pick<ConversationWriter, "id" | "steppedBack">): JpError {
  if (steppedBack !== undefined) return steppedBack;
  const message = `The last turn of ${id} was started elsewhere, or its record has changed since.`;
  return new JpError("foreign_turn", message);
}

/** Throws `turn_waiting`: the pending decisions would be lost. A message that replaces the turn says so itself. */
export function assertNothingWaits(
  { id, stream }: Pick<ConversationWriter, "id" | "stream">,
  { replacesTurn = false }: Pick<ChatRequest, "replacesTurn">,
): void {
  if (replacesTurn) return;
  const pending = pendingOf(readTurnProgress(lastTurnOf(endOf(stream))));
  if (pending.length > 0) throw turnWaitingError(id);
}

/** Who started a turn and when, for the record. */
export interface Starter {
  readonly clock: Clock;
  /** Who holds which role. Without it, the record does not say who started the turn. */
  readonly directory?: Directory | undefined;
  /** The name of the person who starts it, according to the program. */
  readonly startedBy?: string | undefined;
}

/** Starts the next turn with the person's message in place of a yes. It asks for data if the message before did. */
export function startNext(
  before: readonly ConversationEvent[],
  { message: content, by }: Redirection,
  { clock, ...starter }: Starter,
): readonly ConversationEvent[] {
  const timestamp = timestampFromDate(clock.now());
  const request = findRequest(before);
  const { schema, isChecked } = request ?? {};
  const { name: author = request?.author } = by;
  return [
    { type: "turn_end", timestamp, reason: "stopped" },
    { type: "turn_start", timestamp },
    {
      type: "chat_request",
      timestamp,
      content,
      ...(schema !== undefined && { schema }),
      ...(author !== undefined && { author }),
      ...starterOf(starter, by),
      ...(isChecked === true && { isChecked }),
    },
  ];
}

/** The person who says what to do next starts the next turn. */
export function starterOf(
  { directory, startedBy }: Omit<Starter, "clock">,
  by?: Redirection["by"],
): { readonly startedBy?: string } {
  const people = directory?.list() ?? [];
  const here = people.length === 0 ? undefined : directory?.findHere()?.name;
  // With a directory, a message in place of a yes comes from someone in it.
  const said = by !== undefined && findPerson(people, by.name) !== undefined ? by.name : undefined;
  const name = said ?? startedBy ?? here;
  return name === undefined ? {} : { startedBy: name };
}
