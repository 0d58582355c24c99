/** The table of the six providers. A vendor's package is loaded with the first request to one of its models. */
import {
  type Clock,
  isJsonObject,
  type JsonObject,
  systemClock,
  withinOrigin,
} from "../../util/index.ts";
import { anthropic } from "./anthropic.ts";
import type {
  Fetch,
  ModelInfo,
  PropertiesOptions,
  ProviderDefinition,
  ProviderSettings,
} from "./definition.ts";
import type { Dialect } from "./dialect.ts";
import { google } from "./google.ts";
import { withActivity } from "./http-fetch.ts";
import { llamacpp } from "./llamacpp.ts";
import { createLocalModel } from "./local-model.ts";
import { ollama } from "./ollama.ts";
import { openai } from "./openai.ts";
import { openrouter } from "./openrouter.ts";
import type { Model, ModelProperties } from "./port.ts";
import { ProviderError } from "./provider-error.ts";
import { createModel, type ModelSource } from "./reply.ts";
import { cannedFetch, drainReply } from "./warm-up.ts";
import { type Endpoint, toProviderError } from "./to-provider-error.ts";

const DEFINITIONS = { anthropic, google, llamacpp, ollama, openai, openrouter };

/** A supported provider. */
export type ProviderName = keyof typeof DEFINITIONS;

/** The supported providers. */
export const PROVIDER_NAMES = Object.keys(DEFINITIONS) as readonly ProviderName[];

/** The address and key of each provider. */
export interface ProvidersOptions {
  readonly settings: Readonly<Record<ProviderName, ProviderSettings>>;
  readonly fetch?: Fetch;
  readonly clock?: Clock;
}

/** Looks up models by provider and name. */
export interface Providers {
  /** Throws `ProviderError` if the provider is unknown or has no key. Makes no request. */
  model(provider: string, name: string): Promise<Model>;
  /** Lists the provider's models. Throws `ProviderError`, or the signal's reason on abort. */
  list(provider: string, signal: AbortSignal): Promise<readonly ModelInfo[]>;
  /** Runs the code that reads a reply once, because its first run is slow. Makes no request. */
  warmUp(provider: string, name: string): Promise<void>;
}

/** Like `createProviders`, without delayed loading. Loads no vendor's package and makes no request by itself. */
export function createProvidersNow(options: ProvidersOptions): Providers {
  const { clock = systemClock } = options;
  const connect = createConnector(options);
  /** Cached because they remember what their chat template rejects. */
  const localModels = new Map<string, Model>();
  return {
    async model(provider, name) {
      const connection = connect(provider, name);
      const { id } = connection.endpoint;
      const model = localModels.get(id) ?? openModel(connection, clock);
      if (model.isLocal === true) localModels.set(id, model);
      return model;
    },

    async warmUp(provider, name) {
      const { definition } = connect(provider, name);
      const canned = createProvidersNow({ ...options, fetch: cannedFetch(definition.sampleReply) });
      await drainReply(await canned.model(provider, name), clock);
    },

    async list(provider, signal) {
      const { definition, settings, endpoint, dialect, watched } = connect(provider);
      try {
        return await definition.list({ settings, fetch: watched(), signal });
      } catch (error) {
        signal.throwIfAborted();
        throw toProviderError(error, { endpoint, dialect, clock });
      }
    },
  };
}

/** A model, its address, and its dialect. */
interface Connection {
  readonly provider: ProviderName;
  readonly name: string;
  readonly definition: ProviderDefinition;
  readonly settings: ProviderSettings;
  readonly endpoint: Endpoint;
  readonly dialect: Dialect;
  /** A `fetch` that reports when something arrives. */
  readonly watched: (onActivity?: (bytes: number) => void) => Fetch;
}

function createConnector(
  options: ProvidersOptions,
): (provider: string, name?: string) => Connection {
  const { fetch = globalThis.fetch } = options;
  const reached = new Set<ProviderName>();
  return (provider, name = "") => {
    if (!isProviderName(provider)) throw unknownProviderError(provider);
    const settings = options.settings[provider];
    assertUsableKey(provider, settings);
    const definition: ProviderDefinition = DEFINITIONS[provider];
    const endpoint: Endpoint = {
      ...settings,
      id: name === "" ? provider : `${provider}/${name}`,
      isLocal: definition.isLocal,
      get wasReached() {
        return reached.has(provider);
      },
    };
    const watched: Connection["watched"] = (onActivity) =>
      withActivity(withinOrigin(fetch), (bytes) => {
        reached.add(provider);
        onActivity?.(bytes);
      });
    const dialect = definition.dialect(name);
    return { provider, name, definition, settings, endpoint, dialect, watched };
  };
}

function openModel(connection: Connection, clock: Clock): Model {
  const { provider, name, definition, settings, endpoint, dialect, watched } = connection;
  const open: ModelSource["open"] = async (other, onActivity) => {
    const openNow = await definition.load();
    // The packages drop unknown parameters, so we add those to the body ourselves.
    const extra = definition.toBody?.(other) ?? other;
    return openNow({ name, settings, fetch: withExtraBody(watched(onActivity), extra) });
  };
  const source = { open, dialect, endpoint, clock };
  if (definition.isLocal) {
    return createLocalModel(source, (parameters, signal) =>
      askServer(definition, { name, settings, fetch: watched(), parameters, signal }),
    );
  }
  const contextWindow = findContextWindow(provider, name);
  const properties = contextWindow === undefined ? undefined : async () => ({ contextWindow });
  return createModel(source, properties);
}

/** A local server answers at once, unless the machine is busy. */
const PROPERTIES_TIMEOUT_MS = 10_000;

async function askServer(
  definition: ProviderDefinition,
  options: PropertiesOptions,
): Promise<ModelProperties> {
  const limit = AbortSignal.timeout(PROPERTIES_TIMEOUT_MS);
  const signal = AbortSignal.any([options.signal, limit]);
  try {
    return (await definition.properties?.({ ...options, signal })) ?? {};
  } catch {
    options.signal.throwIfAborted();
    return {}; // The request itself will report the problem.
  }
}

/** Whether it runs on the user's machine, so that it may be missing. */
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
  // OpenRouter prefixes the vendor: `anthropic/claude-…`.
  const name = provider === "openrouter" ? modelName.replace(/^[^/]+\//, "") : modelName;
  return CONTEXT_WINDOWS.find(([pattern]) => pattern.test(name))?.[1];
}

/** Merges `extra` into the JSON body of each request. */
function withExtraBody(fetch: Fetch, extra: JsonObject): Fetch {
  return (input, init) => {
    if (typeof init?.body !== "string") return fetch(input, init);
    return fetch(input, { ...init, body: mergeIntoBody(init.body, extra) });
  };
}

/** Parses the body only if it already has one of the keys: a long conversation's is tens of megabytes. */
export function mergeIntoBody(text: string, extra: JsonObject): string {
  const keys = Object.keys(extra);
  if (keys.length === 0) return text;
  // Inside a string, the quotes would be escaped. Numeric keys come first in an object.
  const isNew = (key: string) => !text.includes(`${JSON.stringify(key)}:`) && !/^\d+$/.test(key);
  if (text.startsWith('{"') && text.endsWith("}") && keys.every(isNew)) {
    return `${text.slice(0, -1)},${JSON.stringify(extra).slice(1)}`;
  }
  const body: unknown = JSON.parse(text);
  return isJsonObject(body) ? JSON.stringify(mergeObjects(body, extra)) : text;
}

/** Merges objects; replaces any other value. */
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
