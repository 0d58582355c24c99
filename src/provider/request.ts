/** A request of ours as a call of the AI SDK. */
import type {
  JSONSchema7,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4ToolChoice,
} from "@ai-sdk/provider";
import type { SystemPart } from "../conversation/index.ts";
import { assertNever, type JsonObject } from "../util/index.ts";
import { type CachePoints, planCachePoints } from "./cache-points.ts";
import { type Dialect, optionsFor } from "./dialect.ts";
import { type Piece, toPieces } from "./pieces.ts";
import type {
  ModelParameters,
  ModelRequest,
  SchemaChange,
  ToolChoice,
  ToolSchema,
} from "./port.ts";

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

interface Marking {
  readonly dialect: Dialect;
  readonly points: CachePoints;
  /** The options that make a cache point; empty where there are none. */
  readonly mark: JsonObject;
}

function systemMessages(
  parts: readonly SystemPart[],
  { dialect, points, mark }: Marking,
): LanguageModelV4Message[] {
  if (parts.length === 0) return [];
  if (dialect.joinsSystemParts) {
    return [{ role: "system", content: parts.map(({ text }) => text).join("\n\n") }];
  }
  return parts.map(({ text }, position) => {
    const options = points.systemParts.has(position) ? mark : {};
    return { role: "system", content: text, ...optionsFor(dialect.key, options) };
  });
}

/** Neighbouring pieces of one role are one message. */
function conversationMessages(
  pieces: readonly Piece[],
  marking: Marking,
): LanguageModelV4Message[] {
  const messages: LanguageModelV4Message[] = [];
  for (const [position, piece] of pieces.entries()) {
    const options = pieceOptions(piece, position, marking);
    const last = messages.at(-1);
    switch (piece.role) {
      case "user":
        if (last?.role === "user") last.content.push({ ...piece.part, ...options });
        else messages.push({ role: "user", content: [{ ...piece.part, ...options }] });
        break;
      case "assistant":
        if (last?.role === "assistant") last.content.push({ ...piece.part, ...options });
        else messages.push({ role: "assistant", content: [{ ...piece.part, ...options }] });
        break;
      case "tool":
        if (last?.role === "tool") last.content.push({ ...piece.part, ...options });
        else messages.push({ role: "tool", content: [{ ...piece.part, ...options }] });
        break;
      default:
        assertNever(piece);
    }
  }
  return messages;
}

function pieceOptions({ event }: Piece, position: number, { dialect, points, mark }: Marking) {
  const own = dialect.toPartOptions(event);
  return optionsFor(dialect.key, points.pieces.has(position) ? { ...own, ...mark } : own);
}
