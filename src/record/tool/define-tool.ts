/**
 * Tools in TypeScript. `await ctx.ask(…)` looks as if the answer came back into the same call. In
 * fact the call ends there, and jp runs it again with the answer. Everything before `ask` runs again
 * each time.
 */
import {
  isJsonArray,
  isJsonObject,
  JpError,
  type Json,
  type JsonObject,
  messageOf,
  randomKey,
} from "../../util/index.ts";
import {
  type Ask,
  type AskAll,
  assertDeclared,
  createAsk,
  type DeclaredAsk,
  type DeclaredQuestions,
  explainUndeclared,
  handled,
} from "./ask.ts";
import type { CallCheck } from "./call-check.ts";
import type { ContentBlock } from "./content.ts";
import { type Outcome, parseContent } from "./outcome.ts";
import type { InquirySource, Question } from "./question.ts";
import { questionToWire } from "./question-codec.ts";
import {
  isStandardSchema,
  type StandardSchema,
  toJsonSchema,
  validateWith,
} from "./standard-schema.ts";

/** A tool that jp can call. Both forms of `parameters` end up as JSON Schema here. */
export interface Tool<Name extends string = string> {
  readonly name: Name;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly parameters: JsonObject;
  /** Safe to run twice: if jp stops during a call, it runs the call again without asking. */
  readonly isIdempotent?: boolean;
  /** All questions that it asks, by id, as far as they are known before a call. Absent if it does not declare them. */
  readonly questions?: DeclaredQuestions;
  /** It runs steps with `once`, so it needs a conversation. */
  readonly hasSteps?: boolean;
  /** Who asks its questions; by default the tool itself. */
  inquirySource(name: string): InquirySource;
  /** The caller has checked the arguments. Never throws: an exception becomes an error outcome. */
  execute(call: ToolCall): Promise<Outcome>;
  /**
   * Finds out what happened to a call that was cut off. Never throws: an exception becomes `failed`. Absent if it
   * cannot.
   */
  checkCall?(call: CallToCheck): Promise<CallCheck>;
}

/** A call that was cut off while running. */
export type CallToCheck = Pick<
  ToolCall,
  "toolCallId" | "arguments" | "signal" | "onProgress" | "idempotencyKey"
>;

/** One attempt of a call: its arguments, and the answers so far. */
export interface ToolCall {
  /** The id that the model gave the call: the same in every attempt. Absent outside of a conversation. */
  readonly toolCallId?: string;
  readonly arguments: JsonObject;
  /** By question id. */
  readonly answers: Readonly<Record<string, Json>>;
  /** Notes the user added to answers, by question id. */
  readonly notes?: Readonly<Record<string, string>>;
  /** The bindings of the questions that were answered, by question id. */
  readonly bindings?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly onProgress?: (message: string) => void;
  /** Unique per call and the same in every attempt. Absent if the caller has none. */
  readonly idempotencyKey?: string;
  /** Runs a step of the call, unless an earlier attempt has finished it. Absent if nothing is recorded. */
  readonly runStep?: RunStep;
  /** See `ToolContext`. */
  readonly isShared?: boolean;
  /** Called for each question that the tool asks, even one that has an answer. If it throws, `ask` does. */
  readonly onAsk?: (question: Question) => void;
}

/** Returns the result of the step as JSON, undefined if there is none. */
export type RunStep = (name: string, step: () => unknown) => Promise<Json | undefined>;

/** The second argument of `run`. A tool that declares no questions may ask any. */
export interface ToolContext<Questions extends DeclaredQuestions = never> {
  /** The id that the model gave the call: the same in every attempt. Absent outside of a conversation. */
  readonly toolCallId?: string;
  /** Aborted when the call is cancelled. Pass it to everything that waits. */
  readonly signal: AbortSignal;
  readonly ask: [Questions] extends [never] ? Ask : DeclaredAsk<Questions>;
  readonly askAll: AskAll<[Questions] extends [never] ? string : keyof Questions & string>;
  readonly once: Once;
  /**
   * Unique per call, and the same in every attempt of the call: after each answer, after a crash in another process,
   * and when a person lets a call in doubt run again. Send it to services that ignore repeated requests. 32 hexadecimal
   * digits. Outside of a conversation it is the one that the caller sent, or random in each attempt.
   */
  readonly idempotencyKey: string;
  /** Notes the user added to answers, by question id. Only questions with `allowsNote` have any. */
  readonly notes: Readonly<Record<string, string>>;
  /** Shown while the tool runs; never part of its result. */
  readonly progress: (message: string) => void;
  /**
   * The conversation is in a store shared by several machines: the next attempt may run on another one, where files are
   * in another folder. So a `binding` should not contain absolute paths.
   */
  readonly isShared?: boolean;
}

/** The second argument of `check`. */
export type CheckContext = Pick<
  ToolContext,
  "toolCallId" | "signal" | "idempotencyKey" | "progress"
>;

/** The outcome of a call that was cut off while running, as its tool reports it. */
export type ToolCheck =
  /** It has done its work. The result has the form that `run` returns. */
  | { readonly type: "done"; readonly result: Json | ToolContent }
  /** It has done nothing, and nothing of it is still running: jp runs it again without asking. */
  | { readonly type: "not_done" }
  /** jp asks a person. */
  | { readonly type: "unknown" };

/**
 * Runs a step that must not run twice, such as a payment, and returns its result. Once the step is finished, its result
 * is on record, and later attempts of the same call return it without running the step. If the process ends during the
 * step, it is unknown whether the step has happened: jp asks a person before the call, and with it the step, runs
 * again. Pass `idempotencyKey` to the service, so that even then it happens once.
 *
 * - The result is part of the record, so it must never contain a secret. It has to be JSON, or nothing.
 * - If the step throws, nothing is recorded, and `once` throws the same. The step may then run again.
 * - A result that is not JSON (`step_not_json`) or too large for the limit of the call (`step_too_large`) is an error
 *   in this attempt and all later ones. The step does not run again.
 * - A name can be used for one step only: a second use in the same attempt throws `step_repeated`.
 * - Throws `steps_undeclared` in a tool without `hasSteps`, and `once_unavailable` outside of a conversation: see
 *   `serveTool`.
 */
export type Once = <Result extends Json | undefined | void>(
  name: string,
  step: () => Promise<Result> | Result,
) => Promise<Result>;

/** The argument of `defineTool`. */
export interface ToolDefinition<
  Arguments,
  Name extends string = string,
  Questions extends DeclaredQuestions = never,
> {
  readonly name: Name;
  readonly description: string;
  /** A JSON Schema, or a schema of zod, valibot, arktype or another library with Standard Schema. */
  readonly parameters: JsonObject | StandardSchema<Arguments>;
  /**
   * All questions that it asks, by id: `questions: { sure: booleanQuestion("sure", "Deploy?") }` makes `ask.sure()`.
   * Config then accepts no other ids, so that a typo does not silently drop a question's config.
   */
  readonly questions?: Questions & { readonly [Id in keyof Questions]: { readonly id: Id } };
  /**
   * It runs steps with `once`. They need a conversation, so callers without one refuse the tool before it asks
   * anything: see `toAiTool`.
   */
  readonly hasSteps?: boolean;
  /** Returns text, typed content, or any other value to be sent as JSON. */
  run(
    args: Arguments,
    context: ToolContext<Questions>,
  ): Promise<Json | ToolContent> | Json | ToolContent;
  /** Safe to run twice: if jp stops during a call, it runs the call again without asking. */
  readonly isIdempotent?: boolean;
  /**
   * Reports what happened to a call that was cut off while running, so that no person has to: ask the service whether
   * it knows the `idempotencyKey`. It must change nothing, and may be called several times. An error, no result within
   * 30 seconds and anything that is not a `ToolCheck` count as `unknown`.
   */
  check?(args: Arguments, context: CheckContext): Promise<ToolCheck> | ToolCheck;
  readonly inquirySource?: (name: string) => InquirySource;
}

/**
 * A result with typed content: files, images, and blocks for only the user or only the model. With a question among
 * the blocks, the call ends there as with `ask`, and the other blocks are shown with the question.
 */
export interface ToolContent {
  readonly content: readonly (ContentBlock | QuestionBlock)[];
  /** The call failed, and the content says why. */
  readonly isError?: boolean;
}

/** A question in a result. The answer is under its id in the next attempt. */
export interface QuestionBlock {
  readonly type: "question";
  readonly question: Question;
}

/**
 * Creates a tool. With a schema of zod, valibot or a similar library, `run` gets typed arguments. Throws `invalid_tool`
 * if a part is missing, as untyped code may leave it out, and `invalid_question` for a declared question that could not
 * be asked.
 */
export function defineTool<
  Arguments = JsonObject,
  const Name extends string = string,
  const Questions extends DeclaredQuestions = never,
>(definition: ToolDefinition<Arguments, Name, Questions>): Tool<Name> {
  const { name, description, parameters, isIdempotent, inquirySource } = definition;
  const { questions, hasSteps } = definition;
  assertWhole(definition);
  if (questions !== undefined) assertDeclared(name, questions);
  return {
    name,
    description,
    parameters: isStandardSchema(parameters) ? toJsonSchema(parameters) : parameters,
    ...(isIdempotent !== undefined && { isIdempotent }),
    ...(questions !== undefined && { questions }),
    ...(hasSteps !== undefined && { hasSteps }),
    inquirySource: inquirySource ?? ((tool) => ({ source: "tool", name: tool })),
    execute: (call) => execute(definition, call),
    ...(definition.check !== undefined && { checkCall: (call) => checkCall(definition, call) }),
  };
}

/** Otherwise only the first call would fail, or the first request that offers the tool. */
function assertWhole({ name, run: body, parameters }: Record<keyof Whole, unknown>): void {
  const named = typeof name === "string" && name !== "";
  const missing = [
    ...(named ? [] : ["a `name`"]),
    ...(typeof body === "function" ? [] : ["a function `run`"]),
    ...(isJsonObject(parameters) || isStandardSchema(parameters) ? [] : ["a schema `parameters`"]),
  ];
  if (missing.length === 0) return;
  const tool = named ? `The tool ${name}` : "The tool";
  throw new JpError("invalid_tool", `${tool} has to have ${missing.join(", ")}.`);
}

type Whole = Pick<ToolDefinition<unknown>, "name" | "run" | "parameters">;

async function execute<Arguments, Questions extends DeclaredQuestions>(
  definition: ToolDefinition<Arguments, string, Questions>,
  call: ToolCall,
): Promise<Outcome> {
  const { name, questions: declared } = definition;
  // A `catch` in the tool may swallow the rejection of `ask`; the questions still count.
  let asked: readonly Question[] = [];
  const asking = createAsk(call, declared ?? {}, (questions) => {
    if (asked.length === 0) asked = questions;
  });
  const context = createContext(call, asking, findRunStep(definition, call));
  // `createAsk` has added the declared questions to `ask`.
  const outcome = await run(definition, call.arguments, context as ToolContext<Questions>);
  const [question, ...more] = asked.length === 0 ? questionsIn(outcome) : asked;
  if (question === undefined) return outcome;
  const problem = declared && explainUndeclared(name, [question, ...more], declared);
  if (problem !== undefined)
    return { type: "error", message: problem, trace: [], transient: false };
  return { type: "needs_input", question, ...(more.length > 0 && { more }) };
}

function questionsIn(outcome: Outcome): readonly Question[] {
  return outcome.type === "needs_input" ? [outcome.question, ...(outcome.more ?? [])] : [];
}

async function run<Arguments, Questions extends DeclaredQuestions>(
  definition: ToolDefinition<Arguments, string, Questions>,
  value: JsonObject,
  context: ToolContext<Questions>,
): Promise<Outcome> {
  try {
    // A copy: the next attempt gets the original arguments, even if this one changes its own.
    const args = await parseArguments(definition, structuredClone(value));
    const result = await definition.run(args, context);
    return toOutcome(result);
  } catch (thrown) {
    return { type: "error", message: messageOf(thrown), trace: causesOf(thrown), transient: false };
  }
}

async function checkCall<Arguments>(
  definition: Pick<ToolDefinition<Arguments>, "parameters" | "check">,
  call: CallToCheck,
): Promise<CallCheck> {
  const { toolCallId, signal, onProgress, idempotencyKey } = call;
  if (idempotencyKey === undefined) return { type: "unknown" }; // A new one would differ from the call's.
  try {
    const args = await parseArguments(definition, structuredClone(call.arguments));
    const checked: unknown = await definition.check?.(args, {
      ...(toolCallId !== undefined && { toolCallId }),
      signal,
      idempotencyKey,
      progress: (message) => onProgress?.(message),
    });
    return toCallCheck(checked);
  } catch (thrown) {
    onProgress?.(messageOf(thrown));
    return { type: "failed" };
  }
}

/** An untyped tool may return anything. Throws `ShapeError`. */
function toCallCheck(checked: unknown): CallCheck {
  if (!isJsonObject(checked)) return { type: "failed" };
  const { type, result } = checked;
  if (type === "not_done" || type === "unknown") return { type };
  const outcome = type === "done" && result !== undefined ? toOutcome(result) : undefined;
  if (outcome === undefined || outcome.type === "needs_input") return { type: "failed" };
  return { type: "done", result: outcome };
}

/** An untyped tool may return nothing. Throws `ShapeError` for an invalid question. */
function toOutcome(result: unknown): Outcome {
  const outcome = isJsonObject(result) ? parseContent(withWireQuestions(result)) : undefined;
  if (outcome !== undefined) return outcome;
  const content = typeof result === "string" ? result : (JSON.stringify(result) ?? "");
  const isJson = isJsonObject(result) || Array.isArray(result);
  return { type: "success", content, ...(isJson && { isJson }) };
}

/** Converts the questions in a result, which have the form that `ask` takes. */
function withWireQuestions(result: JsonObject): JsonObject {
  const { content } = result;
  return isJsonArray(content) ? { ...result, content: content.map(blockToWire) } : result;
}

function blockToWire(block: Json): Json {
  const question = isJsonObject(block) && block["type"] === "question" && block["question"];
  if (!isJsonObject(question) || question["answerType"] === undefined) return block;
  // A `QuestionBlock`. One made by an untyped tool is checked when it is read.
  return { type: "question", question: questionToWire(question as unknown as Question) };
}

/** A library's schema may also apply defaults and transformations. */
async function parseArguments<Arguments>(
  { parameters }: Pick<ToolDefinition<Arguments>, "parameters">,
  value: JsonObject,
): Promise<Arguments> {
  if (!isStandardSchema(parameters)) return value as Arguments; // Checked before the call.
  const result = await validateWith(parameters, value);
  if (result.ok) return result.value;
  throw new Error(["Invalid arguments.", ...result.problems.map((line) => `- ${line}`)].join("\n"));
}

function createContext(
  call: ToolCall,
  { ask, askAll }: ReturnType<typeof createAsk>,
  runStep: RunStep,
): ToolContext {
  const { toolCallId, notes = {}, signal, onProgress, isShared } = call;
  let idempotencyKey: string | undefined;
  return {
    ...(toolCallId !== undefined && { toolCallId }),
    ...(isShared !== undefined && { isShared }),
    signal,
    notes,
    progress: (message) => onProgress?.(message),
    get idempotencyKey() {
      idempotencyKey ??= call.idempotencyKey ?? randomKey();
      return idempotencyKey;
    },
    once: ((name, step) => handled(runStep(name, step))) as Once,
    askAll,
    ask,
  };
}

function findRunStep(
  { name: tool, hasSteps = false }: Pick<Tool, "name" | "hasSteps">,
  { runStep = refuseStep }: ToolCall,
): RunStep {
  if (hasSteps) return runStep;
  return async (name) => {
    const message = `The step ${JSON.stringify(name)} was not run: ${tool} does not declare that it runs steps.`;
    throw new JpError("steps_undeclared", message, { hint: "Set `hasSteps: true` in defineTool." });
  };
}

async function refuseStep(name: string): Promise<never> {
  throw new JpError(
    "once_unavailable",
    `The step ${JSON.stringify(name)} was not run: this call is not part of a conversation, so there is no record ` +
      "that could keep the step from running twice.",
    {
      hint: "Run the tool in a conversation of jp, or pass `idempotencyKey` to the service and do not use `once`.",
    },
  );
}

const MAX_CAUSES = 10;

/** Limited, because an error may be its own cause. */
function causesOf(thrown: unknown, most = MAX_CAUSES): readonly string[] {
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  return cause === undefined || most === 0 ? [] : [messageOf(cause), ...causesOf(cause, most - 1)];
}
