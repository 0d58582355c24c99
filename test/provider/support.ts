/** The six providers, pointed at a test server, and requests to them. */
import { streamOf } from "../../src/record/conversation/events.fixture.ts";
import {
  type Attachment,
  type ConversationEvent,
  intoParts,
  type Section,
} from "../../src/record/conversation/index.ts";
import {
  createHttpFetch,
  createProviders,
  type Fetch,
  type Model,
  type ModelEvent,
  type ModelRequest,
  PROVIDER_NAMES,
  type ProviderName,
  type Providers,
  type ProviderSettings,
} from "../../src/reach/provider/index.ts";
import { CaptureServer } from "./capture-server.ts";

/** One model of each provider, known to its package. */
export const MODELS: Readonly<Record<ProviderName, string>> = {
  anthropic: "claude-sonnet-4-5",
  google: "gemini-2.5-flash",
  openai: "gpt-5",
  openrouter: "anthropic/claude-sonnet-4.5",
  ollama: "qwen3",
  llamacpp: "local",
};

export const KEY = "sk-secret-test-key";

export interface ProviderOptions extends Partial<ProviderSettings> {
  /** What jp itself uses, if absent. */
  readonly fetch?: Fetch;
}

export function providersAt(
  baseUrl: string,
  { fetch = createHttpFetch(), ...more }: ProviderOptions = {},
): Providers {
  const settings = { baseUrl, apiKey: KEY, apiKeyVariable: "THE_KEY", ...more };
  const names = PROVIDER_NAMES.map((name) => [name, settings] as const);
  // Has all names.
  return createProviders({
    settings: Object.fromEntries(names) as Record<ProviderName, ProviderSettings>,
    fetch,
  });
}

export async function modelAt(
  url: string,
  provider: ProviderName,
  options?: ProviderOptions,
): Promise<Model> {
  return providersAt(url, options).model(provider, MODELS[provider]);
}

export interface RequestOptions extends Partial<Omit<ModelRequest, "parts">> {
  readonly systemPrompt?: string;
  readonly surroundings?: string;
  readonly sections?: readonly Section[];
  readonly attachments?: readonly Attachment[];
}

/** A request with simple defaults for everything that is left out. */
export function requestOf(
  events: readonly ConversationEvent[],
  options: RequestOptions = {},
): ModelRequest {
  const { systemPrompt, surroundings, sections = [], attachments = [], ...rest } = options;
  return {
    parts: intoParts({
      ...(systemPrompt !== undefined && { systemPrompt }),
      ...(surroundings !== undefined && { surroundings }),
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

/** The body that a request sends. The reply does not matter. */
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
