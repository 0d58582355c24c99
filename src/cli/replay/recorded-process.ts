/** Splits a recorded turn by the processes that ran it. */
import { isDeepStrictEqual } from "node:util";
import { closeTurn } from "../../core/agent/index.ts";
import {
  type AnswerEvent,
  type ConversationEvent,
  deciderOf,
  isAnswer,
  isDecisionRequest,
  isPassedOn,
  readTurnProgress,
} from "../../record/conversation/index.ts";
import { systemClock } from "../../util/index.ts";
import { comparableEvent } from "./comparable-event.ts";

/**
 * One process's part of a turn: from the start of the turn, or from where it was resumed, to where that process
 * ended.
 */
export interface RecordedProcess {
  /** Everything that was recorded while it ran. */
  readonly events: readonly ConversationEvent[];
  /** Answers that people gave after that, while no process ran. */
  readonly answers: readonly AnswerEvent[];
  /** Whether it completed the turn. Otherwise it ended after its last event, for whatever reason. */
  readonly isComplete: boolean;
}

/** Resuming a turn is recorded first, which marks where a process begins. */
export function processesOf(turn: readonly ConversationEvent[]): readonly RecordedProcess[] {
  const resumed = turn.flatMap(({ type }, index) => (type === "turn_resume" ? [index] : []));
  return [0, ...resumed].map((start, index) => {
    const end = resumed[index] ?? turn.length;
    // A process that got an answer itself and then ended has left the same record.
    const last = turn.findLastIndex((event, at) => at < end && !isByPerson(event));
    return {
      events: turn.slice(start, last + 1),
      answers: turn.slice(last + 1, end).filter(isAnswer),
      isComplete: readTurnProgress(turn.slice(0, end)).next === "done",
    };
  });
}

/** The people a question is for. */
export interface NamedPeople {
  /** People whose question ended in a way that shows they could be asked. */
  readonly reached: readonly string[];
  /** The record does not show whether the process could ask them. */
  readonly others: readonly string[];
}

export function namedPeople(
  turn: readonly ConversationEvent[],
  { events }: RecordedProcess,
): NamedPeople {
  const asked = new Map<string, string>(
    turn.flatMap((event) =>
      isDecisionRequest(event) && event.for !== undefined ? [[event.id, event.for]] : [],
    ),
  );
  const requests = new Set<string>(events.filter(isDecisionRequest).map(({ id }) => id));
  const reached = new Set(
    events.flatMap((event) => {
      // It was open until it was passed on.
      const isOpen = event.type === "decision_void" && requests.has(event.id);
      if (isOpen && isPassedOn(event.changed)) return asked.get(event.id) ?? [];
      if (event.type === "permission_decision")
        return isByPerson(event) ? (asked.get(event.id ?? "") ?? []) : [];
      if (event.type !== "inquiry_response") return [];
      const isRefused = event.outcome === "cancelled" && event.reason === "no_prompt_backend";
      return isRefused ? [] : (asked.get(event.id) ?? []);
    }),
  );
  const others = [...new Set(asked.values())].filter((name) => !reached.has(name));
  return { reached: [...reached], others };
}

/** Older versions did not record who answered, and newer ones may record more. */
export function isByPerson(event: ConversationEvent): event is AnswerEvent {
  if (!isAnswer(event)) return false;
  if (event.type === "inquiry_response" && event.outcome === "cancelled") {
    return event.reason === "user";
  }
  const { kind } = deciderOf(event) ?? {};
  return kind === undefined || kind === "user" || kind === "unknown";
}

/** Leaves out the closing of an abandoned turn, which follows from its record alone. */
export function withoutClosing(turn: readonly ConversationEvent[]): readonly ConversationEvent[] {
  const end = turn.at(-1);
  if (end?.type !== "turn_end" || end.reason !== "discarded") return turn;
  const position = turn.findIndex((_, at) =>
    (["user", "interrupted"] as const).some((by) =>
      isSame(turn.slice(at), closeTurn(turn.slice(0, at), systemClock, by)),
    ),
  );
  return position === -1 ? turn : turn.slice(0, position);
}

function isSame(left: readonly ConversationEvent[], right: readonly ConversationEvent[]): boolean {
  if (left.length !== right.length) return false;
  const options = { comparesWords: true, toRecordedId: (id: string) => id };
  const [first, second] = [left, right].map((events) =>
    events.map((event) => comparableEvent(event, options)),
  );
  return isDeepStrictEqual(first, second);
}
