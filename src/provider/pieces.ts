/**
 * The events of a thread as pieces of messages, in the order that every API wants: what the assistant
 * said and called, then the results of just these calls, in the order of the calls.
 */
import type {
  LanguageModelV4ReasoningPart,
  LanguageModelV4TextPart,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResultPart,
} from "@ai-sdk/provider";
import type {
  ChatResponse,
  ProviderEvent,
  ToolCallRequest,
  ToolCallResponse,
} from "../conversation/index.ts";
import { assertNever } from "../util/index.ts";
import type { Dialect } from "./dialect.ts";

export type Piece = (
  | { readonly role: "user"; readonly part: LanguageModelV4TextPart }
  | { readonly role: "assistant"; readonly part: AssistantPart }
  | { readonly role: "tool"; readonly part: LanguageModelV4ToolResultPart }
) & { readonly event: ProviderEvent };

type AssistantPart =
  | LanguageModelV4TextPart
  | LanguageModelV4ReasoningPart
  | LanguageModelV4ToolCallPart;

export function toPieces(all: readonly ProviderEvent[], dialect: Dialect): readonly Piece[] {
  const events = dialect.withOwnReasoning(all);
  const responses = pairResponses(events);
  const ids = new ToolCallIds();
  const pieces: Piece[] = [];
  let said: Piece[] = [];
  let results: Piece[] = [];
  let isAnswered = false;

  /** A reply of which only reasoning is left says nothing, and no provider takes it. */
  const finishReply = () => {
    if (said.some(({ part }) => part.type !== "reasoning")) pieces.push(...said, ...results);
    [said, results, isAnswered] = [[], [], false];
  };

  for (const event of events) {
    switch (event.type) {
      case "chat_request":
        finishReply();
        pieces.push({ role: "user", event, part: { type: "text", text: event.content } });
        break;
      case "chat_response": {
        if (isAnswered) finishReply();
        const part = toSaid(event);
        if (isWorthSending(part, event, dialect)) said.push({ role: "assistant", event, part });
        break;
      }
      case "tool_call_request": {
        if (isAnswered) finishReply();
        const toolCallId = ids.next(event.id);
        const { name: toolName, arguments: input } = event;
        const part = { type: "tool-call" as const, toolCallId, toolName, input };
        said.push({ role: "assistant", event, part });
        const response = responses.get(event);
        if (response !== undefined) results.push(toResult(response, toolCallId, toolName));
        break;
      }
      case "tool_call_response":
        // It stands with its call. What comes now is another reply.
        isAnswered = true;
        break;
      default:
        assertNever(event);
    }
  }
  finishReply();
  return pieces;
}

/** By id, and where ids collide by order. */
function pairResponses(
  events: readonly ProviderEvent[],
): ReadonlyMap<ToolCallRequest, ToolCallResponse> {
  const open = new Map<string, ToolCallRequest[]>();
  const pairs = new Map<ToolCallRequest, ToolCallResponse>();
  for (const event of events) {
    if (event.type === "tool_call_request") {
      open.set(event.id, [...(open.get(event.id) ?? []), event]);
    }
    if (event.type === "tool_call_response") {
      const request = open.get(event.id)?.shift();
      if (request !== undefined) pairs.set(request, event);
    }
  }
  return pairs;
}

function toSaid({ content }: ChatResponse): LanguageModelV4TextPart | LanguageModelV4ReasoningPart {
  switch (content.type) {
    case "message":
      return { type: "text", text: content.text };
    case "reasoning":
      return { type: "reasoning", text: content.text };
    case "structured": {
      // A string is what the model wrote where it did not write JSON.
      const { data } = content;
      return { type: "text", text: typeof data === "string" ? data : JSON.stringify(data) };
    }
    default:
      return assertNever(content);
  }
}

/** Blank text is refused, unless it carries a signature. */
function isWorthSending(
  part: LanguageModelV4TextPart | LanguageModelV4ReasoningPart,
  event: ProviderEvent,
  dialect: Dialect,
): boolean {
  return part.text.trim() !== "" || Object.keys(dialect.toPartOptions(event)).length > 0;
}

function toResult(event: ToolCallResponse, toolCallId: string, toolName: string): Piece {
  const { content: value, isError } = event;
  const output = { type: isError ? ("error-text" as const) : ("text" as const), value };
  return { role: "tool", event, part: { type: "tool-result", toolCallId, toolName, output } };
}

/** What all of them take. */
const ACCEPTED = /^[A-Za-z0-9_-]{1,64}$/;

class ToolCallIds {
  readonly #taken = new Set<string>();

  /** The id itself where it will do. The same calls in the same order always get the same ids. */
  next(id: string): string {
    let unique = ACCEPTED.test(id) ? id : `call_${this.#taken.size}`;
    for (let copy = 1; this.#taken.has(unique); copy += 1) {
      unique = `call_${this.#taken.size}_${copy}`;
    }
    this.#taken.add(unique);
    return unique;
  }
}
