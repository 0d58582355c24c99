/** A llama.cpp server through `@ai-sdk/openai-compatible`. */
import { isStrict, toStrictSchema } from "../json-schema/index.ts";
import { isJsonObject, type Json, type JsonObject, loadModule } from "../../util/index.ts";
import {
  apiUrl,
  eventStream,
  type Fetch,
  fetchList,
  fetchObject,
  type ListOptions,
  type OpenOptions,
  type ProviderDefinition,
  type ProviderSettings,
  type StreamingModel,
  toContextWindow,
  toModelInfo,
} from "./definition.ts";
import { type Dialect, localDialect, type PromptProgress, toEffort } from "./dialect.ts";
import type { ModelParameters } from "./port.ts";

export const llamacpp: ProviderDefinition = {
  dialect: llamacppDialect,
  isLocal: true,
  sampleReply: eventStream(
    { choices: [{ delta: { content: "x" } }] },
    { choices: [{ delta: {}, finish_reason: "stop" }] },
  ),
  async load() {
    const { createOpenAICompatible } = await loadModule(() => import("@ai-sdk/openai-compatible"));
    return ({ name, settings, fetch }: OpenOptions) => {
      const names = opened.get(settings) ?? new Map<string, StreamingModel>();
      opened.set(settings, names);
      const model =
        names.get(name) ??
        createOpenAICompatible({
          name: "llamacpp",
          baseURL: apiUrl(settings.baseUrl, "/v1"),
          ...(settings.apiKey !== undefined && { apiKey: settings.apiKey }),
          fetch: fetchBySignal,
          supportsStructuredOutputs: true,
          includeUsage: true,
        }).chatModel(name);
      names.set(name, model);
      return withFetch(model, fetch);
    };
  },
  async list(options: ListOptions) {
    const models = await fetchModels(options);
    const [only] = models;
    // A server with several models gives each a status, and must be asked by name.
    if (only === undefined || models.length > 1 || "status" in only) {
      return models.flatMap((model) => toModelInfo(model["id"], windowOf(model)));
    }
    const window = windowOf(only) ?? runningWindow(await fetchProps(options).catch(() => ({})));
    const names = toModelInfo(readableName(only["id"]), window);
    return names.map((model) => ({ ...model, isForAnyName: true }));
  },
  async properties(options) {
    const props = await fetchProps(options, options.name);
    const { chat_template_caps: caps, modalities } = props;
    return {
      ...toContextWindow(runningWindow(props)),
      seesResults: isJsonObject(caps) && caps["supports_tool_calls"] === true,
      ...(isJsonObject(modalities) && { seesImages: modalities["vision"] === true }),
    };
  },
  toBody: (other) => ({ return_progress: true, ...other }),
};

/**
 * For each model it opens, the package builds the schema of replies when the first chunk arrives. With one model for all
 * requests, that happens during warm-up.
 */
const opened = new WeakMap<ProviderSettings, Map<string, StreamingModel>>();

/** Keyed by the signal of the request, which the package passes on. */
const fetches = new WeakMap<AbortSignal, Fetch>();

function withFetch(model: StreamingModel, fetch: Fetch): StreamingModel {
  const { provider, modelId } = model;
  return {
    provider,
    modelId,
    doStream: (options) => {
      if (options.abortSignal !== undefined) fetches.set(options.abortSignal, fetch);
      return model.doStream(options);
    },
  };
}

const fetchBySignal: Fetch = (input, init) => {
  const fetch = init?.signal && fetches.get(init.signal);
  if (!fetch) throw new TypeError("The request has no signal of a reply.");
  return fetch(input, init);
};

function fetchModels(options: ListOptions): Promise<readonly JsonObject[]> {
  return fetchList(toRequest(options, `${apiUrl(options.settings.baseUrl, "/v1")}/models`), "data");
}

/** The window that the server runs with. The model's trained window, `n_ctx_train`, may be far larger. */
function windowOf({ meta }: JsonObject): Json | undefined {
  return isJsonObject(meta) ? meta["n_ctx"] : undefined;
}

/** A server with one model ignores the name. */
function fetchProps(options: ListOptions, name = ""): Promise<JsonObject> {
  const root = apiUrl(options.settings.baseUrl, "/v1").replace(/\/v1$/, "");
  const query = name === "" ? "" : `?model=${encodeURIComponent(name)}`;
  return fetchObject(toRequest(options, `${root}/props${query}`));
}

/** Older servers report it only here. */
function runningWindow({ default_generation_settings: settings }: JsonObject): Json | undefined {
  return isJsonObject(settings) ? settings["n_ctx"] : undefined;
}

function toRequest({ settings: { apiKey }, fetch, signal }: ListOptions, url: string) {
  return { url, headers: apiKey ? { authorization: `Bearer ${apiKey}` } : {}, fetch, signal };
}

/** A server without a configured model name reports the path of the model's file. */
function readableName(id: Json | undefined): Json | undefined {
  if (typeof id !== "string" || !/\.gguf$/i.test(id)) return id;
  return id.replace(/^.*[/\\]/, "").replace(/(?:-\d{5}-of-\d{5})?\.gguf$/i, "");
}

function llamacppDialect(): Dialect {
  return {
    ...localDialect("llamacpp"),
    // For some models, it applies no grammar before a call.
    forbidsCallsWithSchema: true,
    hints: [
      {
        pattern: /--jinja/,
        hint: "Tools need the model's own chat template: start the server with --jinja.",
      },
      {
        pattern: /does not match the expected|failed to parse tool call/i,
        hint: "The server cannot read what its model wrote. Try again, or use another model or chat template.",
      },
    ],
    toOutputSchema: toStrictSchema,
    toOptions: ({ reasoning, topK }, schema) => ({
      options: {
        ...toTemplateOptions(reasoning),
        // The package drops it because OpenAI does not support it.
        ...(topK !== undefined && { top_k: topK }),
        ...(schema !== undefined && { strictJsonSchema: isStrict(schema) }),
      },
    }),
    findProgress,
  };
}

/** In llama.cpp, the model's chat template controls reasoning. */
function toTemplateOptions(reasoning: ModelParameters["reasoning"]): JsonObject {
  if (reasoning === undefined || reasoning.type === "auto") return {};
  if (reasoning.type === "off") return { chat_template_kwargs: { enable_thinking: false } };
  return { chat_template_kwargs: { reasoning_effort: toEffort(reasoning.effort) } };
}

function findProgress({ prompt_progress: progress }: JsonObject): PromptProgress | undefined {
  if (!isJsonObject(progress)) return undefined;
  const { processed, total } = progress;
  if (typeof processed !== "number" || typeof total !== "number" || total <= 0) return undefined;
  return { processed: Math.min(Math.max(processed, 0), total), total };
}
