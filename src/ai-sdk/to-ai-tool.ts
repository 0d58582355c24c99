/**
 * Tools of jp as tools of the AI SDK. A tool that asks ends its attempt, and runs again with the answer. Here the
 * answer comes from a function, from the AI SDK's approval of the call, or from a client.
 */
import { type AttemptResult, checkArguments, createBuiltinExecutor } from "../executor/index.ts";
import { explainMisfit, type Question, type Tool } from "../tool/index.ts";
import {
  abortable,
  isJsonObject,
  JpError,
  type Json,
  type JsonObject,
  randomKey,
} from "../util/index.ts";

/** Asks a person in this process. If it rejects, the call ends, and the model gets the error's message. */
export type AskPerson = (question: Question, call: AskingCall) => Promise<Json>;

/** The call that asks. */
export interface AskingCall {
  readonly toolCallId: string;
  /** Aborted with the call. */
  readonly signal: AbortSignal;
}

/** How the tool's questions are answered. */
export interface ToAiToolOptions {
  /** Without it, the call ends with an error when the tool asks. */
  readonly ask?: AskPerson;
}

/** A tool that the AI SDK runs. */
export interface ExecutableAiTool {
  readonly description: string;
  readonly inputSchema: AiValueSchema<JsonObject>;
  readonly execute: (input: JsonObject, options: AiExecuteOptions) => Promise<string>;
}

/** The parts of what the AI SDK passes to `execute` that jp uses. */
export interface AiExecuteOptions {
  readonly toolCallId: string;
  readonly messages: readonly unknown[];
  readonly abortSignal?: AbortSignal | undefined;
}

/** A tool whose yes-or-no question a person answers by approving the call, or denying it. */
export interface ApprovalAiTool extends ExecutableAiTool {
  readonly needsApproval: ApprovalFunction<boolean>;
  /**
   * For `toolApproval` of version 7, by the tool's name. It also adds the question to the request for approval: as
   * `reason`, which is `requestReason` in a UI message.
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

/** A call that a client has been left with, and the answers that it has collected. */
export interface ClientToolCall {
  /** Checked against the tool's parameters. */
  readonly input: unknown;
  /** All answers so far, by question id. */
  readonly answers?: Readonly<Record<string, Json>>;
  /** The `binding` of each question that was answered, by question id. Without it, such an answer does not count. */
  readonly bindings?: Readonly<Record<string, string>>;
  readonly toolCallId?: string;
  readonly signal?: AbortSignal;
  /** The same in every step of the call. Without it, the tool gets another one in each step. */
  readonly idempotencyKey?: string;
}

/** The tool asks, or it is done. The questions are to be answered together. */
export type ToolCallStep =
  | { readonly type: "question"; readonly questions: readonly Question[] }
  | { readonly type: "result"; readonly output: string }
  | { readonly type: "error"; readonly message: string };

/**
 * Turns a tool of jp into one of the AI SDK. `ask` answers its questions in this process. With `"approval"`, a person
 * answers by approving the call or denying it, also in a later request. That works for a tool that asks one
 * yes-or-no question. Any other question ends the call with an error.
 */
export function toAiTool(tool: Tool, options: { readonly ask: "approval" }): ApprovalAiTool;
export function toAiTool(tool: Tool, options?: ToAiToolOptions): ExecutableAiTool;
export function toAiTool(
  tool: Tool,
  { ask }: { readonly ask?: AskPerson | "approval" } = {},
): ExecutableAiTool {
  if (ask === "approval") return toApprovalTool(tool);
  return {
    description: tool.description,
    inputSchema: createInputSchema(tool),
    execute: async (input, options) => {
      const call = toCall(tool, input, options);
      return finishCall(call, await attempt(call), async (question) => {
        if (ask === undefined) throw unanswerable(tool, question);
        return ask(question, { toolCallId: options.toolCallId, signal: call.signal });
      });
    },
  };
}

function toApprovalTool(tool: Tool): ApprovalAiTool {
  // By the input itself, which the AI SDK passes to both functions. Two users' calls may have the same id.
  const firstAttempts = new WeakMap<JsonObject, AttemptResult>();
  const approval: ApprovalFunction<ApprovalStatus> = async (input, options) => {
    const result = await attempt(toCall(tool, input, options));
    firstAttempts.set(input, result);
    const question = yesOrNoQuestion(result);
    if (question === undefined) return undefined;
    const { text, context } = question;
    return { type: "user-approval", reason: [text, context ?? ""].join("\n\n").trim() };
  };
  return {
    description: tool.description,
    inputSchema: createInputSchema(tool),
    approval,
    needsApproval: async (input, options) => (await approval(input, options)) !== undefined,
    execute: async (input, options) => {
      const call = toCall(tool, input, options);
      const first = firstAttempts.get(input) ?? (await attempt(call));
      firstAttempts.delete(input);
      const approved = isApproved(options) ? yesOrNoQuestion(first) : undefined;
      return finishCall(call, first, async (question) => {
        if (question !== approved) throw unanswerable(tool, question);
        return true;
      });
    },
  };
}

/**
 * Turns a tool of jp into one of the AI SDK that has no `execute`: the AI SDK leaves its calls to the client. The
 * client has them run by a server that calls `continueToolCall`, and passes the output to `addToolOutput`.
 */
export function toClientTool(tool: Tool): ClientAiTool {
  return {
    description: tool.description,
    inputSchema: createInputSchema(tool),
    outputSchema: createSchema({ type: "string" }, async (value) =>
      typeof value === "string" ? { value } : { issues: [{ message: "expected text" }] },
    ),
  };
}

/**
 * Runs a call with the answers so far, up to the tool's next question or its end. It keeps nothing between steps, so
 * each step may run in another process. Check first what this user may do: the client chooses both the input and the
 * answers.
 */
export async function continueToolCall(
  tool: Tool,
  { input, answers = {}, bindings = {}, signal, toolCallId, idempotencyKey }: ClientToolCall,
): Promise<ToolCallStep> {
  const parsed = await parseInput(tool, input);
  if (parsed.issues !== undefined) return { type: "error", message: describeIssues(parsed.issues) };
  const call = toCall(tool, parsed.value, { toolCallId, abortSignal: signal });
  const key = idempotencyKey !== undefined && { idempotencyKey };
  const result = await attempt({ ...call, answers, bindings, ...key });
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
  readonly arguments: JsonObject;
  readonly answers: Readonly<Record<string, Json>>;
  readonly bindings: Readonly<Record<string, string>>;
  readonly toolCallId?: string;
  readonly signal: AbortSignal;
  readonly idempotencyKey: string;
}

/** The call has one key over all its attempts here. The AI SDK's id of the call may not be unique. */
function toCall(
  tool: Tool,
  input: JsonObject,
  options: {
    readonly toolCallId?: string | undefined;
    readonly abortSignal?: AbortSignal | undefined;
  },
): Call {
  const { toolCallId, abortSignal = new AbortController().signal } = options;
  return {
    tool,
    arguments: input,
    answers: {},
    bindings: {},
    ...(toolCallId !== undefined && { toolCallId }),
    signal: abortSignal,
    idempotencyKey: randomKey(),
  };
}

function attempt({ tool, ...call }: Call): Promise<AttemptResult> {
  const request = { ...call, call, secretAnswers: [], notes: {} };
  return createBuiltinExecutor(tool, tool.name).attempt(request);
}

/** Runs the tool again with each answer. Throws what the model gets as an error. */
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

function yesOrNoQuestion(result: AttemptResult): Question | undefined {
  if (result.type !== "needs_input" || questionsOf(result).length > 1) return undefined;
  return result.question.answerType.type === "boolean" ? result.question : undefined;
}

function unanswerable({ name }: Tool, { text }: Question): JpError {
  const message = `${name} asks "${text}", and there is no way to answer. Do not retry this call.`;
  const hint =
    'Pass `ask` to toAiTool: a function, or "approval" for one yes-or-no question. Or use toClientTool.';
  return new JpError("unanswerable_question", message, { hint });
}

/**
 * Whether the last message approves this call. A program's `toolApproval` replaces the tool's own, so the AI SDK may
 * run a call that no one has approved.
 */
function isApproved({ messages, toolCallId }: AiExecuteOptions): boolean {
  const requests = messages.flatMap((message) => partsOf(message, "tool-approval-request"));
  const ids = requests.filter((part) => part["toolCallId"] === toolCallId);
  return partsOf(messages.at(-1), "tool-approval-response").some(
    ({ approvalId, approved }) =>
      approved === true && ids.some((request) => request["approvalId"] === approvalId),
  );
}

function partsOf(message: unknown, type: string): readonly JsonObject[] {
  if (!isJsonObject(message) || !Array.isArray(message["content"])) return [];
  const parts: readonly unknown[] = message["content"];
  return parts.filter(isJsonObject).filter((part) => part["type"] === type);
}

function createInputSchema(tool: Tool): AiValueSchema<JsonObject> {
  return createSchema(tool.parameters, (value) => parseInput(tool, value));
}

/** Fills in defaults, as before any call. */
async function parseInput(tool: Tool, input: unknown): Promise<Validation<JsonObject>> {
  if (!isJsonObject(input)) return { issues: [{ message: "expected an object" }] };
  const check = await checkArguments(tool, input);
  return check.ok ? { value: check.arguments } : { issues: [{ message: check.message }] };
}

function describeIssues(issues: readonly { readonly message: string }[]): string {
  return issues.map(({ message }) => message).join("\n");
}

/**
 * A schema of the AI SDK's own kind too, which it prefers and passes on unchanged. In a Standard Schema, it forbids
 * all properties that are not listed. Its type needs `ai`, so only the Standard Schema is declared.
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
