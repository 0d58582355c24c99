/** OpenAI's Responses API through `@ai-sdk/openai`. Replies are not stored there, so reasoning travels encrypted. */
import {
  type ChatResponse,
  type ProviderEvent,
  isReasoning,
} from "../../record/conversation/index.ts";
import { type JsonObject, loadModule } from "../../util/index.ts";
import {
  eventStream,
  apiUrl,
  fetchList,
  type ListOptions,
  type OpenOptions,
  type ProviderDefinition,
  toModelInfo,
} from "./definition.ts";
import {
  defaultDialect,
  type Dialect,
  type DialectOptions,
  isImageOrPdf,
  pickRenamed,
  type PieceKind,
  toReasoningLevel,
} from "./dialect.ts";
import type { ModelParameters } from "./port.ts";
import { isStrict, toStrictSchema } from "../json-schema/index.ts";

export const openai: ProviderDefinition = {
  dialect: openaiDialect,
  isLocal: false,
  sampleReply: eventStream(
    { type: "response.created", response: { id: "x", created_at: 1, model: "x" } },
    { type: "response.output_item.added", output_index: 0, item: { type: "message", id: "x" } },
    { type: "response.output_text.delta", item_id: "x", output_index: 0, delta: "x" },
    { type: "response.output_item.done", output_index: 0, item: { type: "message", id: "x" } },
    {
      type: "response.completed",
      response: { incomplete_details: null, usage: { input_tokens: 1, output_tokens: 1 } },
    },
  ),
  async load() {
    const { createOpenAI } = await loadModule(() => import("@ai-sdk/openai"));
    return ({ name, settings, fetch }: OpenOptions) => {
      const { baseUrl, apiKey = "" } = settings;
      return createOpenAI({ baseURL: apiUrl(baseUrl, "/v1"), apiKey, fetch }).responses(name);
    };
  },
  async list({ settings, fetch, signal }: ListOptions) {
    const url = `${apiUrl(settings.baseUrl, "/v1")}/models`;
    const headers = { authorization: `Bearer ${settings.apiKey ?? ""}` };
    const models = await fetchList({ url, headers, fetch, signal }, "data");
    return models.flatMap((model) => toModelInfo(model["id"], undefined));
  },
};

const ITEM = "openai_item_id";
const ENCRYPTED = "openai_encrypted_content";
const PHASE = "openai_phase";

export function openaiDialect(): Dialect {
  return {
    ...defaultDialect("openai"),
    takesResultFiles: true,
    acceptsFile: isImageOrPdf,
    toEventMetadata,
    toPartOptions,
    ownReasoning,
    toOutputSchema: toStrictSchema,
    toOptions,
  };
}

function toEventMetadata(kind: PieceKind, metadata: JsonObject): JsonObject {
  if (kind === "message") return pickRenamed(metadata, { phase: PHASE });
  if (kind === "tool_call" || kind === "file") return {};
  return pickRenamed(metadata, { itemId: ITEM, reasoningEncryptedContent: ENCRYPTED });
}

function toPartOptions(event: ProviderEvent): JsonObject {
  const { metadata = {} } = event;
  if (!isReasoning(event)) return pickRenamed(metadata, { [PHASE]: "phase" });
  return pickRenamed(metadata, { [ITEM]: "itemId", [ENCRYPTED]: "reasoningEncryptedContent" });
}

/**
 * One item may be split into several pieces, of which only the last has the encrypted content. If none does, the reply
 * broke off, and the provider does not know the item.
 */
function ownReasoning(reasoning: readonly ChatResponse[]): readonly ChatResponse[] {
  const encrypted = reasoning.filter(({ metadata }) => metadata?.[ENCRYPTED] !== undefined);
  const items = new Set(encrypted.map(({ metadata }) => metadata?.[ITEM]));
  return reasoning.filter(({ metadata = {} }) => {
    const { [ITEM]: item, [ENCRYPTED]: content } = metadata;
    return content !== undefined || (item !== undefined && items.has(item));
  });
}

function toOptions({ reasoning }: ModelParameters, schema: JsonObject | undefined): DialectOptions {
  return {
    ...toReasoningLevel(reasoning),
    options: {
      store: false,
      ...summary(reasoning),
      ...(schema !== undefined && { strictJsonSchema: isStrict(schema) }),
    },
  };
}

function summary(reasoning: ModelParameters["reasoning"]): JsonObject {
  if (reasoning === undefined || reasoning.type === "off") return {};
  // Unless this is null, the SDK requests a summary whenever an effort is set.
  return { reasoningSummary: reasoning.isHidden === true ? null : "auto" };
}
