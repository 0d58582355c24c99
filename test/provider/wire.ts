/** One reply, as the API of each provider streams it. */
import type { ProviderName } from "../../src/reach/provider/index.ts";
import type { Json, JsonObject } from "../../src/util/index.ts";

export interface WireReply {
  readonly reasoning?: string;
  /** Of the reasoning. */
  readonly signature?: string;
  readonly text?: string;
  readonly calls?: readonly WireCall[];
  /** Of OpenAI's chat API. Default: made up. */
  readonly usage?: JsonObject;
}

export interface WireCall {
  readonly id: string;
  readonly name: string;
  /** Text, because a model may write invalid JSON. */
  readonly input: string;
}

/** The chunks of a stream. */
export const WIRE: Readonly<Record<ProviderName, (reply: WireReply) => readonly string[]>> = {
  anthropic,
  google,
  openai,
  openrouter: (reply) => chat(reply, openrouterDelta),
  ollama,
  llamacpp: (reply) => chat(reply, ({ reasoning }) => ({ reasoning_content: reasoning ?? null })),
};

export function sse(data: JsonObject): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

function named(data: JsonObject & { readonly type: string }): string {
  return `event: ${data.type}\n${sse(data)}`;
}

function anthropic({ reasoning, signature, text, calls = [] }: WireReply): readonly string[] {
  const blocks: { readonly start: JsonObject; readonly deltas: readonly JsonObject[] }[] = [];
  if (reasoning !== undefined) {
    blocks.push({
      start: { type: "thinking", thinking: "" },
      deltas: [
        ...halves(reasoning).map((thinking) => ({ type: "thinking_delta", thinking })),
        { type: "signature_delta", signature: signature ?? "" },
      ],
    });
  }
  if (text !== undefined) {
    const deltas = halves(text).map((half) => ({ type: "text_delta", text: half }));
    blocks.push({ start: { type: "text", text: "" }, deltas });
  }
  for (const { id, name, input } of calls) {
    const deltas = halves(input).map((half) => ({ type: "input_json_delta", partial_json: half }));
    blocks.push({ start: { type: "tool_use", id, name, input: {} }, deltas });
  }
  const usage = { input_tokens: 10, cache_read_input_tokens: 4, cache_creation_input_tokens: 2 };
  return [
    named({
      type: "message_start",
      message: { id: "msg_1", type: "message", role: "assistant", model: "m", content: [], usage },
    }),
    ...blocks.flatMap(({ start, deltas }, index) => [
      named({ type: "content_block_start", index, content_block: start }),
      ...deltas.map((delta) => named({ type: "content_block_delta", index, delta })),
      named({ type: "content_block_stop", index }),
    ]),
    named({
      type: "message_delta",
      delta: { stop_reason: calls.length > 0 ? "tool_use" : "end_turn", stop_sequence: null },
      usage: { output_tokens: 7 },
    }),
    named({ type: "message_stop" }),
  ];
}

/** The signature is on the first call, or on the text. */
function google({ reasoning, signature, text, calls = [] }: WireReply): readonly string[] {
  const signed = signature === undefined ? {} : { thoughtSignature: signature };
  const parts: JsonObject[] = [];
  if (reasoning !== undefined) {
    parts.push(...halves(reasoning).map((half) => ({ text: half, thought: true, ...signed })));
  }
  if (text !== undefined) parts.push(...halves(text).map((half) => ({ text: half, ...signed })));
  for (const [index, { id, name, input }] of calls.entries()) {
    const args = JSON.parse(input) as Json;
    parts.push({ functionCall: { id, name, args }, ...(index === 0 && signed) });
  }
  const usageMetadata = {
    promptTokenCount: 16,
    candidatesTokenCount: 7,
    cachedContentTokenCount: 4,
    totalTokenCount: 23,
  };
  return [
    ...parts.map((part) => sse({ candidates: [{ content: { role: "model", parts: [part] } }] })),
    sse({ candidates: [{ content: { parts: [] }, finishReason: "STOP" }], usageMetadata }),
  ];
}

function openai({ reasoning, signature, text, calls = [] }: WireReply): readonly string[] {
  const events: (JsonObject & { type: string })[] = [
    { type: "response.created", response: { id: "resp_1", created_at: 1, model: "m" } },
  ];
  let index = 0;
  if (reasoning !== undefined) {
    const item = { type: "reasoning", id: "rs_1", encrypted_content: null };
    const where = { item_id: "rs_1", output_index: index, summary_index: 0 };
    events.push(
      { type: "response.output_item.added", output_index: index, item },
      ...halves(reasoning).map((delta) => ({
        type: "response.reasoning_summary_text.delta",
        ...where,
        delta,
      })),
      { type: "response.reasoning_summary_part.done", ...where },
      {
        type: "response.output_item.done",
        output_index: index,
        item: { ...item, encrypted_content: signature ?? null },
      },
    );
    index += 1;
  }
  if (text !== undefined) {
    const item = { type: "message", id: "msg_1", phase: "final_answer" };
    const done = { ...item, content: [{ type: "output_text", text, annotations: [] }] };
    events.push(
      { type: "response.output_item.added", output_index: index, item },
      ...halves(text).map((delta) => ({
        type: "response.output_text.delta",
        item_id: "msg_1",
        output_index: index,
        delta,
      })),
      { type: "response.output_item.done", output_index: index, item: done },
    );
    index += 1;
  }
  for (const { id, name, input } of calls) {
    const item = { type: "function_call", id: `fc_${id}`, call_id: id, name, arguments: "" };
    events.push(
      { type: "response.output_item.added", output_index: index, item },
      ...halves(input).map((delta) => ({
        type: "response.function_call_arguments.delta",
        item_id: `fc_${id}`,
        output_index: index,
        delta,
      })),
      {
        type: "response.output_item.done",
        output_index: index,
        item: { ...item, arguments: input, status: "completed" },
      },
    );
    index += 1;
  }
  const usage = {
    input_tokens: 16,
    input_tokens_details: { cached_tokens: 4 },
    output_tokens: 7,
    output_tokens_details: { reasoning_tokens: 3 },
  };
  events.push({ type: "response.completed", response: { incomplete_details: null, usage } });
  return events.map(named);
}

type ReasoningDelta = (reply: WireReply) => JsonObject;

function openrouterDelta({ reasoning = "", signature }: WireReply): JsonObject {
  const detail = { type: "reasoning.text", text: reasoning, format: "anthropic-claude-v1" };
  return { reasoning_details: [{ ...detail, signature: signature ?? null, index: 0 }] };
}

const CHAT_USAGE = {
  prompt_tokens: 16,
  prompt_tokens_details: { cached_tokens: 4 },
  completion_tokens: 7,
  completion_tokens_details: { reasoning_tokens: 3 },
  total_tokens: 23,
  cost: 0.25,
};

function chat(reply: WireReply, toReasoning: ReasoningDelta): readonly string[] {
  const { reasoning, text, calls = [], usage = CHAT_USAGE } = reply;
  const deltas: JsonObject[] = [];
  if (reasoning !== undefined) deltas.push(toReasoning(reply));
  if (text !== undefined) deltas.push(...halves(text).map((content) => ({ content })));
  for (const [index, { id, name, input }] of calls.entries()) {
    const [first, second] = halves(input);
    const call = { index, id, type: "function", function: { name, arguments: first ?? "" } };
    deltas.push({ tool_calls: [call] });
    deltas.push({ tool_calls: [{ index, function: { arguments: second ?? "" } }] });
  }
  const reason = calls.length > 0 ? "tool_calls" : "stop";
  const head = { id: "gen_1", created: 1, model: "m" };
  return [
    ...deltas.map((delta) => sse({ ...head, choices: [{ index: 0, delta }] })),
    sse({ ...head, choices: [{ index: 0, delta: {}, finish_reason: reason }] }),
    sse({ ...head, choices: [], usage }),
    "data: [DONE]\n\n",
  ];
}

function ollama({ reasoning, text, calls = [] }: WireReply): readonly string[] {
  const messages: JsonObject[] = [];
  if (reasoning !== undefined) {
    messages.push(...halves(reasoning).map((thinking) => ({ content: "", thinking })));
  }
  if (text !== undefined) messages.push(...halves(text).map((content) => ({ content })));
  for (const { name, input } of calls) {
    const call = { function: { name, arguments: JSON.parse(input) as Json } };
    messages.push({ content: "", tool_calls: [call] });
  }
  const counts = { prompt_eval_count: 16, eval_count: 7 };
  const lines: JsonObject[] = [
    ...messages.map((message) => ({ message: { role: "assistant", ...message }, done: false })),
    { message: { role: "assistant", content: "" }, done: true, done_reason: "stop", ...counts },
  ];
  return lines.map((line) => `${JSON.stringify({ model: "m", ...line })}\n`);
}

function halves(text: string): readonly string[] {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)];
}
