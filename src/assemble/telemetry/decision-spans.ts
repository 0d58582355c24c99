/**
 * Spans of decisions, read from a turn's events. A span starts with the request and ends with the decision, whose
 * decider it records as a code. A decision left for later ends as `pending`; the process that continues the turn
 * gives it a span from request to decision, however long that took.
 */
import { type Attributes, type Context, SpanKind } from "@opentelemetry/api";
import {
  ACTIONS,
  type AnswerEvent,
  type CallDecisionKind,
  type ConversationEvent,
  type Decider,
  type DecisionKind,
  deciderOf,
  type InquiryRequest,
  type PermissionAction,
  type PermissionDecision,
  type PermissionRequestEvent,
  timestampToMilliseconds,
} from "../../record/conversation/index.ts";
import { continueFrom, type OpenSpan, type Spans } from "./spans.ts";

type Request = InquiryRequest | PermissionRequestEvent;

export interface DecisionParents {
  /** The parent for decisions about this call. */
  readonly of: (toolCallId: string | undefined) => Context;
  /** The parent for decisions requested earlier without a trace. */
  readonly turn: () => Context;
}

/** Reasons that count as errors. All others are normal outcomes. */
const FAILURES: ReadonlySet<string> = new Set(["backend_error", "prompt_failed"]);

/** Answers that may arrive while no process runs the turn. */
const ANSWERS: ReadonlySet<ConversationEvent["type"]> = new Set([
  "inquiry_response",
  "permission_decision",
  "decision_vote",
]);

export class DecisionSpans {
  readonly #spans: Spans;
  readonly #attributes: Attributes;
  readonly #hasContent: boolean;
  readonly #parents: DecisionParents;
  readonly #open = new Map<string, OpenSpan>();
  /** Requests of earlier processes. */
  readonly #earlier = new Map<string, Request>();

  /** `attributes` go on all spans of the turn. */
  constructor(
    spans: Spans,
    parents: DecisionParents,
    { attributes, hasContent }: { readonly attributes: Attributes; readonly hasContent: boolean },
  ) {
    this.#spans = spans;
    this.#parents = parents;
    this.#attributes = attributes;
    this.#hasContent = hasContent;
  }

  /**
   * Takes over a turn from another process, including the decisions made meanwhile, which are at the end of its
   * record.
   */
  resume(turn: readonly ConversationEvent[]): void {
    for (const event of turn) {
      if (event.type === "inquiry_request" || event.type === "permission_request") {
        this.#earlier.set(event.id, event);
      }
    }
    const last = turn.findLastIndex(({ type }) => !ANSWERS.has(type));
    for (const event of turn.slice(last + 1)) this.observe(event);
  }

  /** Undefined if it is not open here. */
  contextOf(id: string): Context | undefined {
    return this.#open.get(id)?.context;
  }

  observe(event: ConversationEvent): void {
    switch (event.type) {
      case "inquiry_request":
      case "permission_request": {
        const parent = this.#parents.of(event.toolCallId);
        this.#open.set(event.id, this.#start(requestAttributes(event, this.#hasContent), parent));
        return;
      }
      case "inquiry_response":
      case "permission_decision":
        return this.#decide(event);
      case "inquiry_escalation":
        this.#open.get(event.id)?.addEvent("jp.decision.escalated", {
          "jp.decision.outcome": event.outcome,
          ...deciderAttributes(deciderOf(event), false),
        });
        return;
      case "decision_vote":
        this.#open
          .get(event.id)
          ?.addEvent("jp.decision.vote", deciderAttributes(event.by, this.#hasContent));
        return;
      case "decision_void":
        this.#open.get(event.id)?.end({ "jp.decision.outcome": "void" });
        this.#open.delete(event.id);
        return;
      default:
        return;
    }
  }

  /** Ends the spans of decisions still pending when the turn ends. */
  endPending(): void {
    for (const span of this.#open.values()) span.end({ "jp.decision.outcome": "pending" });
    this.#open.clear();
  }

  #decide(event: AnswerEvent): void {
    const id = event.id ?? "";
    const earlier = this.#earlier.get(id);
    const open = this.#open.get(id) ?? this.#startDecided(event, earlier);
    this.#open.delete(id);
    this.#earlier.delete(id);
    const reason = reasonOf(event);
    if (reason !== undefined && FAILURES.has(reason)) open.fail(reason);
    const decided = {
      "jp.decision.outcome": event.type === "inquiry_response" ? event.outcome : event.decision,
      "jp.decision.reason": reason,
      ...deciderAttributes(deciderOf(event), this.#hasContent),
      ...(this.#hasContent && answerContent(event)),
    };
    open.end(decided, earlier && timestampToMilliseconds(event.timestamp));
  }

  /** For a decision that was requested earlier, or never because policy made it. */
  #startDecided(event: AnswerEvent, earlier: Request | undefined): OpenSpan {
    if (earlier !== undefined) {
      const { traceparent, timestamp } = earlier;
      const parent = traceparent === undefined ? this.#parents.turn() : continueFrom(traceparent);
      const at = timestampToMilliseconds(timestamp);
      return this.#start(requestAttributes(earlier, this.#hasContent), parent, at);
    }
    const call = event.type === "permission_decision" ? event.toolCallId : undefined;
    const kind = event.type === "permission_decision" ? kindOf(event.action) : "question";
    return this.#start(aboutDecision(kind, event.id, call), this.#parents.of(call));
  }

  #start(attributes: Attributes, parent: Context, at?: number): OpenSpan {
    return this.#spans.start({
      name: `jp.decision ${String(attributes["jp.decision.kind"])}`,
      kind: SpanKind.INTERNAL,
      attributes: { ...this.#attributes, ...attributes },
      parent,
      ...(at !== undefined && { at }),
    });
  }
}

const KINDS = Object.keys(ACTIONS) as readonly CallDecisionKind[]; // Its own keys.

function kindOf(action: PermissionAction): DecisionKind {
  return KINDS.find((kind) => ACTIONS[kind] === action) ?? "permission";
}

function aboutDecision(
  kind: DecisionKind,
  id: string | undefined,
  toolCallId: string | undefined,
): Attributes {
  return {
    "jp.decision.kind": kind,
    "jp.decision.id": id,
    "gen_ai.tool.call.id": toolCallId,
  };
}

function requestAttributes(request: Request, hasContent: boolean): Attributes {
  const isQuestion = request.type === "inquiry_request";
  const kind = isQuestion ? "question" : kindOf(request.action);
  return {
    ...aboutDecision(kind, request.id, request.toolCallId),
    "jp.decision.replaces": request.replaces,
    ...(hasContent && isQuestion && { "jp.decision.question": request.question.text }),
  };
}

/** Recorded codes. Names count as content. */
function deciderAttributes(decider: Decider | undefined, hasContent: boolean): Attributes {
  if (decider === undefined) return {};
  const { kind } = decider;
  if (decider.kind !== "user") return { "jp.decision.decider.kind": kind };
  return {
    "jp.decision.decider.kind": kind,
    "jp.decision.surface": decider.channel,
    ...(hasContent && { "jp.decision.decider.name": decider.name }),
  };
}

function reasonOf(event: AnswerEvent): string | undefined {
  if (event.type === "permission_decision") return event.cause;
  if (event.outcome !== "cancelled") return undefined;
  return typeof event.reason === "string" ? event.reason : "unknown";
}

/** The event does not contain secrets. */
function answerContent(event: AnswerEvent): Attributes {
  if (event.type === "permission_decision") return permissionContent(event);
  if (event.outcome !== "answered") return {};
  const { answer, note } = event;
  return { "jp.decision.answer": JSON.stringify(answer), "jp.decision.note": note };
}

function permissionContent({ arguments: edited, reason }: PermissionDecision): Attributes {
  return {
    "jp.decision.answer": edited === undefined ? undefined : JSON.stringify(edited),
    "jp.decision.note": reason,
  };
}
