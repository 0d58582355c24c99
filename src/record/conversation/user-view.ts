/** The part of a conversation that is addressed to the user, by the events alone. How much of it is shown is up to whoever shows it. */
import { audienceOf, type ContentBlock, isFor, textForUser } from "../tool/index.ts";
import type { ConversationEvent, ToolCallResponse } from "./event.ts";

/**
 * The events that have something for the user: messages of both sides without reasoning, and results of calls
 * reduced to the blocks for the user. A projection to show, not a conversation to continue: calls are missing.
 */
export function userView(events: Iterable<ConversationEvent>): readonly ConversationEvent[] {
  return [...events].flatMap((event): readonly ConversationEvent[] => {
    switch (event.type) {
      case "turn_start":
      case "chat_request":
        return [event];
      case "chat_response":
        return event.content.type === "reasoning" ? [] : [event];
      case "tool_call_response":
        return reduceToUser(event);
      default:
        return [];
    }
  });
}

/** A result without blocks is for both. */
function reduceToUser(event: ToolCallResponse): readonly ToolCallResponse[] {
  if (event.blocks === undefined) return [event];
  const blocks = event.blocks.filter((block) => isFor("user", block));
  return blocks.length === 0 ? [] : [{ ...event, content: textForUser(blocks), blocks }];
}

/** The tool through which the assistant speaks. */
const SPEAKING_TOOL = "tell_user";

/**
 * The words of the assistant to the user with a call of `tell_user`: Markdown that is addressed to the user alone.
 * Undefined if there is none, and for every other `tool`: its result is not the assistant's words, whatever it says.
 */
export function spokenText(
  { blocks = [] }: ToolCallResponse,
  tool: string | undefined,
): string | undefined {
  const spoken = tool === SPEAKING_TOOL ? blocks.filter(isSpoken) : [];
  return spoken.length === 0 ? undefined : textForUser(spoken);
}

/** The rest of the result of `tell_user`. Undefined if it has nothing else for the user. */
export function withoutSpoken(response: ToolCallResponse): ToolCallResponse | undefined {
  const { blocks } = response;
  if (blocks === undefined || !blocks.some(isSpoken)) return response;
  const others = blocks.filter((block) => !isSpoken(block));
  return others.some((block) => isFor("user", block)) ? { ...response, blocks: others } : undefined;
}

function isSpoken(block: ContentBlock): boolean {
  if (block.type !== "text" || block.mimeType !== "text/markdown") return false;
  return isForUserAlone(block);
}

/** Whether the block says that it is for the user, and not for the model. */
export function isForUserAlone(block: ContentBlock): boolean {
  const audience = audienceOf(block);
  return audience !== undefined && isFor("user", block) && !isFor("assistant", block);
}
