/** A conversation exported as a Markdown document, oldest event first. */
import {
  type ChatResponse,
  type ConversationEvent,
  describeDecider,
  type InquiryRequest,
  pairToolCalls,
  type PermissionDecision,
  type RecordedTurn,
  spokenText,
  type ToolStep,
  isSteering,
} from "../../record/conversation/index.ts";
import { codeFence } from "../../record/tool/index.ts";
import { assertNever, neutralize, oneLine } from "../../util/index.ts";
import { describeFiles } from "./files.ts";
import {
  decisionWord,
  describeOutcome,
  describeSource,
  describeVoid,
  describeVote,
} from "./inquiry.ts";
import { describeReplyFile, describeSources } from "./sources.ts";
import { describeUndo } from "./undo.ts";

/** A conversation to render as Markdown. */
export interface MarkdownDocument {
  readonly title?: string;
  readonly turns: readonly RecordedTurn[];
}

/** Ends with a newline. */
export function renderMarkdown({ title, turns }: MarkdownDocument): string {
  const heading = title === undefined ? [] : [`# ${oneLine(title)}`];
  const sections = turns.flatMap(({ events }) => {
    const names = new Map(
      pairToolCalls(events).pairs.map(({ request, response }) => [response, request.name]),
    );
    return events.flatMap((event) => renderEvent(event, names));
  });
  return `${[...heading, ...sections].join("\n\n")}\n`;
}

/** Keyed by the call's result. */
type ToolNames = ReadonlyMap<ConversationEvent | undefined, string>;

function renderEvent(event: ConversationEvent, names: ToolNames): string[] {
  const time = oneLine(event.timestamp);
  switch (event.type) {
    case "turn_start":
      return [];
    case "chat_request":
      return [
        `## ${oneLine(event.author ?? "You")} on ${time}`,
        ...(event.replacesTurn === true ? ["_Replaces the turn before._"] : []),
        ...(isSteering(event) ? ["_Sent while the turn was running._"] : []),
        ...describeFiles(event),
        neutralize(event.content.trim()),
      ];
    case "chat_response":
      return renderResponse(event.content, time);
    case "tool_call_request": {
      const { id, name, arguments: parameters } = event;
      const call = JSON.stringify({ id, name, arguments: parameters }, null, 2);
      return [`## Tool Call Request on ${time}`, fence(call, "json")];
    }
    case "tool_call_response":
      return [
        ...renderSpoken(spokenText(event, names.get(event)), time),
        `## Tool Call ${event.isError ? "**Error**" : "Result"} on ${time}`,
        fence(event.content),
      ];
    case "inquiry_request":
      return renderQuestion(event, time);
    case "inquiry_escalation":
      return [`## Inquiry Escalation on ${time}`, oneLine(describeOutcome(event))];
    case "inquiry_response":
      return [`## Inquiry Response on ${time}`, oneLine(describeOutcome(event))];
    case "decision_void":
      return [`## Decision Void on ${time}`, oneLine(describeVoid(event))];
    case "decision_vote":
      return [`## Vote on ${time}`, oneLine(describeVote(event))];
    case "turn_undo":
      return [`## Undo on ${time}`, oneLine(describeUndo(event))];
    case "reply_sources":
      return [`## Sources on ${time}`, describeSources(event).slice(1).join("\n")];
    case "reply_file":
      return [`## File on ${time}`, describeReplyFile(event)];
    case "tool_step":
      return [`## Tool Step on ${time}`, fence(stepText(event), "json")];
    case "permission_request":
    case "attempt_start":
    case "reply_failure":
    case "turn_resume":
    case "turn_end":
    case "token_usage":
      return [];
    case "permission_decision":
      return [`## Permission on ${time}`, describePermission(event), ...editedCall(event)];
    default:
      return assertNever(event);
  }
}

function renderQuestion({ source, question }: InquiryRequest, time: string): string[] {
  return [
    `## Inquiry Request (${oneLine(describeSource(source))}) on ${time}`,
    ...(question.context === undefined ? [] : [fence(question.context)]),
    neutralize(question.text.trim()),
  ];
}

function renderSpoken(text: string | undefined, time: string): string[] {
  return text === undefined ? [] : renderResponse({ type: "message", text }, time);
}

function renderResponse(content: ChatResponse["content"], time: string): string[] {
  switch (content.type) {
    case "message":
      return [`## Assistant on ${time}`, neutralize(content.text.trim())];
    case "reasoning":
      // An empty one only carries the provider's signature.
      if (content.text.trim() === "") return [];
      return [`## Assistant (reasoning) on ${time}`, neutralize(content.text.trim())];
    case "structured":
      return [
        `## Assistant (structured) on ${time}`,
        fence(JSON.stringify(content.data, null, 2), "json"),
      ];
    default:
      return assertNever(content);
  }
}

function describePermission({ tool, decision, decidedBy, reason }: PermissionDecision): string {
  const because = reason === undefined ? "" : `: ${reason}`;
  const word = decisionWord({ decision, decidedBy });
  return oneLine(`${tool} ${word} by ${describeDecider(decidedBy)}${because}`);
}

function stepText({ name, result, failure }: ToolStep): string {
  return JSON.stringify({ name, result, failure }, null, 2);
}

/** The arguments that the call ran with, if the user edited them. */
function editedCall({ arguments: ran }: PermissionDecision): readonly string[] {
  if (ran === undefined) return [];
  return ["It ran with these arguments:", fence(JSON.stringify(ran, null, 2), "json")];
}

function fence(text: string, language = ""): string {
  const ticks = codeFence(text);
  return `${ticks}${language}\n${neutralize(text.replace(/\n$/, ""))}\n${ticks}`;
}
