/** A request of ours as a call of the AI SDK. */
import type {
  JSONSchema7,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4ToolChoice,
} from "@ai-sdk/provider";
import type { JsonObject } from "../../util/index.ts";
import type { Dialect } from "../dialect/index.ts";
import type {
  ModelParameters,
  ModelRequest,
  SchemaChange,
  ToolChoice,
  ToolSchema,
} from "../port.ts";
import { optionsFor } from "../sdk-json.ts";
import { planCachePoints } from "./cache-points.ts";
import { conversationMessages, type Marking, systemMessages } from "./messages.ts";
import { toPieces } from "./pieces.ts";

export function toCallOptions(request: ModelRequest, dialect: Dialect): LanguageModelV4CallOptions {
  const { parts, tools, toolChoice, parameters, cache: policy } = request;
  const { events } = parts;
  const schema = isSchemaSent(request, dialect) ? parts.schema : undefined;
  // An empty part is refused.
  const systemParts = parts.systemParts.filter(({ text }) => text.trim() !== "");
  const pieces = toPieces(events, dialect);

  const cache = policy === "off" ? undefined : dialect.cache;
  const places = cache?.places ?? new Set();
  const points = planCachePoints({ places, hasTools: tools.length > 0, systemParts, pieces });
  const mark = cache === undefined || policy === "off" ? {} : { cacheControl: cache.mark(policy) };
  const marking: Marking = { dialect, points, mark };

  const { options, ...reasoning } = dialect.toOptions(parameters, schema);
  return {
    prompt: [...systemMessages(systemParts, marking), ...conversationMessages(pieces, marking)],
    ...(tools.length > 0 && {
      tools: tools.map((tool, index) => toTool(tool, index === tools.length - 1, marking)),
      toolChoice: toToolChoice(toolChoice),
    }),
    ...(schema !== undefined && { responseFormat: toResponseFormat(schema, dialect) }),
    ...toSampling(parameters),
    ...reasoning,
    ...optionsFor(dialect.key, { ...options, ...parameters.other }),
  };
}

/** From what leaves all of a cache to what leaves none of it. */
const CHANGES: readonly SchemaChange[] = ["nothing", "prompt", "tools"];

function isSchemaSent({ schemaMayChange = "tools" }: ModelRequest, dialect: Dialect): boolean {
  return CHANGES.indexOf(dialect.schemaChanges) <= CHANGES.indexOf(schemaMayChange);
}

function toTool(
  { name, description, parameters }: ToolSchema,
  isLast: boolean,
  { dialect, points, mark }: Marking,
): LanguageModelV4FunctionTool {
  const inputSchema = toSdkSchema(dialect.toToolSchema(parameters));
  const options = isLast && points.isAfterTools ? mark : {};
  return { type: "function", name, description, inputSchema, ...optionsFor(dialect.key, options) };
}

function toToolChoice(choice: ToolChoice): LanguageModelV4ToolChoice {
  return typeof choice === "string" ? { type: choice } : { type: "tool", toolName: choice.tool };
}

function toResponseFormat(schema: JsonObject, dialect: Dialect) {
  const sent = toSdkSchema(dialect.toOutputSchema(schema));
  return { type: "json" as const, name: "structured_output", schema: sent };
}

function toSdkSchema(schema: JsonObject): JSONSchema7 {
  return schema; // Whoever wrote it answers for it; providers check it again.
}

function toSampling(parameters: ModelParameters): Partial<LanguageModelV4CallOptions> {
  const { maxTokens, temperature, topP, topK, stopWords } = parameters;
  return {
    ...(maxTokens !== undefined && { maxOutputTokens: maxTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(topK !== undefined && { topK }),
    ...(stopWords !== undefined && stopWords.length > 0 && { stopSequences: [...stopWords] }),
  };
}
