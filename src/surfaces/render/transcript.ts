/** A conversation as shown by `jp print`: messages, calls and questions, turn by turn. */
import {
  type ChatResponse,
  type ConversationEvent,
  type DecisionVoid,
  type DecisionVote,
  type InquiryPair,
  type InquiryRequest,
  describeTurns,
  pairInquiries,
  pairToolCalls,
  spokenText,
  timestampToMilliseconds,
  type ToolCallRequest,
  type ToolCallResponse,
  type RecordedTurn,
  withoutSpoken,
} from "../../record/conversation/index.ts";
import { assertNever, neutralize, oneLine } from "../../util/index.ts";
import {
  asRun,
  callEnd,
  renderCallLines,
  renderChangeAnswer,
  renderChangeLines,
  renderInquiryLines,
  renderPermissionLines,
} from "./call-lines.ts";
import { changeTitle, type FileChange, findFileChange } from "./file-change.ts";
import { describeFiles } from "./files.ts";
import { describeEscalation, describeVoidCause, describeVote } from "./inquiry.ts";
import { relativeTime } from "./relative-time.ts";
import { failureNote, renderResultLines } from "./result-lines.ts";
import type { Paint } from "./style.ts";
import { truncate } from "./wrap.ts";
import { describeUndo } from "./undo.ts";

/** Options of a transcript. */
export interface TranscriptOptions {
  readonly paint: Paint;
  readonly now: Date;
  readonly width: number;
  /** Lines to show per tool result. */
  readonly resultLines: number;
  readonly showsReasoning: boolean;
}

interface TranscriptContext extends TranscriptOptions {
  /** The turn's index, starting at 0. Readers see numbers starting at 1. */
  readonly index: number;
  readonly results: ReadonlyMap<ToolCallRequest, ToolCallResponse | undefined>;
  readonly inquiries: ReadonlyMap<InquiryRequest, InquiryPair>;
  /** Maps what happened between a call and its result to the call, and back. */
  readonly callOf: ReadonlyMap<ConversationEvent, ToolCallRequest>;
  readonly within: ReadonlyMap<ToolCallRequest | undefined, readonly ConversationEvent[]>;
}

/** A blank line follows each message; calls and questions stay together. */
interface Block {
  readonly type: "speech" | "action";
  readonly lines: readonly string[];
}

/** One turn's lines, starting with a rule that names it. */
export function renderTurn(turn: RecordedTurn, options: TranscriptOptions): string[] {
  const callOf = findCalls(turn.events);
  const context: TranscriptContext = {
    ...options,
    index: turn.index,
    results: new Map(
      pairToolCalls(turn.events).pairs.map(({ request, response }) => [request, response]),
    ),
    inquiries: new Map(pairInquiries(turn.events).pairs.map((pair) => [pair.request, pair])),
    callOf,
    within: Map.groupBy(callOf.keys(), (event) => callOf.get(event)),
  };
  const blocks = turn.events
    .map((event) => renderEvent(event, context))
    .filter((block) => block.lines.length > 0);
  const body = blocks.flatMap((block, index) => {
    const isClose = block.type === "action" && blocks[index + 1]?.type === "action";
    return isClose ? block.lines : [...block.lines, ""];
  });
  return [turnRule(turn, options), ...body];
}

function renderEvent(event: ConversationEvent, context: TranscriptContext): Block {
  const { paint } = context;
  switch (event.type) {
    case "chat_request": {
      const name = paint("bold", paint("green", oneLine(event.author ?? "you")));
      const note =
        event.replacesTurn === true ? paint("dim", ` (replaces turn ${context.index})`) : "";
      return speech([name + note, ...describeFiles(event), ...lines(event.content)]);
    }
    case "chat_response":
      return speech(renderResponse(event.content, context));
    case "tool_call_request":
      return renderCall(event, context);
    case "inquiry_request":
      return action(context.callOf.has(event) ? [] : renderInquiry(event, context));
    case "permission_decision":
      return action(context.callOf.has(event) ? [] : renderPermissionLines(event, context));
    case "decision_void":
      return action(context.callOf.has(event) ? [] : renderVoid(event, context));
    case "decision_vote":
      return action(context.callOf.has(event) ? [] : renderVote(event, context));
    case "turn_undo":
      return action([paint("dim", oneLine(describeUndo(event)))]);
    case "turn_start":
    case "permission_request":
    case "attempt_start":
    case "tool_step":
    case "reply_failure":
    case "turn_resume":
    case "turn_end":
    case "token_usage":
    case "tool_call_response": // Shown with its call.
    case "inquiry_escalation": // Shown with their question.
    case "inquiry_response":
      return action([]);
    default:
      return assertNever(event);
  }
}

function speech(text: readonly string[]): Block {
  return { type: "speech", lines: text };
}

function action(text: readonly string[]): Block {
  return { type: "action", lines: text };
}

/** Older records do not say which call asked, so the question is shown on its own. */
function findCalls(events: readonly ConversationEvent[]): Map<ConversationEvent, ToolCallRequest> {
  const calls = new Map<string, ToolCallRequest>();
  const askedBy = new Map<string, ToolCallRequest>();
  const callOf = new Map<ConversationEvent, ToolCallRequest>();
  for (const event of events) {
    if (event.type === "tool_call_request") calls.set(event.id, event);
    const call =
      event.type === "decision_void" || event.type === "decision_vote"
        ? askedBy.get(event.id)
        : "toolCallId" in event && calls.get(event.toolCallId ?? "");
    if (!call) continue;
    if (event.type === "inquiry_request" || event.type === "permission_request") {
      askedBy.set(event.id, call);
    }
    callOf.set(event, call);
  }
  return callOf;
}

/** Printed above the joint decision. */
function renderVote(vote: DecisionVote, { paint }: TranscriptContext): string[] {
  return [paint("dim", `  ${oneLine(describeVote(vote))}`)];
}

/** Printed below the void decision, and above the question that replaces it. */
function renderVoid({ changed }: DecisionVoid, { paint }: TranscriptContext): string[] {
  return [paint("dim", `  void: ${describeVoidCause(changed)}`)];
}

function renderResponse(content: ChatResponse["content"], context: TranscriptContext): string[] {
  const { paint, showsReasoning } = context;
  const name = paint("bold", paint("magenta", "assistant"));
  if (content.type === "structured") {
    return [name, ...lines(JSON.stringify(content.data, null, 2))];
  }
  if (content.type === "message") return [name, ...lines(content.text)];
  if (!showsReasoning || content.text.trim() === "") return [];
  return lines(content.text).map((line) => paint("dim", `│ ${line}`.trimEnd()));
}

function renderCall(event: ToolCallRequest, context: TranscriptContext): Block {
  const result = context.results.get(event);
  const text = result === undefined ? undefined : spokenText(result, event.name);
  if (result === undefined || text === undefined) {
    return action(renderToolCall(event, result, context));
  }
  const said = renderResponse({ type: "message", text }, context);
  const rest = withoutSpoken(result);
  return speech(rest === undefined ? said : [...renderToolCall(event, rest, context), "", ...said]);
}

function renderToolCall(
  event: ToolCallRequest,
  result: ToolCallResponse | undefined,
  context: TranscriptContext,
): string[] {
  const inner = context.within.get(event) ?? [];
  const voids = new Set(inner.flatMap((one) => (one.type === "decision_void" ? [one.id] : [])));
  const decisions = inner
    .filter((one) => one.type === "permission_decision")
    .filter(({ id }) => id === undefined || !voids.has(id));
  const ran = asRun({ request: event, decisions });
  const asked = inner.findLast((one) => one.type === "inquiry_request");
  const change = asked && findFileChange(ran, asked);
  const end = callEnd(result, {
    decisions,
    answers: inner.flatMap((one) =>
      one.type === "inquiry_request" ? (context.inquiries.get(one)?.response ?? []) : [],
    ),
    change,
  });
  // The diff belongs to the heading, unless an earlier question was voided.
  const isFirst = change !== undefined && voids.size === 0;
  const shown = change === undefined ? inner : inner.filter((one) => !isUnasked(one));
  const ordered = isFirst ? [asked, ...shown.filter((one) => one !== asked)] : shown;
  const within = ordered.flatMap((one) => {
    switch (one?.type) {
      case "decision_void":
        return renderVoid(one, context);
      case "decision_vote":
        return renderVote(one, context);
      case "permission_decision":
        return renderPermissionLines(one, { ...context, requested: event.arguments });
      case "inquiry_request":
        if (one === asked && change !== undefined) return renderAskedChange(change, one, context);
        return renderInquiry(one, { ...context, width: context.width - 2 }).map(
          (line) => `  ${line}`,
        );
      default:
        return [];
    }
  });
  const title = change?.heading ?? changeTitle(ran);
  const note = result === undefined ? "" : failureNote(result);
  // The heading already tells the result of a change.
  const isKnown = change !== undefined && (end === "done" || end === "not applied");
  const isFolded = Number.isFinite(context.resultLines);
  return [
    ...renderCallLines(ran, end, { ...context, note, title }),
    ...within,
    ...(result === undefined || (isKnown && isFolded) ? [] : renderResultLines(result, context)),
  ];
}

/** The config allowed the call, and only its question matters. */
function isUnasked(event: ConversationEvent): boolean {
  if (event.type !== "permission_decision") return false;
  return event.decision === "approved" && event.decidedBy.kind === "policy";
}

function renderAskedChange(
  change: FileChange,
  asked: InquiryRequest,
  context: TranscriptContext,
): readonly string[] {
  const { response } = context.inquiries.get(asked) ?? {};
  return [
    ...renderChangeLines(change, { ...context, maxLines: context.resultLines }),
    ...(response === undefined ? [] : renderChangeAnswer(response, context)),
    ...renderEscalation(asked, context).map((line) => `  ${line}`),
  ];
}

function renderInquiry(event: InquiryRequest, context: TranscriptContext): readonly string[] {
  const { response } = context.inquiries.get(event) ?? {};
  return [...renderInquiryLines(event, response, context), ...renderEscalation(event, context)];
}

function renderEscalation(event: InquiryRequest, context: TranscriptContext): readonly string[] {
  const { escalation } = context.inquiries.get(event) ?? {};
  if (escalation === undefined) return [];
  const first = `asked first: ${oneLine(describeEscalation(escalation))}`;
  return [context.paint("dim", `  ${truncate(first, context.width - 2)}`)];
}

function turnRule(turn: RecordedTurn, { paint, now, width }: TranscriptOptions): string {
  const first = turn.events[0]?.timestamp;
  const ago =
    first === undefined ? "" : `, ${relativeTime(timestampToMilliseconds(first), now.getTime())}`;
  const { index, lastIndex = index } = turn;
  const which = describeTurns({ fromTurn: index, toTurn: lastIndex });
  const label = `── ${which}${ago} `;
  return paint("dim", truncate(label.padEnd(Math.min(width, 80), "─"), width));
}

function lines(text: string): string[] {
  return neutralize(text.replace(/\n+$/, "")).split("\n");
}
