/**
 * A model of the AI SDK over Ollama's client. The client has no signal for a single request and no
 * word of a refused one but its text, so both are seen to in the fetch that it is given.
 */
import { randomUUID } from "node:crypto";
import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { ChatResponse, Ollama } from "ollama";
import type { StreamingModel } from "../definition.ts";
import type { Fetch } from "../extra-body.ts";
import { accepted } from "../failure/index.ts";
import { toChatRequest } from "./chat-request.ts";
import { wholeLines } from "./whole-lines.ts";

export function ollamaModel(
  name: string,
  open: (fetch: Fetch) => Ollama,
  fetch: Fetch,
): StreamingModel {
  return {
    provider: "ollama",
    modelId: name,
    async doStream(call) {
      const signal = call.abortSignal ?? null;
      const client = open(async (input, init) => {
        const response = await accepted(await fetch(input, { ...init, signal }));
        return new Response(response.body?.pipeThrough(wholeLines()) ?? null, response);
      });
      const replies = await client.chat(toChatRequest(name, call));
      return { stream: toStream(toParts(replies)) };
    },
  };
}

function toStream<Value>(values: AsyncGenerator<Value>): ReadableStream<Value> {
  return new ReadableStream({
    async pull(controller) {
      const next = await values.next();
      if (next.done === true) controller.close();
      else controller.enqueue(next.value);
    },
    async cancel() {
      await values.return(undefined);
    },
  });
}

type Kind = "text" | "reasoning";

async function* toParts(
  replies: AsyncIterable<ChatResponse>,
): AsyncGenerator<LanguageModelV4StreamPart> {
  let kind: Kind | undefined;
  let hasToolCalls = false;
  for await (const { message, ...reply } of replies) {
    const pieces = { reasoning: message.thinking ?? "", text: message.content };
    for (const next of ["reasoning", "text"] as const) {
      if (pieces[next] === "") continue;
      if (kind !== next) {
        if (kind !== undefined) yield { type: `${kind}-end`, id: kind };
        yield { type: `${next}-start`, id: next };
        kind = next;
      }
      yield { type: `${next}-delta`, id: next, delta: pieces[next] };
    }
    for (const call of message.tool_calls ?? []) {
      hasToolCalls = true;
      yield toToolCall(call);
    }
    if (!reply.done) continue;
    if (kind !== undefined) yield { type: `${kind}-end`, id: kind };
    yield toFinish(reply, hasToolCalls);
  }
}

function toToolCall(
  call: NonNullable<ChatResponse["message"]["tool_calls"]>[number] & { readonly id?: unknown },
): LanguageModelV4StreamPart {
  // Newer servers give an id, of which the client's types know nothing.
  const toolCallId =
    typeof call.id === "string" && call.id !== "" ? call.id : `call_${randomUUID()}`;
  const { name: toolName, arguments: input } = call.function;
  return { type: "tool-call", toolCallId, toolName, input: JSON.stringify(input) };
}

function toFinish(
  reply: Omit<ChatResponse, "message">,
  hasToolCalls: boolean,
): LanguageModelV4StreamPart {
  const { done_reason: raw, prompt_eval_count: input, eval_count: output } = reply;
  const unified = hasToolCalls ? "tool-calls" : raw === "length" ? "length" : "stop";
  const unknown = { noCache: undefined, cacheRead: undefined, cacheWrite: undefined };
  return {
    type: "finish",
    finishReason: { unified, raw },
    usage: {
      inputTokens: { total: input, ...unknown },
      outputTokens: { total: output, text: undefined, reasoning: undefined },
    },
  };
}
