/**
 * Uses jp tools as AI SDK tools. A tool that asks ends its attempt and runs again with the answer. Here, the answer
 * comes from a function, from the AI SDK's approval of the call, or from a client.
 */
import {
  type AttemptResult,
  checkArguments,
  createBuiltinExecutor,
} from "../../reach/executor/index.ts";
import { explainMisfit, type Question, type Tool, type ToolCall } from "../../record/tool/index.ts";
import {
  abortable,
  isJpError,
  isJsonObject,
  JpError,
  type Json,
  type JsonObject,
  randomKey,
} from "../../util/index.ts";
import { assertAnswerable, assertSupported, keyUnavailable, type Way } from "./refusals.ts";

/** Asks a person in this process. If it rejects, the call ends, and the model gets the error's message. */
export type AskPerson = (question: Question, call: AskingCall) => Promise<Json>;

/** The call that asks. */
export interface AskingCall {
  readonly toolCallId: string;
  /** Aborted with the call. */
  readonly signal: AbortSignal;
}

/** How the tool's questions are answered. */
export interface ToAiToolOptions extends KeyOptions {
  /** Without it, the call ends with an error when the tool asks. */
  readonly ask?: AskPerson;
}

/** The approval of the call answers the tool's question. */
export interface ApprovalOptions extends KeyOptions {
  readonly ask: "approval";
}

interface KeyOptions {
  /**
   * The `idempotencyKey` of a call: stable across its attempts, and unique. Call ids are unique within a chat at most,
   * so add the chat's id. Without it, the key is random, and a tool that uses it cannot be approved: it runs again
   * after the approval.
   */
  readonly idempotencyKey?: (toolCallId: string) => string;
}

/** A tool that the AI SDK runs. */
export interface ExecutableAiTool {
  readonly description: string;
  readonly inputSchema: AiValueSchema<JsonObject>;
  readonly execute: (input: JsonObject, options: AiExecuteOptions) => Promise<string>;
}

/** The parts of the AI SDK's `execute` options that jp uses. */
export interface AiExecuteOptions {
  readonly toolCallId: string;
  readonly messages: readonly unknown[];
  readonly abortSignal?: AbortSignal | undefined;
}

/** A tool with a yes-or-no question that a person answers by approving or denying the call. */
export interface ApprovalAiTool extends ExecutableAiTool {
  readonly needsApproval: ApprovalFunction<boolean>;
  /**
   * For version 7's `toolApproval`, by tool name. It also adds the question to the approval request: as `reason`, which
   * is `requestReason` in a UI message.
   */
  readonly approval: ApprovalFunction<ApprovalStatus>;
}

/** Runs the tool up to its question. */
export type ApprovalFunction<Result> = (
  input: JsonObject,
  options: Pick<AiExecuteOptions, "toolCallId">,
) => Promise<Result>;

/** Undefined if the tool does not ask. */
export type ApprovalStatus = { type: "user-approval"; reason: string } | undefined;

/** A tool that the AI SDK leaves to the client. */
export interface ClientAiTool {
  readonly description: string;
  readonly inputSchema: AiValueSchema<JsonObject>;
  readonly outputSchema: AiValueSchema<string>;
}

/** A Standard Schema. */
export interface AiValueSchema<Value> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly types?: { readonly input: unknown; readonly output: Value } | undefined;
    readonly validate: (value: unknown) => Promise<Validation<Value>>;
  };
}

type Validation<Value> =
  | { readonly value: Value; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string }[] };

/** A call left to a client, and the answers collected so far. */
export interface ClientToolCall {
  /** Checked against the tool's parameters. */
  readonly input: unknown;
  /** All answers so far, by question id. */
  readonly answers?: Readonly<Record<string, Json>>;
  /** The `binding` of each answered question, by question id. Without it, such an answer does not count. */
  readonly bindings?: Readonly<Record<string, string>>;
  readonly toolCallId?: string;
  readonly signal?: AbortSignal;
  /** Must be the same in every step of the call. A tool that uses it does not run without it. */
  readonly idempotencyKey?: string;
}

/** The tool asks or is done. The questions are to be answered together. */
export type ToolCallStep =
  | { readonly type: "question"; readonly questions: readonly Question[] }
  | { readonly type: "result"; readonly output: string }
  /**
   * `code` is set if the AI SDK cannot provide what the tool relies on: `unanswerable_question` or `key_unavailable`.
   */
  | { readonly type: "error"; readonly message: string; readonly code?: string };

/**
 * Converts a jp tool to an AI SDK tool. `ask` answers its questions in this process. With `"approval"`, a person
 * answers by approving or denying the call, also in a later request. That works for a tool that asks one yes-or-no
 * question. Throws `unsupported_tool` for a tool that relies on what the AI SDK cannot provide: steps, and questions
 * for certain people. If the tool does not declare them, the call ends with an error before anyone is asked.
 */
export function toAiTool(tool: Tool, options: ApprovalOptions): ApprovalAiTool;
export function toAiTool(tool: Tool, options?: ToAiToolOptions): ExecutableAiTool;
export function toAiTool(
  tool: Tool,
  { ask, ...options }: KeyOptions & { readonly ask?: AskPerson | "approval" } = {},
): ExecutableAiTool {
  if (ask === "approval") return toApprovalTool(tool, options);
  assertSupported(tool, "function");
  const { idempotencyKey = () => randomKey() } = options;
  return {
    description: tool.description,
    inputSchema: createInputSchema(tool),
    execute: async (input, callOptions) => {
      const { toolCallId } = callOptions;
      const key = idempotencyKey(toolCallId);
      const call = toCall(tool, input, { ...callOptions, way: "function", key });
      return finishCall(call, await attempt(call), async (question) => {
        if (ask === undefined) throw unanswerable(tool, question);
        return ask(question, { toolCallId, signal: call.signal });
      });
    },
  };
}

function toApprovalTool(tool: Tool, { idempotencyKey }: KeyOptions): ApprovalAiTool {
  assertSupported(tool, "approval");
  const attemptFirst = async (input: JsonObject, options: CallOptions & { toolCallId: string }) => {
    const key = idempotencyKey?.(options.toolCallId);
    const call = toCall(tool, input, { ...options, way: "approval", key });
    return { call, result: await attempt(call) };
  };
  // Keyed by the input object, which the AI SDK passes to both functions. Two users' calls may have the same id.
  const firstAttempts = new WeakMap<JsonObject, ReturnType<typeof attemptFirst>>();
  const approval: ApprovalFunction<ApprovalStatus> = async (input, options) => {
    const first = attemptFirst(input, options);
    firstAttempts.set(input, first);
    const { result } = await first.catch(() => ({ result: undefined })); // The call itself reports the error.
    if (result?.type !== "needs_input") return undefined;
    return { type: "user-approval", reason: reasonOf(result.question) };
  };
  return {
    description: tool.description,
    inputSchema: createInputSchema(tool),
    approval,
    needsApproval: async (input, options) => (await approval(input, options)) !== undefined,
    execute: async (input, options) => {
      const first = firstAttempts.get(input) ?? attemptFirst(input, options);
      firstAttempts.delete(input);
      const { call, result } = await first;
      const approved = result.type === "needs_input" ? result.question : undefined;
      return finishCall({ ...call, ...signalOf(options) }, result, async (question) => {
        if (question !== approved) throw unanswerable(tool, question);
        assertApproved(tool, question, options);
        return true;
      });
    },
  };
}

/** The question as the approval request shows it. */
function reasonOf({ text, context = "" }: Question): string {
  return [text, context].join("\n\n").trim();
}

/**
 * Converts a jp tool to an AI SDK tool without `execute`: the AI SDK leaves its calls to the client. The client has
 * them run by a server that calls `continueToolCall`, and passes the output to `addToolOutput`. Throws
 * `unsupported_tool` like `toAiTool`.
 */
export function toClientTool(tool: Tool): ClientAiTool {
  assertSupported(tool, "client");
  return {
    description: tool.description,
    inputSchema: createInputSchema(tool),
    outputSchema: createSchema({ type: "string" }, async (value) =>
      typeof value === "string" ? { value } : { issues: [{ message: "expected text" }] },
    ),
  };
}

/**
 * Runs a call with the answers so far, up to the tool's next question or its end. Stateless, so each step may run in
 * another process. Check the user's rights first: the client chooses both the input and the answers. Throws
 * `unsupported_tool` like `toAiTool`.
 */
export async function continueToolCall(
  tool: Tool,
  { input, answers = {}, bindings = {}, signal, toolCallId, idempotencyKey }: ClientToolCall,
): Promise<ToolCallStep> {
  assertSupported(tool, "client");
  const parsed = await parseInput(tool, input);
  if (parsed.issues !== undefined) return { type: "error", message: describeIssues(parsed.issues) };
  const options = { toolCallId, abortSignal: signal, way: "client", key: idempotencyKey } as const;
  const call = toCall(tool, parsed.value, options);
  try {
    // The next step may run on another machine.
    return toStep(await attempt({ ...call, answers, bindings, isShared: true }), call);
  } catch (error) {
    if (!isJpError(error)) throw error;
    return { type: "error", message: error.message, code: error.code };
  }
}

function toStep(result: AttemptResult, call: Call): ToolCallStep {
  switch (result.type) {
    case "needs_input":
      return { type: "question", questions: questionsOf(result) };
    case "success":
      return { type: "result", output: result.content };
    case "error":
      return { type: "error", message: result.content };
    case "cancelled":
      throw call.signal.reason;
    default:
      return result satisfies never;
  }
}

interface Call {
  readonly tool: Tool;
  readonly way: Way;
  readonly arguments: JsonObject;
  readonly answers: Readonly<Record<string, Json>>;
  readonly bindings: Readonly<Record<string, string>>;
  readonly toolCallId?: string;
  readonly signal: AbortSignal;
  readonly isShared?: boolean;
  /** Stable across all attempts of the call, on any machine. Undefined if there is no such key. */
  readonly key: string | undefined;
}

interface CallOptions {
  readonly toolCallId?: string | undefined;
  readonly abortSignal?: AbortSignal | undefined;
}

function toCall(
  tool: Tool,
  input: JsonObject,
  { toolCallId, way, key, ...options }: CallOptions & Pick<Call, "way" | "key">,
): Call {
  return {
    tool,
    way,
    arguments: input,
    answers: {},
    bindings: {},
    ...(toolCallId !== undefined && { toolCallId }),
    ...signalOf(options),
    key,
  };
}

function signalOf({ abortSignal = new AbortController().signal }: CallOptions) {
  return { signal: abortSignal };
}

/**
 * Throws `key_unavailable` if the tool relies on a missing key, and `unanswerable_question`. Answered questions are
 * checked too, since an answer may have come with the call.
 */
async function attempt({ tool, way, key, ...call }: Call): Promise<AttemptResult> {
  let refused: unknown;
  const refuse = (error: unknown): never => {
    refused ??= error; // The tool may catch it.
    throw error;
  };
  const onAsk = (question: Question) => {
    try {
      assertAnswerable(tool, [question], way);
    } catch (error) {
      refuse(error);
    }
  };
  const watched: Tool = {
    ...tool,
    inquirySource: (name) => tool.inquirySource(name),
    execute: (made: ToolCall) => tool.execute(Object.assign(made, { onAsk })),
  };
  const result = await createBuiltinExecutor(watched, tool.name).attempt({
    ...call,
    call,
    secretAnswers: [],
    notes: {},
    get idempotencyKey() {
      return key ?? refuse(keyUnavailable(tool));
    },
  });
  if (refused !== undefined) throw refused;
  if (result.type === "needs_input") assertAnswerable(tool, questionsOf(result), way);
  return result;
}

/** Runs the tool again with each answer. Throws the error that the model gets. */
async function finishCall(
  call: Call,
  first: AttemptResult,
  answer: (question: Question) => Promise<Json>,
): Promise<string> {
  let result = first;
  let { answers, bindings } = call;
  while (result.type === "needs_input") {
    for (const question of questionsOf(result)) {
      const given = await abortable(answer(question), call.signal);
      const misfit = explainMisfit(question.answerType, given);
      if (misfit !== undefined) {
        throw new JpError("invalid_answer", `The answer to "${question.text}": ${misfit}`);
      }
      const { id, binding } = question;
      answers = { ...answers, [id]: given };
      if (binding !== undefined) bindings = { ...bindings, [id]: binding };
    }
    result = await attempt({ ...call, answers, bindings });
  }
  if (result.type === "success") return result.content;
  throw result.type === "error" ? new Error(result.content) : call.signal.reason;
}

function questionsOf({
  question,
  more = [],
}: Extract<AttemptResult, { type: "needs_input" }>): readonly Question[] {
  return [question, ...more];
}

function unanswerable({ name }: Tool, { text }: Question): JpError {
  const message = `${name} asks "${text}", and there is no way to answer. Do not retry this call.`;
  const hint =
    'Pass `ask` to toAiTool: a function, or "approval" for one yes-or-no question. Or use toClientTool.';
  return new JpError("unanswerable_question", message, { hint });
}

/**
 * Throws unless the last message approves this call, and the tool still asks what was shown. A program's `toolApproval`
 * replaces the tool's own, so the AI SDK may run a call that no one has approved.
 */
function assertApproved(
  tool: Tool,
  question: Question,
  { messages, toolCallId }: AiExecuteOptions,
): void {
  const responses = partsOf(messages.at(-1), "tool-approval-response");
  const approved = responses.filter((part) => part["approved"] === true);
  const request = messages
    .flatMap((message) => partsOf(message, "tool-approval-request"))
    .filter((part) => part["toolCallId"] === toolCallId && part["isAutomatic"] !== true)
    .find(({ approvalId }) => approved.some((part) => part["approvalId"] === approvalId));
  if (request === undefined) throw unanswerable(tool, question);
  const { reason } = request;
  if (reason === undefined || reason === reasonOf(question)) return;
  const message = `${tool.name} asks "${question.text}", and something else was approved. Do not retry this call.`;
  throw new JpError("question_changed", message);
}

function partsOf(message: unknown, type: string): readonly JsonObject[] {
  if (!isJsonObject(message) || !Array.isArray(message["content"])) return [];
  const parts: readonly unknown[] = message["content"];
  return parts.filter(isJsonObject).filter((part) => part["type"] === type);
}

function createInputSchema(tool: Tool): AiValueSchema<JsonObject> {
  return createSchema(tool.parameters, (value) => parseInput(tool, value));
}

/** Fills in defaults, as before every call. */
async function parseInput(tool: Tool, input: unknown): Promise<Validation<JsonObject>> {
  if (!isJsonObject(input)) return { issues: [{ message: "expected an object" }] };
  const check = await checkArguments(tool, input);
  return check.ok ? { value: check.arguments } : { issues: [{ message: check.message }] };
}

function describeIssues(issues: readonly { readonly message: string }[]): string {
  return issues.map(({ message }) => message).join("\n");
}

/**
 * Also a schema of the AI SDK's own type, which it prefers and passes on unchanged. In a Standard Schema, it forbids
 * all unlisted properties. The own type needs `ai`, so only the Standard Schema is declared.
 */
function createSchema<Value>(
  jsonSchema: JsonObject,
  parse: (value: unknown) => Promise<Validation<Value>>,
): AiValueSchema<Value> {
  const validate = async (value: unknown) => {
    const { issues, ...parsed } = await parse(value);
    return issues === undefined
      ? { success: true, ...parsed }
      : { success: false, error: new Error(describeIssues(issues)) };
  };
  const own = { [Symbol.for("vercel.ai.schema")]: true, jsonSchema, validate };
  return { ...own, "~standard": { version: 1, vendor: "jp", validate: parse } };
}
