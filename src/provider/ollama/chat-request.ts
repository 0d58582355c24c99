/** A call of the AI SDK as a chat request of Ollama. */
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4ToolResultOutput,
} from "@ai-sdk/provider";
import type { ChatRequest, Message, Options, Tool } from "ollama";
import { assertNever, isJsonObject } from "../../util/index.ts";
import { metadataOf } from "../sdk-json.ts";

export function toChatRequest(
  model: string,
  call: LanguageModelV4CallOptions,
): ChatRequest & { stream: true } {
  const { think } = metadataOf("ollama", call.providerOptions);
  const tools = toTools(call);
  return {
    model,
    stream: true,
    messages: call.prompt.flatMap(toMessages),
    options: toOptions(call),
    ...(tools.length > 0 && { tools }),
    ...(call.responseFormat?.type === "json" && { format: call.responseFormat.schema ?? "json" }),
    ...(think !== undefined && { think: think as NonNullable<ChatRequest["think"]> }),
  };
}

function toOptions(call: LanguageModelV4CallOptions): Partial<Options> {
  const { maxOutputTokens, temperature, topP, topK, stopSequences } = call;
  return {
    ...(maxOutputTokens !== undefined && { num_predict: maxOutputTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    ...(topK !== undefined && { top_k: topK }),
    ...(stopSequences !== undefined && { stop: stopSequences }),
  };
}

/**
 * Ollama has no choice of tools: it can only be told of none. Beside a format that is not needed, as a
 * call does not fit it, and the prompt begins as it does in requests that allow calls.
 */
function toTools({ tools = [], toolChoice, responseFormat }: LanguageModelV4CallOptions): Tool[] {
  if (toolChoice?.type === "none" && responseFormat?.type !== "json") return [];
  return tools.flatMap((tool) => {
    if (tool.type !== "function") return [];
    const { name, description = "", inputSchema } = tool;
    // The client's type knows fewer keywords than JSON Schema has; the server takes them.
    const parameters = inputSchema as NonNullable<Tool["function"]["parameters"]>;
    return [{ type: "function", function: { name, description, parameters } }];
  });
}

function toMessages(message: LanguageModelV4Message): Message[] {
  switch (message.role) {
    case "system":
      return [{ role: "system", content: message.content }];
    case "user":
      return [{ role: "user", content: textOf(message.content) }];
    case "assistant":
      return [toAssistantMessage(message.content)];
    case "tool":
      return message.content.flatMap((part) => {
        if (part.type !== "tool-result") return [];
        return [{ role: "tool", content: resultText(part.output), tool_name: part.toolName }];
      });
    default:
      return assertNever(message);
  }
}

function toAssistantMessage(
  content: Extract<LanguageModelV4Message, { role: "assistant" }>["content"],
): Message {
  const thinking = content.flatMap((part) => (part.type === "reasoning" ? [part.text] : []));
  const calls = content.flatMap((part) => {
    if (part.type !== "tool-call") return [];
    const { toolName: name, input } = part;
    return [{ function: { name, arguments: isJsonObject(input) ? input : {} } }];
  });
  return {
    role: "assistant",
    content: textOf(content),
    ...(thinking.length > 0 && { thinking: thinking.join("\n\n") }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

function textOf(content: readonly { readonly type: string; readonly text?: unknown }[]): string {
  const texts = content.flatMap(({ type, text }) => (type === "text" ? [text] : []));
  return texts.join("\n\n");
}

function resultText(output: LanguageModelV4ToolResultOutput): string {
  return output.type === "text" || output.type === "error-text"
    ? output.value
    : JSON.stringify(output);
}
