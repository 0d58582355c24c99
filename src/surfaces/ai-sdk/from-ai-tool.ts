/**
 * Uses AI SDK tools as jp tools. The types are structural, so that versions 6 and 7 of `ai` both fit and neither has to
 * be installed.
 */
import {
  booleanQuestion,
  defineTool,
  type StandardResult,
  type StandardSchema,
  toJsonSchema,
  type Tool,
} from "../../record/tool/index.ts";
import { isJsonObject, JpError, type Json, type JsonObject, messageOf } from "../../util/index.ts";

/** A tool made with the AI SDK's `tool` or `dynamicTool`: the parts that jp uses. */
export interface AiTool<Input = unknown> {
  readonly type?: string | undefined;
  readonly description?: string | AiFunctions<Input>["describe"] | undefined;
  readonly inputSchema: AiSchema<Input>;
  readonly needsApproval?: boolean | AiFunctions<Input>["needsApproval"] | undefined;
  readonly execute?: AiFunctions<Input>["execute"] | undefined;
  readonly toModelOutput?: AiFunctions<Input>["toModelOutput"] | undefined;
}

/**
 * Declared as methods, because TypeScript accepts a narrower `context` or output for a method, but not for a function.
 */
interface AiFunctions<Input> {
  describe(options: Pick<AiCallOptions, "context">): string;
  needsApproval(input: Input, options: AiCallOptions): boolean | PromiseLike<boolean>;
  execute(input: Input, options: AiCallOptions): unknown;
  toModelOutput(options: {
    readonly toolCallId: string;
    readonly input: Input;
    readonly output: unknown;
  }): unknown;
}

/** The second argument of an AI SDK tool's functions. */
export interface AiCallOptions {
  readonly toolCallId: string;
  /** Always empty: a jp tool does not see the conversation. */
  readonly messages: unknown[];
  readonly abortSignal?: AbortSignal;
  readonly context?: unknown;
  /** The name of `context` in version 6. */
  readonly experimental_context?: unknown;
}

/** Any schema that the AI SDK accepts: from zod or another Standard Schema library, or made with its `jsonSchema`. */
export type AiSchema<Input = unknown> =
  | AiSchemaObject<Input>
  | (() => AiSchemaObject<Input>)
  | StandardSchema<Input>;

interface AiSchemaObject<Input> {
  readonly _type: Input;
  readonly jsonSchema: object | PromiseLike<object>;
  readonly validate?: (value: unknown) => Validation<Input> | PromiseLike<Validation<Input>>;
}

type Validation<Input> =
  | { readonly success: true; readonly value: Input }
  | { readonly success: false; readonly error: Error };

/** Properties that an AI SDK tool does not state itself. */
export interface FromAiToolOptions<Input = unknown> {
  /** Replaces the tool's description. */
  readonly description?: string;
  /** JSON Schema of the input. Required if the tool's own schema is a promise. */
  readonly parameters?: JsonObject;
  /** Replaces the tool's `execute`. A client-side tool has none. */
  readonly execute?: (input: Input, options: AiCallOptions) => unknown;
  /** The tool's `context`; see `toolsContext` in the AI SDK. */
  readonly context?: unknown;
  /** Safe to run twice: if jp stops during a call, it runs the call again without asking. */
  readonly isIdempotent?: boolean;
}

/** Keyed by tool. */
export type FromAiToolsOptions<Tools> = {
  readonly [Name in keyof Tools]?: Tools[Name] extends AiTool<infer Input>
    ? FromAiToolOptions<Input>
    : never;
};

/** Converts all tools of a `ToolSet`. Throws like `fromAiTool`. */
export function fromAiTools<Tools extends Readonly<Record<string, AiTool>>>(
  tools: Tools,
  options: FromAiToolsOptions<Tools> = {},
): Tool[] {
  const all: Readonly<Record<string, FromAiToolOptions | undefined>> = options;
  return Object.entries(tools).map(([name, tool]) => fromAiTool(name, tool, all[name]));
}

/**
 * Converts an AI SDK tool to a jp tool. The tool's own schema validates and transforms the input. If it needs approval,
 * jp asks a person and records the answer. Intermediate outputs become progress, and the last one is the result. Throws
 * `unsupported_tool` if jp cannot run it.
 */
export function fromAiTool<Input>(
  name: string,
  tool: AiTool<Input>,
  options: FromAiToolOptions<Input> = {},
): Tool {
  const { execute, context, parameters, isIdempotent } = options;
  if (tool.execute === undefined && execute === undefined) throw notExecutable(name, tool);
  const own =
    typeof tool.description === "function" ? tool.description({ context }) : tool.description;
  return defineTool({
    name,
    description: options.description ?? own ?? "",
    parameters: toSchemaSource(name, toStandardSchema(tool.inputSchema), parameters),
    ...(isIdempotent !== undefined && { isIdempotent }),
    questions: { approval: approvalQuestion(name) },
    run: async ({ given, input }, { ask, progress, signal, toolCallId = crypto.randomUUID() }) => {
      const callOptions: AiCallOptions = {
        toolCallId,
        messages: [],
        abortSignal: signal,
        context,
        experimental_context: context,
      };
      if (await needsApproval(tool, input, callOptions)) {
        const shown = JSON.stringify(given, undefined, 2);
        if (!(await ask.approval({ context: shown }))) return NOT_APPROVED;
      }
      const running =
        execute === undefined ? tool.execute?.(input, callOptions) : execute(input, callOptions);
      const output = await lastOutput(running, progress);
      if (tool.toModelOutput === undefined) return toJson(output);
      return toResult(await tool.toModelOutput({ toolCallId, input, output }));
    },
  });
}

const NOT_APPROVED = "The user did not approve this call. The tool was not run.";

function notExecutable(name: string, { type }: Pick<AiTool, "type">): JpError {
  return type === "provider"
    ? new JpError("unsupported_tool", `${name} runs at its provider, which jp does not support.`)
    : new JpError("unsupported_tool", `${name} has no \`execute\`: it is for a client to run.`, {
        hint: "Pass `execute` in the options to run it here.",
      });
}

async function needsApproval<Input>(
  { needsApproval: isNeeded }: AiTool<Input>,
  input: Input,
  options: AiCallOptions,
): Promise<boolean> {
  return typeof isNeeded === "function" ? isNeeded(input, options) : (isNeeded ?? false);
}

/** An approval covers one input, so it is never remembered. */
function approvalQuestion(name: string) {
  return booleanQuestion("approval", `Run ${name}?`, { exclusive: true, persistence: "none" });
}

/** A tool may yield intermediate outputs. Only at the end is the last one known. */
async function lastOutput(output: unknown, progress: (message: string) => void): Promise<unknown> {
  if (!isAsyncIterable(output)) return await output;
  let last: unknown;
  for await (const each of output) {
    last = each;
    progress(toText(each));
  }
  return last;
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/** Like the AI SDK, which also sends JSON. */
function toJson(output: unknown): Json {
  return output === undefined ? null : (JSON.parse(JSON.stringify(output)) as Json); // JSON.parse gives JSON.
}

function toText(output: unknown): string {
  return typeof output === "string" ? output : JSON.stringify(toJson(output));
}

/** Reads a `ToolResultOutput`. jp results are text, so a file is replaced by a note. Throws an error output. */
function toResult(output: unknown): Json {
  if (!isJsonObject(output)) return toJson(output);
  const { type, value } = output;
  switch (type) {
    case "text":
    case "json":
      return toJson(value);
    case "error-text":
    case "error-json":
      throw new Error(toText(value));
    case "execution-denied":
      return toText(output["reason"] ?? NOT_APPROVED);
    case "content":
      return Array.isArray(value) ? value.map(describePart).join("\n") : toJson(value);
    default:
      return toJson(output);
  }
}

function describePart(part: unknown): string {
  if (!isJsonObject(part)) return "";
  const { type, text, mediaType = type } = part;
  return type === "text" && typeof text === "string" ? text : `[left out: ${toText(mediaType)}]`;
}

/** The input as the model wrote it, and as the tool receives it. */
interface ParsedInput<Input> {
  readonly given: JsonObject;
  readonly input: Input;
}

/** Throws `unsupported_tool` if there is no JSON Schema. */
function toSchemaSource<Input>(
  name: string,
  schema: StandardSchema<Input>,
  parameters: JsonObject | undefined,
): StandardSchema<ParsedInput<Input>> {
  const json = parameters ?? findJsonSchema(name, schema);
  const validate = async (given: JsonObject) => {
    const result = await schema["~standard"].validate(given);
    return result.issues === undefined ? { value: { given, input: result.value } } : result;
  };
  return {
    "~standard": {
      version: 1,
      vendor: schema["~standard"].vendor,
      validate: (value) => validate(value as JsonObject), // jp checks arguments before a call.
      jsonSchema: { input: () => json },
    },
  };
}

function findJsonSchema(name: string, schema: StandardSchema): JsonObject {
  try {
    return toJsonSchema(schema);
  } catch (cause) {
    const message = `jp needs a JSON Schema for the input of ${name}. ${messageOf(cause)}`;
    const hint = "Pass it as `parameters` in the options.";
    throw new JpError("unsupported_tool", message, { cause, hint });
  }
}

/** Wraps the AI SDK's own schema type, or a function that returns one, as a Standard Schema. */
function toStandardSchema<Input>(schema: AiSchema<Input>): StandardSchema<Input> {
  if ("~standard" in schema) return schema;
  const own = typeof schema === "function" ? schema() : schema;
  const validate = async (value: unknown): Promise<StandardResult<Input>> => {
    // Without `validate`, only the JSON Schema counts, as in the AI SDK.
    if (own.validate === undefined) return { value: value as Input };
    const result = await own.validate(value);
    return result.success
      ? { value: result.value }
      : { issues: [{ message: messageOf(result.error) }] };
  };
  const input = () => {
    if ("then" in own.jsonSchema) throw new Error("it is a promise");
    return { ...own.jsonSchema };
  };
  return { "~standard": { version: 1, vendor: "ai", validate, jsonSchema: { input } } };
}
