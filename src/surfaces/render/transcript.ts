/** A conversation as shown by `jp print`: messages, calls and questions, turn by turn. */
import {
  type ChatResponse,
  type ConversationEvent,
  type DecisionVoid,
  type DecisionVote,
  type InquiryPair,
  type InquiryRequest,
  describeTurns,
  isInquiry,
  pairDecisions,
  type RecordedCall,
  spokenText,
  timestampToMilliseconds,
  toBlocks,
  type RecordedTurn,
  withoutSpoken,
  isSteering,
} from "../../record/conversation/index.ts";
import { assertNever, neutralize, oneLine } from "../../util/index.ts";
import {
  callEnd,
  readCall,
  renderCallLines,
  renderChangeAnswer,
  renderChangeLines,
  renderInquiryLines,
  renderPermissionLines,
} from "./call-lines.ts";
import { changeTitle, type FileChange } from "./file-change.ts";
import { describeFiles } from "./files.ts";
import { describeEscalation, describeVoidCause, describeVote } from "./inquiry.ts";
import { relativeTime } from "./relative-time.ts";
import { briefResult } from "./result-brief.ts";
import { failureNote, renderResultLines } from "./result-lines.ts";
import type { Paint } from "./style.ts";
import { truncate } from "./wrap.ts";
import { describeReplyFile, describeSources } from "./sources.ts";
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
  readonly inquiries: ReadonlyMap<InquiryRequest, InquiryPair>;
}

/** A blank line follows each message; calls and questions stay together. */
interface Part {
  readonly type: "speech" | "action";
  readonly lines: readonly string[];
}

/** One turn's lines, starting with a rule that names it. */
export function renderTurn(turn: RecordedTurn, options: TranscriptOptions): string[] {
  const { events, index } = turn;
  const pairs = pairDecisions(events).filter(isInquiry);
  const inquiries = new Map(pairs.map((pair) => [pair.request, pair]));
  const context: TranscriptContext = { ...options, index, inquiries };
  const parts = toBlocks(events)
    .map((block) =>
      block.type === "call" ? renderCall(block.call, context) : renderEvent(block.event, context),
    )
    .filter((part) => part.lines.length > 0);
  const body = parts.flatMap((part, at) => {
    const isClose = part.type === "action" && parts[at + 1]?.type === "action";
    return isClose ? part.lines : [...part.lines, ""];
  });
  return [turnRule(turn, options), ...body];
}

/** Older records do not say which call asked, so the question is shown on its own. */
function renderEvent(event: ConversationEvent, context: TranscriptContext): Part {
  const { paint } = context;
  switch (event.type) {
    case "chat_request": {
      const name = paint("bold", paint("green", oneLine(event.author ?? "you")));
      const replaced = event.replacesTurn === true ? ` (replaces turn ${context.index})` : "";
      const note = isSteering(event) ? " (while the turn was running)" : replaced;
      return speech([
        name + (note === "" ? "" : paint("dim", note)),
        ...describeFiles(event),
        ...lines(event.content),
      ]);
    }
    case "chat_response":
      return speech(renderResponse(event.content, context));
    case "inquiry_request":
      return action(renderInquiry(event, context));
    case "permission_decision":
      return action(renderPermissionLines(event, context));
    case "decision_void":
      return action(renderVoid(event, context));
    case "decision_vote":
      return action(renderVote(event, context));
    case "turn_undo":
      return action([paint("dim", oneLine(describeUndo(event)))]);
    case "reply_sources":
      return action(describeSources(event).map((line) => paint("dim", line)));
    case "reply_file":
      return action([paint("dim", describeReplyFile(event))]);
    case "turn_start":
    case "permission_request":
    case "attempt_start":
    case "tool_step":
    case "reply_failure":
    case "turn_resume":
    case "turn_end":
    case "token_usage":
    case "tool_call_request": // Shown as a call.
    case "tool_call_response":
    case "inquiry_escalation": // Shown with their question.
    case "inquiry_response":
      return action([]);
    default:
      return assertNever(event);
  }
}

function speech(text: readonly string[]): Part {
  return { type: "speech", lines: text };
}

function action(text: readonly string[]): Part {
  return { type: "action", lines: text };
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

function renderCall(call: RecordedCall, context: TranscriptContext): Part {
  const { request, response } = call;
  const text = response && spokenText(response, request.name);
  if (response === undefined || text === undefined) return action(renderToolCall(call, context));
  const said = renderResponse({ type: "message", text }, context);
  const rest = withoutSpoken(response);
  if (rest === undefined) return speech(said);
  return speech([...renderToolCall({ ...call, response: rest }, context), "", ...said]);
}

function renderToolCall(call: RecordedCall, context: TranscriptContext): string[] {
  const { request, response, events } = call;
  const { ran, asked, change, ...read } = readCall(call);
  const end = callEnd(response, { ...read, change });
  // The diff belongs to the heading, unless an earlier question was voided.
  const isFirst = change !== undefined && !events.some(({ type }) => type === "decision_void");
  const shown = change === undefined ? events : events.filter((one) => !isUnasked(one));
  const ordered = isFirst ? [asked, ...shown.filter((one) => one !== asked)] : shown;
  const within = ordered.flatMap((one) => {
    switch (one?.type) {
      case "decision_void":
        return renderVoid(one, context);
      case "decision_vote":
        return renderVote(one, context);
      case "permission_decision":
        return renderPermissionLines(one, { ...context, requested: request.arguments });
      case "inquiry_request":
        if (one === asked && change !== undefined) return renderAskedChange(change, one, context);
        return renderInquiry(one, { ...context, width: context.width - 2 }).map(
          (line) => `  ${line}`,
        );
      default:
        return [];
    }
  });
  const isFolded = Number.isFinite(context.resultLines);
  const brief = response === undefined || !isFolded ? {} : briefResult(ran, response);
  const title = change?.heading ?? changeTitle(ran) ?? brief.title;
  const note = response === undefined ? "" : (brief.note ?? failureNote(response));
  // The heading already tells the result of a change.
  const isKnown = change !== undefined && (end === "done" || end === "not applied");
  return [
    ...renderCallLines(ran, end, { ...context, note, title }),
    ...within,
    ...(response === undefined || (isKnown && isFolded)
      ? []
      : renderResultLines(response, {
          ...context,
          resultLines: Math.min(context.resultLines, brief.most ?? context.resultLines),
          isEndFirst: brief.isEndFirst,
        })),
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
