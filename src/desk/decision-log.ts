/** Collects every decision of a conversation with what has become of it, in one pass over the record. */
import {
  ACTIONS,
  type AnswerEvent,
  type ConversationEvent,
  type DecisionKind,
  type DecisionVoid,
  type EventType,
  type InquiryEscalation,
  type InquiryId,
  type InquiryRequest,
  type PermissionAction,
  type PermissionDecision,
  permissionId,
  type PermissionRequestEvent,
  type StreamEntry,
  TurnCounter,
} from "../conversation/index.ts";
import { describeSource } from "../render/index.ts";
import type { JsonObject } from "../util/index.ts";

/** A decision that is on record. */
export interface LoggedDecision {
  readonly kind: DecisionKind;
  /** Counted from 0. */
  readonly turn: number;
  readonly id: InquiryId;
  readonly tool: string;
  readonly toolCallId: string | undefined;
  /** The arguments that the call was to run with, as far as the record of its decisions says. */
  readonly arguments: JsonObject | undefined;
  /** Absent if no one was asked: config, say, has decided. */
  readonly request: InquiryRequest | PermissionRequestEvent | undefined;
  readonly escalation: InquiryEscalation | undefined;
  /** Absent if it was never decided. */
  readonly answer: AnswerEvent | undefined;
  /** Set if it does not count. */
  readonly madeVoid: DecisionVoid | undefined;
  /** Why it was asked again. */
  readonly changed: readonly string[] | undefined;
}

const KINDS: ReadonlyMap<PermissionAction, DecisionKind> = new Map(
  (["permission", "delivery", "in_doubt"] as const).map((kind) => [ACTIONS[kind], kind]),
);

const DECISION_TYPES = new Set<EventType>([
  "inquiry_request",
  "inquiry_escalation",
  "inquiry_response",
  "permission_request",
  "permission_decision",
  "decision_void",
]);

/** Reads entries in pieces. Events that cannot be read are left out. */
export class DecisionLog {
  readonly #counter = new TurnCounter();
  #turn = new TurnDecisions(0);

  /** Returns the decisions of the turns that these entries complete. */
  read(entries: Iterable<StreamEntry>): readonly LoggedDecision[] {
    const completed: LoggedDecision[] = [];
    for (const entry of entries) {
      const { eventType } = entry;
      if (eventType === undefined) continue;
      const index = this.#counter.next(eventType);
      if (index !== this.#turn.index) {
        completed.push(...this.#turn.decisions);
        this.#turn = new TurnDecisions(index);
      }
      // Only these are decoded: the rest of a record may be large.
      if (DECISION_TYPES.has(eventType) && entry.event !== undefined) this.#turn.read(entry.event);
    }
    return completed;
  }

  /** Returns those of the last turn. Call it at the end of the record. */
  end(): readonly LoggedDecision[] {
    return this.#turn.decisions;
  }
}

type OpenDecision = { -readonly [Key in keyof LoggedDecision]: LoggedDecision[Key] };

class TurnDecisions {
  readonly index: number;
  readonly decisions: OpenDecision[] = [];
  /** What the decisions about each call say of it. */
  readonly #calls = new Map<string, { readonly tool: string; readonly arguments?: JsonObject }>();

  constructor(index: number) {
    this.index = index;
  }

  read(event: ConversationEvent): void {
    switch (event.type) {
      case "inquiry_request": {
        const { id, source, toolCallId } = event;
        const { tool = describeSource(source) } = this.#calls.get(toolCallId ?? "") ?? {};
        this.#open("question", { id, tool, toolCallId, request: event });
        break;
      }
      case "permission_request": {
        const { id, action, tool, toolCallId } = event;
        this.#describe(event);
        this.#open(KINDS.get(action) ?? "permission", { id, tool, toolCallId, request: event });
        break;
      }
      case "inquiry_escalation":
        this.#update(event.id, { escalation: event });
        break;
      case "decision_void":
        this.#update(event.id, { madeVoid: event });
        break;
      case "inquiry_response": {
        // Where several share an id, the oldest is closed first.
        const asked = this.decisions.find(({ id, answer }) => id === event.id && !answer);
        if (asked !== undefined) asked.answer = event;
        break;
      }
      case "permission_decision":
        this.#decide(event);
        break;
      default: // Is none of `DECISION_TYPES`.
    }
  }

  #describe({ toolCallId, tool, arguments: args }: PermissionRequestEvent | PermissionDecision) {
    const known = this.#calls.get(toolCallId);
    this.#calls.set(toolCallId, { ...known, tool, ...(args !== undefined && { arguments: args }) });
  }

  #open(
    kind: DecisionKind,
    opened: Pick<LoggedDecision, "id" | "tool" | "toolCallId"> & Partial<LoggedDecision>,
  ): void {
    const { replaces } = opened.request ?? {};
    const voided = this.decisions.findLast(({ id }) => id === replaces);
    this.decisions.push({
      kind,
      turn: this.index,
      arguments: this.#calls.get(opened.toolCallId ?? "")?.arguments,
      request: undefined,
      escalation: undefined,
      answer: undefined,
      madeVoid: undefined,
      changed: voided?.madeVoid?.changed,
      ...opened,
    });
  }

  #update(wanted: InquiryId, change: Partial<LoggedDecision>): void {
    const found = this.decisions.findLast(({ id }) => id === wanted);
    if (found !== undefined) Object.assign(found, change);
  }

  #decide(event: PermissionDecision): void {
    const { tool, toolCallId, action } = event;
    const kind = KINDS.get(action) ?? "permission";
    const asked = this.decisions.find(
      (open) =>
        open.kind === kind &&
        open.toolCallId === toolCallId &&
        !open.answer &&
        !open.madeVoid &&
        // Older versions recorded no id.
        (event.id === undefined || open.id === event.id),
    );
    this.#describe(event);
    if (asked !== undefined) asked.answer = event;
    // A doubt may be decided before anyone was asked about it.
    else {
      const id = event.id ?? permissionId(toolCallId, action, 0);
      this.#open(kind, { id, tool, toolCallId, answer: event });
    }
  }
}
