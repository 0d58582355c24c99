/** `--cache`: replays a turn with questions against a real server, and shows how much of the prompt is cached. */
import process from "node:process";
import { mergeConfig, parseConfigOrThrow, resolveAssistant } from "../src/settings/config/index.ts";
import { DEFAULTS } from "../src/settings/config/defaults.ts";
import { streamOf } from "../src/record/conversation/events.fixture.ts";
import {
  type ConversationEvent,
  type InquiryId,
  intoParts,
  timestampFromDate,
  type ToolCallRequest,
} from "../src/record/conversation/index.ts";
import { createInquiryBackend } from "../src/core/answer-model/index.ts";
import {
  collectReply,
  type Model,
  type ToolSchema,
  type Usage,
} from "../src/reach/provider/index.ts";
import { openProviders } from "../src/assemble/index.ts";
import { booleanQuestion } from "../src/record/tool/index.ts";
import { systemClock } from "../src/util/index.ts";
import type { Table } from "./table.ts";

export interface CacheOptions {
  /** `provider/name`. */
  readonly model: string;
  /** Defaults to the provider's own. */
  readonly baseUrl?: string;
  /** Approximate length of the conversation. */
  readonly tokens: number;
  readonly questions: number;
}

/** One request, as the server counted it. */
interface Row {
  readonly name: string;
  readonly usage: Usage;
  readonly seconds: number;
}

const TOOL: ToolSchema = {
  name: "apply_changes",
  description: "Changes a file.",
  parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
};
/** For the replies, whose text does not matter. */
const MAX_TOKENS = 64;

/** The rows of a table, including its header. Throws what the provider throws. */
export async function measureCache(options: CacheOptions): Promise<Table> {
  const [provider = "", ...name] = options.model.split("/");
  const config = mergeConfig(
    DEFAULTS,
    parseConfigOrThrow("--cache", {
      assistant: { model: { id: options.model, parameters: { max_tokens: MAX_TOKENS } } },
      ...(options.baseUrl !== undefined && {
        providers: { llm: { [provider]: { base_url: options.baseUrl } } },
      }),
    }),
  );
  const machine = { variables: process.env, clock: systemClock };
  const model = await openProviders(machine, config).model(provider, name.join("/"));
  const turn = { model, assistant: resolveAssistant(config) };

  const before = conversation(options.tokens);
  const calls = Array.from({ length: options.questions }, (_, index) => call(index));
  const rows = [
    await ask("conversation", turn, before),
    ...(await askQuestions(turn, before, calls)),
    await ask("next request", turn, [...before, ...calls, ...calls.map(resultOf)]),
  ];
  return [
    ["request", "prompt tokens", "reused", "evaluated", "seconds"],
    ...rows.map(({ name: title, usage: { input, cachedInput }, seconds }) => [
      title,
      count(input),
      count(cachedInput),
      count(input === undefined || cachedInput === undefined ? undefined : input - cachedInput),
      seconds.toFixed(1),
    ]),
  ];
}

interface Asked {
  readonly model: Model;
  readonly assistant: ReturnType<typeof resolveAssistant>;
}

async function ask(
  name: string,
  { model, assistant }: Asked,
  events: readonly ConversationEvent[],
): Promise<Row> {
  const { parameters, cache, request: policy, sections, systemPrompt = "" } = assistant;
  const parts = intoParts({ systemPrompt, sections, attachments: [], stream: streamOf(...events) });
  const { signal } = new AbortController();
  const start = performance.now();
  const { usage } = await collectReply({
    model,
    request: { parts, tools: [TOOL], toolChoice: "auto", parameters, cache, signal },
    policy,
    clock: systemClock,
  });
  return { name, usage, seconds: since(start) };
}

/** Asks all at once, as the calls of a turn do. */
async function askQuestions(
  { model, assistant }: Asked,
  before: readonly ConversationEvent[],
  calls: readonly ToolCallRequest[],
): Promise<readonly Row[]> {
  const backend = createInquiryBackend({
    assistant: () => assistant,
    model: async () => model,
    tools: () => [TOOL],
    attachments: () => [],
    schemaMode: "stable",
    clock: systemClock,
  });
  const stream = streamOf(...before, ...calls);
  const rows: Row[] = [];
  await Promise.all(
    calls.map(async ({ id }) => {
      let start = performance.now();
      const answer = await backend.inquire({
        inquiryId: `${id}.ok.1` as InquiryId, // In the format of the agent.
        toolCallId: id,
        toolName: TOOL.name,
        question: booleanQuestion("ok", `Apply the changes of ${id}?`),
        target: { type: "assistant", assistant: {} },
        stream,
        signal: new AbortController().signal,
        observe: (update) => {
          if (update.type === "asked") start = performance.now();
          if (update.type !== "response_end") return;
          rows.push({ name: `question of ${id}`, usage: update.usage, seconds: since(start) });
        },
      });
      // A small model may answer wrongly, which does not matter here.
      if (answer.type === "failed" && answer.kind === "provider") throw new Error(answer.message);
    }),
  );
  return rows;
}

const NOW = timestampFromDate(new Date(0));

/** Turns of about 500 tokens each, and a message that asks for changes. */
function conversation(tokens: number): readonly ConversationEvent[] {
  const turns = Array.from({ length: Math.ceil(tokens / TURN_TOKENS) }, (_, index) => {
    const text = `The quick brown fox ${index} jumps over the lazy dog. `.repeat(TURN_TOKENS / 24);
    return [
      { type: "turn_start", timestamp: NOW },
      { type: "chat_request", timestamp: NOW, content: text },
      { type: "chat_response", timestamp: NOW, content: { type: "message", text } },
    ] as const;
  });
  const content = "Apply the changes to all of these files.";
  return [
    ...turns.flat(),
    { type: "turn_start", timestamp: NOW },
    { type: "chat_request", timestamp: NOW, content },
  ];
}

const TURN_TOKENS = 480;

function call(index: number): ToolCallRequest {
  const id = `change${String(index).padStart(3, "0")}`;
  const { name } = TOOL;
  return { type: "tool_call_request", timestamp: NOW, id, name, arguments: { path: `${id}.ts` } };
}

function resultOf({ id }: ToolCallRequest): ConversationEvent {
  return { type: "tool_call_response", timestamp: NOW, id, content: "Done.", isError: false };
}

function count(tokens: number | undefined): string {
  return tokens === undefined ? "not reported" : tokens.toLocaleString("en-US");
}

function since(start: number): number {
  return (performance.now() - start) / 1000;
}
