/** Turns a `ModelRequest` into a call of the AI SDK: messages, tools, schema, parameters, cache marks. */
import type {
  JSONSchema7,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4ToolChoice,
} from "@ai-sdk/provider";
import {
  Beginning,
  findBeginning,
  holdsAttachments,
  type ProviderEvent,
  type SystemPart,
  type ThreadParts,
} from "../../record/conversation/index.ts";
import { assertNever, type JsonObject } from "../../util/index.ts";
import { ProviderError } from "./provider-error.ts";
import { type CacheablePiece, type CachePoints, planCachePoints } from "./cache-points.ts";
import { asValid, type CacheSupport, type Dialect, toProviderOptions } from "./dialect.ts";
import { type Piece, ToolCallIds, toPieces } from "./pieces.ts";
import type {
  CachePolicy,
  ModelParameters,
  ModelRequest,
  SchemaChange,
  ToolChoice,
  ToolSchema,
} from "./port.ts";

export function toCallOptions(request: ModelRequest, dialect: Dialect): LanguageModelV4CallOptions {
  const { parts, parameters, cache: policy } = request;
  const schema = canSendSchema(request, dialect) ? parts.schema : undefined;
  const { tools, toolChoice } = selectTools(request, dialect, schema);
  const hasTools = tools.length > 0;
  const { prompt, context } =
    policy === "off" || dialect.cache === undefined
      ? toPlainPrompt(parts, dialect)
      : toMarkedPrompt(parts, dialect, { cache: dialect.cache, policy, hasTools });
  const { options, ...reasoning } = dialect.toOptions(parameters, schema);
  return {
    prompt,
    ...(hasTools && {
      tools: tools.map((tool, index) => toTool(tool, index === tools.length - 1, context)),
      toolChoice: toToolChoice(toolChoice),
    }),
    ...(schema !== undefined && { responseFormat: toResponseFormat(schema, dialect) }),
    ...toSampling(parameters),
    ...reasoning,
    ...toProviderOptions(
      dialect.key,
      Object.keys(parameters.other).length === 0
        ? asValid(options)
        : { ...options, ...parameters.other },
    ),
    ...(dialect.findProgress !== undefined && { includeRawChunks: true }),
  };
}

interface Prompt {
  readonly prompt: LanguageModelV4Message[];
  readonly context: Context;
}

interface Caching {
  readonly cache: CacheSupport;
  readonly policy: Exclude<CachePolicy, "off">;
  readonly hasTools: boolean;
}

function toMarkedPrompt(
  { systemParts, events }: ThreadParts,
  dialect: Dialect,
  { cache, policy, hasTools }: Caching,
): Prompt {
  const { places } = cache;
  const said = sendable(systemParts);
  const system = places.has("system") ? said : joinSurroundings(said);
  const pieces = toPieces(events, dialect);
  const cacheable = pieces.map((piece, index) => toCacheable(piece, pieces[index + 1]));
  const points = planCachePoints({ places, hasTools, systemParts: system, pieces: cacheable });
  const context = { dialect, points, mark: { cacheControl: cache.mark(policy) } };
  return { prompt: toMessages(systemMessages(system, context), pieces, context), context };
}

/** Providers reject empty parts. */
function sendable(parts: readonly SystemPart[]): readonly SystemPart[] {
  return parts.filter(({ text }) => text.trim() !== "");
}

const NO_POINTS: CachePoints = {
  isAfterTools: false,
  systemParts: new Set(),
  pieces: new Set(),
};

/** The messages of turns that many requests start with. */
interface BegunPrompt {
  /** The number of events that they are made of. */
  readonly length: number;
  /** All but the last. Nothing is added to them. */
  readonly closed: Beginning<LanguageModelV4Message>;
  /** The last, if there is one. What comes next may have the same role. */
  readonly open: readonly LanguageModelV4Message[];
  /** The ids of the calls in them. */
  readonly ids: ReadonlySet<string>;
}

/** Keyed by the events that they are made of. */
const begun = new WeakMap<Dialect, WeakMap<Beginning<ProviderEvent>, BegunPrompt>>();

/** A prompt without cache points. Builds messages only for events that earlier requests did not have. */
function toPlainPrompt({ systemParts, events }: ThreadParts, dialect: Dialect): Prompt {
  const context: Context = { dialect, points: NO_POINTS, mark: {} };
  const system = systemMessages(joinSurroundings(sendable(systemParts)), context);
  const beginning = findBeginning(events);
  // Instructions in the user role share a message with the user's first.
  if (beginning === undefined || system.at(-1)?.role === "user") {
    return { prompt: toMessages(system, toPieces(events, dialect), context), context };
  }
  const { closed, open, ids } = beginPrompt(beginning, context);
  const later = events.slice(beginning.events.length);
  const pieces = toPieces(later, dialect, new ToolCallIds(dialect, ids));
  return { prompt: closed.between(system, toMessages(open, pieces, context)), context };
}

function beginPrompt(
  { events, before }: NonNullable<ReturnType<typeof findBeginning>>,
  context: Context,
): BegunPrompt {
  const { dialect } = context;
  const made = begun.get(dialect) ?? new WeakMap<Beginning<ProviderEvent>, BegunPrompt>();
  begun.set(dialect, made);
  const same = made.get(events);
  if (same !== undefined) return same;
  const base = before && made.get(before);
  const ids = new ToolCallIds(dialect, base?.ids);
  const added = events.from(base?.length ?? 0);
  const messages = toMessages(base?.open ?? [], toPieces(added, dialect, ids), context);
  const open = messages.splice(-1);
  const closed = base?.closed.continueWith(messages) ?? new Beginning(messages);
  const prompt = { length: events.length, closed, open, ids: ids.taken };
  made.set(events, prompt);
  return prompt;
}

/** Event metadata that requests a cache point after the last piece of this event. */
const BREAKPOINT_KEY = "cache_breakpoint";

function toCacheable({ role, part, event }: Piece, next: Piece | undefined): CacheablePiece {
  return {
    role,
    isReasoning: part.type === "reasoning",
    holdsAttachments: holdsAttachments(event),
    isBreakpoint: event.metadata?.[BREAKPOINT_KEY] === true && next?.event !== event,
  };
}

interface Context {
  readonly dialect: Dialect;
  readonly points: CachePoints;
  /** The options that mark a cache point; empty if nothing is cached. */
  readonly mark: JsonObject;
}

/** Throws `ProviderError` if the tool to call does not exist. */
function selectTools(
  { tools, toolChoice }: ModelRequest,
  { canNameTool, forbidsCallsWithSchema }: Dialect,
  schema: JsonObject | undefined,
): Pick<ModelRequest, "tools" | "toolChoice"> {
  if (schema !== undefined && forbidsCallsWithSchema) return { tools, toolChoice: "none" };
  if (typeof toolChoice === "string" || canNameTool) return { tools, toolChoice };
  const named = tools.filter(({ name }) => name === toolChoice.tool);
  if (named.length > 0) return { tools: named, toolChoice: "required" };
  const message = `There is no tool named "${toolChoice.tool}" to call.`;
  throw new ProviderError("invalid_request", message, {
    isRetryable: false,
    hint: "Check `assistant.tool_choice`.",
  });
}

/** Ordered by how much of a prompt cache each change invalidates. */
const SCHEMA_CHANGES: readonly SchemaChange[] = ["nothing", "prompt", "tools"];

function canSendSchema({ schemaMayChange = "tools" }: ModelRequest, dialect: Dialect): boolean {
  return SCHEMA_CHANGES.indexOf(dialect.schemaChanges) <= SCHEMA_CHANGES.indexOf(schemaMayChange);
}

/** Surroundings are a separate part only where a cache point can precede them. */
function joinSurroundings(parts: readonly SystemPart[]): readonly SystemPart[] {
  const last = parts.at(-1);
  const before = parts.at(-2);
  if (last?.tag !== "surroundings" || before === undefined) return parts;
  return [...parts.slice(0, -2), { ...before, text: `${before.text}\n\n${last.text}` }];
}

function systemMessages(
  parts: readonly SystemPart[],
  { dialect, points, mark }: Context,
): LanguageModelV4Message[] {
  if (parts.length === 0) return [];
  if (dialect.template !== undefined) {
    const text = parts.map((part) => part.text).join("\n\n");
    // Templates that do not support calls often lack a system role too.
    return dialect.template.calls === "as_text"
      ? [{ role: "user", content: [{ type: "text", text }] }]
      : [{ role: "system", content: text }];
  }
  return parts.map(({ text }, position) => {
    const options = points.systemParts.has(position) ? mark : {};
    return { role: "system", content: text, ...toProviderOptions(dialect.key, asValid(options)) };
  });
}

/** The assistant's placeholder between the results of its calls and the user's next message. */
const NO_REPLY = "(No reply.)";

/** Merges consecutive pieces of the same role into one message. Leaves `before` unchanged. */
function toMessages(
  before: readonly LanguageModelV4Message[],
  pieces: readonly Piece[],
  context: Context,
): LanguageModelV4Message[] {
  const messages = [...before];
  const open = messages.pop();
  if (open !== undefined) messages.push(copyOf(open));
  const isTemplate = context.dialect.template !== undefined;
  for (const [position, piece] of pieces.entries()) {
    const options = pieceOptions(piece, position, context);
    if (isTemplate && piece.role === "user" && messages.at(-1)?.role === "tool") {
      messages.push({ role: "assistant", content: [{ type: "text", text: NO_REPLY }] });
    }
    const last = messages.at(-1);
    switch (piece.role) {
      case "user":
        if (last?.role !== "user") {
          messages.push({ role: "user", content: [withOptions(piece.part, options)] });
        } else if (!isTemplate || !joinText(last.content.at(-1), piece.part)) {
          last.content.push(withOptions(piece.part, options));
        }
        break;
      case "assistant":
        if (last?.role !== "assistant") {
          messages.push({ role: "assistant", content: [withOptions(piece.part, options)] });
        } else if (!isTemplate || !joinText(last.content.at(-1), piece.part)) {
          last.content.push(withOptions(piece.part, options));
        }
        break;
      case "tool":
        if (last?.role === "tool") last.content.push(withOptions(piece.part, options));
        else messages.push({ role: "tool", content: [withOptions(piece.part, options)] });
        break;
      default:
        assertNever(piece);
    }
  }
  return messages;
}

/** Copied because text may be appended to its parts. */
function copyOf(message: LanguageModelV4Message): LanguageModelV4Message {
  if (message.role !== "user") return message;
  return { ...message, content: message.content.map((part) => ({ ...part })) };
}

type MessagePart = Exclude<LanguageModelV4Message["content"], string>[number];

/** Appends the second to the first if both are text. Returns whether it did. */
function joinText(last: MessagePart | undefined, next: MessagePart): boolean {
  if (last?.type !== "text" || next.type !== "text") return false;
  last.text += `\n\n${next.text}`;
  return true;
}

function pieceOptions(
  { role, event }: Piece,
  position: number,
  { dialect, points, mark }: Context,
) {
  // The user's messages have no provider options.
  const own = role === "user" ? {} : dialect.toPartOptions(event);
  return toProviderOptions(dialect.key, points.pieces.has(position) ? { ...own, ...mark } : own);
}

/** Returns the part itself without options, because there may be a hundred thousand parts. */
function withOptions<Part extends MessagePart>(
  part: Part,
  options: ReturnType<typeof pieceOptions>,
): Part {
  return options.providerOptions === undefined ? part : { ...part, ...options };
}

function toTool(
  { name, description, parameters }: ToolSchema,
  isLast: boolean,
  { dialect, points, mark }: Context,
): LanguageModelV4FunctionTool {
  const inputSchema = toSdkSchema(dialect.toToolSchema(parameters));
  const options = toProviderOptions(dialect.key, isLast && points.isAfterTools ? mark : {});
  return { type: "function", name, description, inputSchema, ...options };
}

function toToolChoice(choice: ToolChoice): LanguageModelV4ToolChoice {
  return typeof choice === "string" ? { type: choice } : { type: "tool", toolName: choice.tool };
}

function toResponseFormat(schema: JsonObject, dialect: Dialect) {
  const sent = toSdkSchema(dialect.toOutputSchema(schema));
  return { type: "json" as const, name: "structured_output", schema: sent };
}

/** Unchecked: the provider validates it. */
function toSdkSchema(schema: JsonObject): JSONSchema7 {
  return schema;
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
