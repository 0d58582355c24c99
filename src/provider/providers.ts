/** The six providers behind one door. Nothing is loaded before a model of a provider is asked for. */
import { type Clock, isJsonObject, type JsonObject, systemClock } from "../util/index.ts";
import { anthropic } from "./anthropic.ts";
import type {
  Fetch,
  ModelInfo,
  Opening,
  ProviderDefinition,
  ProviderSettings,
} from "./definition.ts";
import { google } from "./google.ts";
import { llamacpp } from "./llamacpp.ts";
import { ollama } from "./ollama.ts";
import { openai } from "./openai.ts";
import { openrouter } from "./openrouter.ts";
import type { Model, ModelRequest } from "./port.ts";
import { ProviderError } from "./provider-error.ts";
import { streamReply } from "./reply.ts";
import { type Served, toProviderError } from "./to-provider-error.ts";

const DEFINITIONS = { anthropic, google, llamacpp, ollama, openai, openrouter };

/** A provider there is. */
export type ProviderName = keyof typeof DEFINITIONS;

/** The providers there are. */
export const PROVIDER_NAMES = Object.keys(DEFINITIONS) as readonly ProviderName[];

/** Where each provider is reached, and with which key. */
export interface ProvidersOptions {
  readonly settings: Readonly<Record<ProviderName, ProviderSettings>>;
  readonly fetch?: Fetch;
  readonly clock?: Clock;
}

/** Gives models by the name of their provider and their own. */
export interface Providers {
  /** Throws `ProviderError` if there is no such provider, or no key for it. Asks nobody. */
  model(provider: string, name: string): Promise<Model>;
  /** What the provider says it has. Throws `ProviderError`, or the signal's reason on abort. */
  list(provider: string, signal: AbortSignal): Promise<readonly ModelInfo[]>;
}

/** Loads nothing and asks nobody before a model is wanted. */
export function createProviders(options: ProvidersOptions): Providers {
  const { settings, fetch = globalThis.fetch, clock = systemClock } = options;
  const find = (provider: string) => {
    if (!isProviderName(provider)) throw unknownProvider(provider);
    return ready(provider, settings[provider]);
  };

  return {
    async model(provider, name) {
      const { definition, settings: own, served: by } = find(provider);
      const open = await definition.load();
      const served = { ...by, id: `${provider}/${name}` };
      const dialect = definition.dialect(name);
      const contextWindow = findContextWindow(provider, name);
      return {
        id: served.id,
        ...(contextWindow !== undefined && { contextWindow }),
        async *stream(request) {
          // Packages drop parameters they do not know, so these do not pass through them.
          const { other, ...parameters } = request.parameters;
          const extra = definition.toBody?.(other) ?? other;
          const opening: Opening = { name, settings: own, fetch: withExtraBody(fetch, extra) };
          const known: ModelRequest = { ...request, parameters: { ...parameters, other: {} } };
          yield* streamReply({ model: open(opening), dialect, served, clock }, known);
        },
      };
    },

    async list(provider, signal) {
      const { definition, settings: own, served } = find(provider);
      const { contextTooLong } = definition.dialect("");
      try {
        return await definition.list({ settings: own, fetch, signal });
      } catch (error) {
        signal.throwIfAborted();
        throw toProviderError(error, { served, contextTooLong, clock });
      }
    },
  };
}

interface Ready {
  readonly definition: ProviderDefinition;
  readonly settings: ProviderSettings;
  readonly served: Served;
}

/** Nothing else can be sent in a header. */
const SENDABLE = /^[ -~]*$/;

function ready(provider: ProviderName, settings: ProviderSettings): Ready {
  const definition: ProviderDefinition = DEFINITIONS[provider];
  const { isLocal } = definition;
  const { apiKey = "" } = settings;
  if (!isLocal && apiKey === "") throw missingKey(provider, settings);
  if (!SENDABLE.test(apiKey)) throw malformedKey(provider, settings);
  return { definition, settings, served: { ...settings, id: provider, isLocal } };
}

function isProviderName(name: string): name is ProviderName {
  return Object.hasOwn(DEFINITIONS, name);
}

function unknownProvider(name: string): ProviderError {
  return new ProviderError("unknown_model", `There is no provider "${name}".`, {
    isRetryable: false,
    hint: `There are ${PROVIDER_NAMES.join(", ")}.`,
  });
}

function missingKey(provider: ProviderName, settings: ProviderSettings): ProviderError {
  return new ProviderError("missing_key", `There is no key for ${provider}.`, {
    isRetryable: false,
    hint: `Put it into ${keyPlace(provider, settings)}.`,
  });
}

function malformedKey(provider: ProviderName, settings: ProviderSettings): ProviderError {
  const message = `What is given as the key for ${provider} cannot be one: it has a sign that cannot be sent.`;
  return new ProviderError("authentication", message, {
    isRetryable: false,
    hint: `Look at ${keyPlace(provider, settings)}.`,
  });
}

function keyPlace(provider: ProviderName, { apiKeyVariable }: ProviderSettings): string {
  return apiKeyVariable ?? `the variable that \`providers.llm.${provider}.api_key_env\` names`;
}

/** Objects are merged, anything else is replaced. */
function withExtraBody(fetch: Fetch, extra: JsonObject): Fetch {
  if (Object.keys(extra).length === 0) return fetch;
  return (input, init) => {
    if (typeof init?.body !== "string") return fetch(input, init);
    const body: unknown = JSON.parse(init.body);
    if (!isJsonObject(body)) return fetch(input, init);
    return fetch(input, { ...init, body: JSON.stringify(merged(body, extra)) });
  };
}

function merged(under: JsonObject, over: JsonObject): JsonObject {
  const entries = Object.entries(over).map(([key, value]) => {
    const old = under[key];
    return [key, isJsonObject(old) && isJsonObject(value) ? merged(old, value) : value] as const;
  });
  return { ...under, ...Object.fromEntries(entries) };
}

const CONTEXT_WINDOWS: readonly (readonly [RegExp, number])[] = [
  [/^claude-/, 200_000],
  [/^gpt-4\.1/, 1_047_576],
  [/^gpt-4o/, 128_000],
  [/^gpt-5.*-chat/, 128_000],
  [/^gpt-5/, 272_000],
  [/^o[134]/, 200_000],
  [/^gemini-/, 1_000_000],
];

/** Names as OpenRouter has them, `anthropic/claude-…`, are known too. */
function findContextWindow(provider: string, modelName: string): number | undefined {
  const name = provider === "openrouter" ? modelName.replace(/^[^/]+\//, "") : modelName;
  const isHosted = ["anthropic", "google", "openai", "openrouter"].includes(provider);
  return isHosted ? CONTEXT_WINDOWS.find(([pattern]) => pattern.test(name))?.[1] : undefined;
}
