/** OpenAI's responses API, through `@ai-sdk/openai`. */
import type { ProviderEvent } from "../conversation/index.ts";
import type { JsonObject } from "../util/index.ts";
import {
  apiUrl,
  fetchList,
  type Listing,
  type Opening,
  type ProviderDefinition,
  toModelInfo,
} from "./definition.ts";
import {
  type Dialect,
  type DialectOptions,
  isReasoning,
  type PieceKind,
  plainDialect,
  reasoningLevel,
  renamed,
} from "./dialect.ts";
import type { ModelParameters } from "./port.ts";
import { isStrict, toStrictSchema } from "./schema/strict-schema.ts";

export const openai: ProviderDefinition = {
  dialect: openaiDialect,
  isLocal: false,
  async load() {
    const { createOpenAI } = await import("@ai-sdk/openai");
    return ({ name, settings, fetch }: Opening) => {
      const { baseUrl, apiKey = "" } = settings;
      return createOpenAI({ baseURL: apiUrl(baseUrl, "/v1"), apiKey, fetch }).responses(name);
    };
  },
  async list({ settings, fetch, signal }: Listing) {
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
    ...plainDialect("openai"),
    contextTooLong: /context_length_exceeded|exceeds the context window|maximum context length/i,
    toEventMetadata,
    toPartOptions,
    withOwnReasoning,
    toOutputSchema: toStrictSchema,
    toOptions,
  };
}

function toEventMetadata(kind: PieceKind, metadata: JsonObject): JsonObject {
  if (kind === "message") return renamed(metadata, { phase: PHASE });
  if (kind === "tool_call") return {};
  return renamed(metadata, { itemId: ITEM, reasoningEncryptedContent: ENCRYPTED });
}

function toPartOptions(event: ProviderEvent): JsonObject {
  const { metadata = {} } = event;
  if (!isReasoning(event)) return renamed(metadata, { [PHASE]: "phase" });
  return renamed(metadata, { [ITEM]: "itemId", [ENCRYPTED]: "reasoningEncryptedContent" });
}

/**
 * One item may have come as several pieces, and only the last has its content. An item of which none
 * has it was cut off, and names nothing that the provider knows.
 */
function withOwnReasoning(events: readonly ProviderEvent[]): readonly ProviderEvent[] {
  const encrypted = events.filter(({ metadata }) => metadata?.[ENCRYPTED] !== undefined);
  const items = new Set(encrypted.map(({ metadata }) => metadata?.[ITEM]));
  return events.filter((event) => {
    if (!isReasoning(event)) return true;
    const { [ITEM]: item, [ENCRYPTED]: content } = event.metadata ?? {};
    return content !== undefined || (item !== undefined && items.has(item));
  });
}

function toOptions({ reasoning }: ModelParameters, schema: JsonObject | undefined): DialectOptions {
  return {
    ...reasoningLevel(reasoning),
    options: {
      store: false,
      ...summary(reasoning),
      ...(schema !== undefined && { strictJsonSchema: isStrict(schema) }),
    },
  };
}

function summary(reasoning: ModelParameters["reasoning"]): JsonObject {
  if (reasoning === undefined || reasoning.type === "off") return {};
  // Without a null, the SDK asks for a summary wherever there is an effort.
  const isHidden = reasoning.type === "effort" && reasoning.isHidden;
  return { reasoningSummary: isHidden ? null : "auto" };
}
