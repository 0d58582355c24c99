/** Makes a `Model` from any language model of the AI SDK, in either version of its interface. */
import type {
  LanguageModelV3,
  LanguageModelV3Message,
  LanguageModelV3StreamResult,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4StreamResult,
  SharedV4FileDataData,
  SharedV4FileDataUrl,
} from "@ai-sdk/provider";
import {
  type Clock,
  isJsonObject,
  JpError,
  loadModule,
  messageOf,
  systemClock,
} from "../../util/index.ts";
import { anthropicDialect } from "./anthropic.ts";
import type { StreamingModel } from "./definition.ts";
import { defaultDialect, type Dialect, metadataOf } from "./dialect.ts";
import { googleDialect } from "./google.ts";
import { openaiDialect } from "./openai.ts";
import { openrouterDialect } from "./openrouter.ts";
import type { Model, ModelEvent, ModelRequest } from "./port.ts";
import type * as reply from "./reply.ts";

/**
 * A language model of the AI SDK 6 or 7, such as `openai("gpt-5")`; the `LanguageModel` of `ai` fits. A string is a model
 * id of the default provider in `globalThis.AI_SDK_DEFAULT_PROVIDER`.
 */
export type LanguageModel = string | LanguageModelObject;

/**
 * The part of an AI SDK model that jp uses. Its interface has versions: jp accepts `v3` and `v4`, and rejects `v2` with
 * the error `unsupported_model`.
 */
export interface LanguageModelObject {
  readonly specificationVersion: "v2" | "v3" | "v4";
  /** The vendor and its API, such as `anthropic.messages`. */
  readonly provider: string;
  readonly modelId: string;
  /** Takes the call options, and streams the parts, of its version. */
  doStream(options: never): PromiseLike<{ readonly stream: ReadableStream<unknown> }>;
}

/** Facts that a language model of the AI SDK does not state itself. */
export interface LanguageModelOptions {
  /** `provider/name`. Default: from the model's own `provider` and `modelId`. */
  readonly id?: string;
  /** In tokens. */
  readonly contextWindow?: number;
  /** Used to read dates in `retry-after`. */
  readonly clock?: Clock;
}

/** Wraps a language model of the AI SDK. `runTurn` does this for you. Throws `unsupported_model`. */
export function fromLanguageModel(given: LanguageModel, options: LanguageModelOptions = {}): Model {
  const model = openModel(typeof given === "string" ? findModel(given) : given);
  const { id = defaultId(model), contextWindow, clock = systemClock } = options;
  const dialect = dialectOf(model);
  return {
    id,
    acceptsFile: dialect.acceptsFile,
    ...(contextWindow !== undefined && { properties: async () => ({ contextWindow }) }),
    stream: (request) => streamReply({ model, dialect, endpoint: { id }, clock }, request),
  };
}

let loaded: typeof reply | undefined;

/** Loads the code that reads replies with the first one. */
function streamReply(
  parts: Parameters<typeof reply.streamReply>[0],
  request: ModelRequest,
): AsyncIterable<ModelEvent> {
  return loaded?.streamReply(parts, request) ?? streamFirst(parts, request);
}

async function* streamFirst(
  ...[parts, request]: Parameters<typeof reply.streamReply>
): AsyncGenerator<ModelEvent> {
  loaded = await loadModule(() => import("./reply.ts"));
  yield* loaded.streamReply(parts, request);
}

/** Resolves an id like the AI SDK, but without its gateway. */
function findModel(id: string): LanguageModelObject {
  const { AI_SDK_DEFAULT_PROVIDER: provider } = globalThis as GlobalProvider;
  if (provider === undefined) {
    const hint =
      'Pass the model itself, as in openai("gpt-5"), or set globalThis.AI_SDK_DEFAULT_PROVIDER.';
    throw unsupportedModel(`"${id}" is the id of a model, and there is no default provider.`, hint);
  }
  try {
    return provider.languageModel(id);
  } catch (cause) {
    const message = `The default provider has no model "${id}": ${messageOf(cause)}`;
    throw new JpError("unsupported_model", message, { cause });
  }
}

/** The AI SDK's own name for the global. */
interface GlobalProvider {
  readonly AI_SDK_DEFAULT_PROVIDER?: { languageModel(id: string): LanguageModelObject };
}

function openModel(model: LanguageModelObject): StreamingModel {
  // Untyped programs may pass anything.
  const given: unknown = model;
  const { provider, modelId } = isJsonObject(given) ? given : {};
  if (typeof provider !== "string" || typeof modelId !== "string") {
    const hint = 'Pass a model of the AI SDK, as in openai("gpt-5").';
    throw unsupportedModel("A language model has a provider and a modelId.", hint);
  }
  const version: string = model.specificationVersion;
  // The version tells which interface it is.
  if (version === "v4") return model as LanguageModelV4;
  if (version === "v3") return fromV3(model as LanguageModelV3);
  throw unsupportedModel(
    `The model ${model.modelId} has version ${version} of the AI SDK's interface; jp takes v3 and v4.`,
    "Install the latest version of the package that it comes from.",
  );
}

function unsupportedModel(message: string, hint: string): JpError {
  return new JpError("unsupported_model", message, { hint });
}

/** For jp, the versions differ in two ways: how files are sent, and the reasoning level, which `v3` lacks. */
function fromV3(model: LanguageModelV3): StreamingModel {
  const { provider, modelId } = model;
  return {
    provider,
    modelId,
    async doStream(options) {
      const { prompt, reasoning, ...same } = options;
      const result = await model.doStream({
        ...same,
        prompt: prompt.map(toV3Message),
        ...(reasoning !== undefined && toV3Reasoning(vendorOf(model), reasoning, options)),
      });
      return toV4Result(result);
    },
  };
}

/** Their stream parts differ only in kinds that we ignore. */
function toV4Result(result: LanguageModelV3StreamResult): LanguageModelV4StreamResult {
  return result as LanguageModelV4StreamResult;
}

function toV3Message(message: LanguageModelV4Message): LanguageModelV3Message {
  // The only `v4` parts that we send are files, and only from the user.
  if (message.role !== "user") return message as LanguageModelV3Message;
  const content = message.content.map((part) =>
    part.type === "file" ? { ...part, data: toV3Data(part) } : part,
  );
  return { ...message, content };
}

function toV3Data({ data }: LanguageModelV4FilePart) {
  const sent = data as SharedV4FileDataData | SharedV4FileDataUrl; // We send no other kinds.
  return sent.type === "url" ? sent.url : sent.data;
}

/** Most `v3` packages use this name for their own option. The others ignore it. */
function toV3Reasoning(
  key: string,
  reasoningEffort: NonNullable<LanguageModelV4CallOptions["reasoning"]>,
  { providerOptions = {} }: LanguageModelV4CallOptions,
) {
  const own = { reasoningEffort, ...metadataOf(key, providerOptions) };
  return { providerOptions: { ...providerOptions, [key]: own } };
}

type ModelName = Pick<LanguageModelObject, "provider" | "modelId">;

/** `anthropic.messages` is the provider `anthropic`. */
function vendorOf({ provider }: ModelName): string {
  const [vendor = provider] = provider.split(".");
  return vendor;
}

function defaultId(model: ModelName): string {
  return `${vendorOf(model)}/${model.modelId}`;
}

/** Caches recent dialects. Much is computed once per dialect: see `toCallOptions`. */
const dialects = new Map<string, Dialect>();
const MAX_DIALECTS = 64;

function dialectOf(model: ModelName): Dialect {
  const key = `${model.provider} ${model.modelId}`;
  const found = dialects.get(key);
  if (found !== undefined) return found;
  const dialect = findDialect(model);
  if (dialects.size === MAX_DIALECTS) dialects.clear();
  dialects.set(key, dialect);
  return dialect;
}

/** Chooses by `provider`, which names the vendor and its API: `anthropic.messages`, `openai.responses`. */
function findDialect(model: ModelName): Dialect {
  const { provider, modelId } = model;
  const vendor = vendorOf(model);
  switch (vendor) {
    case "anthropic":
      return anthropicDialect(modelId);
    case "google":
      return googleDialect(modelId);
    case "openrouter":
      return openrouterDialect(modelId);
    case "openai":
      return provider.endsWith(".responses") ? openaiDialect() : defaultDialect(vendor);
    default:
      return { ...defaultDialect(vendor), takesJsonResults: true };
  }
}
