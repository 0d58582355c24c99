/** The six providers in front of a server of ours, and requests to them. */
import { type Attachment, intoParts, type Section } from "../../src/conversation/index.ts";
import type { ConversationEvent } from "../../src/conversation/index.ts";
import {
  createProviders,
  type Model,
  type ModelEvent,
  type ModelRequest,
  PROVIDER_NAMES,
  type ProviderName,
  type Providers,
  type ProviderSettings,
} from "../../src/provider/index.ts";
import { streamOf } from "../support/events.ts";
import { CaptureServer } from "./capture-server.ts";

/** One for each provider, known to its package. */
export const MODELS: Readonly<Record<ProviderName, string>> = {
  anthropic: "claude-sonnet-4-5",
  google: "gemini-2.5-flash",
  openai: "gpt-5",
  openrouter: "anthropic/claude-sonnet-4.5",
  ollama: "qwen3",
  llamacpp: "local",
};

export const KEY = "sk-a-secret-of-ours";

export function providersAt(baseUrl: string, more: Partial<ProviderSettings> = {}): Providers {
  const settings = { baseUrl, apiKey: KEY, apiKeyVariable: "THE_KEY", ...more };
  const names = PROVIDER_NAMES.map((name) => [name, settings] as const);
  // Every name is there.
  return createProviders({
    settings: Object.fromEntries(names) as Record<ProviderName, ProviderSettings>,
  });
}

export async function modelAt(url: string, provider: ProviderName): Promise<Model> {
  return providersAt(url).model(provider, MODELS[provider]);
}

export interface Asked extends Partial<Omit<ModelRequest, "parts">> {
  readonly systemPrompt?: string;
  readonly sections?: readonly Section[];
  readonly attachments?: readonly Attachment[];
}

/** What is not said is as plain as can be. */
export function requestOf(events: readonly ConversationEvent[], asked: Asked = {}): ModelRequest {
  const { systemPrompt, sections = [], attachments = [], ...rest } = asked;
  return {
    parts: intoParts({
      ...(systemPrompt !== undefined && { systemPrompt }),
      sections,
      attachments,
      stream: streamOf(...events),
    }),
    tools: [],
    toolChoice: "auto",
    parameters: { other: {} },
    cache: "off",
    signal: new AbortController().signal,
    ...rest,
  };
}

export async function collect(events: AsyncIterable<ModelEvent>): Promise<ModelEvent[]> {
  const all: ModelEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

/** What goes over the wire for a request; the reply is of no matter. */
export async function bodySentTo(
  provider: ProviderName,
  request: ModelRequest,
  modelName = MODELS[provider],
): Promise<unknown> {
  await using server = await CaptureServer.start();
  server.answer({ status: 400, headers: { "content-type": "application/json" }, chunks: ["{}"] });
  const model = await providersAt(server.url).model(provider, modelName);
  await collect(model.stream(request)).catch(() => undefined);
  return server.body;
}
