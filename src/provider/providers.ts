/** The table of the six providers. A vendor's package is loaded when one of its models is requested. */
import { type Clock, isJsonObject, type JsonObject, systemClock } from "../util/index.ts";
import { anthropic } from "./anthropic.ts";
import type { Fetch, ModelInfo, ProviderDefinition, ProviderSettings } from "./definition.ts";
import { google } from "./google.ts";
import { llamacpp } from "./llamacpp.ts";
import { ollama } from "./ollama.ts";
import { openai } from "./openai.ts";
import { openrouter } from "./openrouter.ts";
import type { Model, ModelRequest } from "./port.ts";
import { ProviderError } from "./provider-error.ts";
import { streamReply } from "./reply.ts";
import { cannedFetch, drainReply } from "./warm-up.ts";
import { type Endpoint, toProviderError } from "./to-provider-error.ts";

const DEFINITIONS = { anthropic, google, llamacpp, ollama, openai, openrouter };

/** A supported provider. */
export type ProviderName = keyof typeof DEFINITIONS;

/** The supported providers. */
export const PROVIDER_NAMES = Object.keys(DEFINITIONS) as readonly ProviderName[];

/** Where to reach each provider, and with which key. */
export interface ProvidersOptions {
  readonly settings: Readonly<Record<ProviderName, ProviderSettings>>;
  readonly fetch?: Fetch;
  readonly clock?: Clock;
}

/** Looks up models by provider and name. */
export interface Providers {
  /** Throws `ProviderError` if the provider is unknown or has no key. Makes no request. */
  model(provider: string, name: string): Promise<Model>;
  /** Asks the provider for its models. Throws `ProviderError`, or the signal's reason on abort. */
  list(provider: string, signal: AbortSignal): Promise<readonly ModelInfo[]>;
  /** Runs the code that reads a reply once, because its first run is slow. Makes no request. */
  warmUp(provider: string, name: string): Promise<void>;
}

/** Loads no package and makes no request by itself. */
export function createProviders(options: ProvidersOptions): Providers {
  const { fetch = globalThis.fetch, clock = systemClock } = options;
  const find = (provider: string) => {
    if (!isProviderName(provider)) throw unknownProviderError(provider);
    const settings = options.settings[provider];
    assertUsableKey(provider, settings);
    const definition: ProviderDefinition = DEFINITIONS[provider];
    const endpoint: Endpoint = { ...settings, id: provider, isLocal: definition.isLocal };
    return { definition, settings, endpoint };
  };

  return {
    async model(provider, name) {
      const { definition, settings, endpoint: server } = find(provider);
      const open = await definition.load();
      const endpoint = { ...server, id: `${provider}/${name}` };
      const dialect = definition.dialect(name);
      const contextWindow = findContextWindow(provider, name);
      return {
        id: endpoint.id,
        ...(contextWindow !== undefined && { contextWindow }),
        async *stream(request) {
          // The packages drop parameters they do not know, so we add those to the body ourselves.
          const { other, ...parameters } = request.parameters;
          const extra = definition.toBody?.(other) ?? other;
          const model = open({ name, settings, fetch: withExtraBody(fetch, extra) });
          const known: ModelRequest = { ...request, parameters: { ...parameters, other: {} } };
          yield* streamReply({ model, dialect, endpoint, clock }, known);
        },
      };
    },

    async warmUp(provider, name) {
      const { definition, settings, endpoint } = find(provider);
      const canned = cannedFetch(definition.emptyReply ?? "data: {}\n\n");
      const model = (await definition.load())({ name, settings, fetch: canned });
      const dialect = definition.dialect(name);
      await drainReply((request) => streamReply({ model, dialect, endpoint, clock }, request));
    },

    async list(provider, signal) {
      const { definition, settings, endpoint } = find(provider);
      const { contextTooLong } = definition.dialect("");
      try {
        return await definition.list({ settings, fetch, signal });
      } catch (error) {
        signal.throwIfAborted();
        throw toProviderError(error, { endpoint, contextTooLong, clock });
      }
    },
  };
}

/** Whether its servers run on the user's machine, so that there may be none. */
export function isLocalProvider(name: string): boolean {
  return isProviderName(name) && DEFINITIONS[name].isLocal;
}

function isProviderName(name: string): name is ProviderName {
  return Object.hasOwn(DEFINITIONS, name);
}

function unknownProviderError(name: string): ProviderError {
  return new ProviderError("unknown_model", `Unknown provider "${name}".`, {
    isRetryable: false,
    hint: `Use one of ${PROVIDER_NAMES.join(", ")}.`,
  });
}

function assertUsableKey(provider: ProviderName, settings: ProviderSettings): void {
  const { apiKey = "", apiKeyVariable } = settings;
  const variable =
    apiKeyVariable ?? `the variable named in \`providers.llm.${provider}.api_key_env\``;
  if (apiKey === "" && !DEFINITIONS[provider].isLocal) {
    throw new ProviderError("missing_key", `No API key for ${provider}.`, {
      isRetryable: false,
      hint: `Set ${variable}.`,
    });
  }
  if (!/^[ -~]*$/.test(apiKey)) {
    const message = `The API key for ${provider} has a character that cannot be sent in an HTTP header.`;
    throw new ProviderError("authentication", message, {
      isRetryable: false,
      hint: `Check ${variable}.`,
    });
  }
}

/** In tokens; when in doubt, too low rather than too high. */
const CONTEXT_WINDOWS: readonly (readonly [RegExp, number])[] = [
  [/^claude-/, 200_000],
  [/^gpt-4\.1/, 1_047_576],
  [/^gpt-4o/, 128_000],
  [/^gpt-5.*-chat/, 128_000],
  [/^gpt-5/, 272_000],
  [/^o[134]/, 200_000],
  [/^gemini-/, 1_000_000],
];

function findContextWindow(provider: string, modelName: string): number | undefined {
  if (provider === "ollama" || provider === "llamacpp") return undefined;
  // OpenRouter puts the vendor in front: `anthropic/claude-…`.
  const name = provider === "openrouter" ? modelName.replace(/^[^/]+\//, "") : modelName;
  return CONTEXT_WINDOWS.find(([pattern]) => pattern.test(name))?.[1];
}

/** Merges `extra` into the JSON body of each request. */
function withExtraBody(fetch: Fetch, extra: JsonObject): Fetch {
  if (Object.keys(extra).length === 0) return fetch;
  return (input, init) => {
    if (typeof init?.body !== "string") return fetch(input, init);
    const body: unknown = JSON.parse(init.body);
    if (!isJsonObject(body)) return fetch(input, init);
    return fetch(input, { ...init, body: JSON.stringify(mergeObjects(body, extra)) });
  };
}

/** Objects are merged; any other value is replaced. */
function mergeObjects(base: JsonObject, extra: JsonObject): JsonObject {
  const entries = Object.entries(extra).map(([key, value]) => {
    const old = base[key];
    return [
      key,
      isJsonObject(old) && isJsonObject(value) ? mergeObjects(old, value) : value,
    ] as const;
  });
  return { ...base, ...Object.fromEntries(entries) };
}
