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
  shapeOf,
  stringField,
} from "../util/index.ts";
import { answerFits } from "./answer.ts";
import type { CallCheck } from "./call-check.ts";
import type { ContentBlock } from "./content.ts";
import { type Outcome, parseContent } from "./outcome.ts";
import type { AnswerTo, InquirySource, Question } from "./question.ts";
import {
  assertReuseFields,
  findDuplicate,
  parseInquiryQuestion,
  questionToWire,
} from "./question-codec.ts";
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
  /** Who asks its questions; by default the tool itself. */
  inquirySource(name: string): InquirySource;
  /** The caller has checked the arguments. Never throws: an exception becomes an error outcome. */
  execute(call: ToolCall): Promise<Outcome>;
  /** Finds out what became of a call that was cut off. Never throws: an exception becomes `failed`. Absent if it cannot. */
  checkCall?(call: CallToCheck): Promise<CallCheck>;
}

/** A call that was cut off while it was running. */
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
  /** Runs a step of the call, unless an earlier attempt has finished it. Absent where nothing is recorded. */
  readonly runStep?: RunStep;
  /** See `ToolContext`. */
  readonly isShared?: boolean;
}

/** Returns the result of the step as JSON, undefined if there is none. */
export type RunStep = (name: string, step: () => unknown) => Promise<Json | undefined>;

/** The second argument of `run`. */
export interface ToolContext {
  /** The id that the model gave the call: the same in every attempt. Absent outside of a conversation. */
  readonly toolCallId?: string;
  /** Aborted when the call is cancelled. Pass it to everything that waits. */
  readonly signal: AbortSignal;
  readonly ask: Ask;
  readonly askAll: AskAll;
  readonly once: Once;
  /**
   * Unique per call, and the same in every attempt of the call: after each answer, after a crash in another process, and
   * when a person lets a call in doubt run again. Send it to services that ignore repeated requests. 32 hexadecimal
   * digits. Outside of a conversation it is what the caller has sent, or random in each attempt.
   */
  readonly idempotencyKey: string;
  /** Notes the user added to answers, by question id. Only questions with `allowsNote` have any. */
  readonly notes: Readonly<Record<string, string>>;
  /** Shown while the tool runs; never part of its result. */
  readonly progress: (message: string) => void;
  /**
   * The conversation is in a store that machines share: another one, where files are in another folder, may run the next
   * attempt. So a `binding` should not name their whole paths.
   */
  readonly isShared?: boolean;
}

/** The second argument of `check`. */
export type CheckContext = Pick<
  ToolContext,
  "toolCallId" | "signal" | "idempotencyKey" | "progress"
>;

/** What became of a call that was cut off while it was running. */
export type ToolCheck =
  /** It has done its work. The result is as `run` would have returned it. */
  | { readonly type: "done"; readonly result: Json | ToolContent }
  /** It has done nothing, and nothing of it is still under way: jp runs it again without asking. */
  | { readonly type: "not_done" }
  /** jp asks a person. */
  | { readonly type: "unknown" };

/** Returns the answer if there is one. Otherwise the call ends here and runs again once there is. */
export type Ask = <Asked extends Question>(question: Asked) => Promise<AnswerTo<Asked>>;

/**
 * Asks several questions as one form, and returns the answers under the same keys. Questions that have
 * an answer are not asked again. The ids, not the keys, identify the questions in config and record.
 * Two questions with the same id are an error.
 */
export type AskAll = <Questions extends Readonly<Record<string, Question>>>(
  questions: Questions,
) => Promise<{ readonly [Key in keyof Questions]: AnswerTo<Questions[Key]> }>;

/**
 * Runs a step that must not run twice, such as a payment, and returns its result. Once the step is finished, its result
 * is on record, and later attempts of the same call return it without running the step. If the process ends during the
 * step, whether the step has happened is not known: jp asks a person before the call, and with it the step, runs again.
 * Pass `idempotencyKey` to the service, so that even then it happens once.
 *
 * - The result is part of the record, so it must never contain a secret. It has to be JSON, or nothing.
 * - If the step throws, nothing is recorded, and `once` throws the same. The step may then run again.
 * - A result that is not JSON (`step_not_json`) or too large for the limit of the call (`step_too_large`) is an error in
 *   this attempt and all later ones. The step does not run again.
 * - A name can be used for one step only: a second use in the same attempt throws `step_repeated`.
 * - Throws `once_unavailable` outside of a conversation: see `serveTool` and `toAiTool`.
 */
export type Once = <Result extends Json | undefined | void>(
  name: string,
  step: () => Promise<Result> | Result,
) => Promise<Result>;

/** The argument of `defineTool`. */
export interface ToolDefinition<Arguments, Name extends string = string> {
  readonly name: Name;
  readonly description: string;
  /** A JSON Schema, or a schema of zod, valibot, arktype or another library with Standard Schema. */
  readonly parameters: JsonObject | StandardSchema<Arguments>;
  /** Returns text, typed content, or any other value to be sent as JSON. */
  run(args: Arguments, context: ToolContext): Promise<Json | ToolContent> | Json | ToolContent;
  /** Safe to run twice: if jp stops during a call, it runs the call again without asking. */
  readonly isIdempotent?: boolean;
  /**
   * Says what became of a call that was cut off while it was running, so that no person has to: ask the service whether it
   * knows the `idempotencyKey`. It must change nothing, and may be called several times. An error, no result within 30 seconds
   * and anything that is not a `ToolCheck` count as `unknown`.
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

/** Creates a tool. With a schema of zod, valibot or a similar library, `run` gets typed arguments. */
export function defineTool<Arguments = JsonObject, const Name extends string = string>(
  definition: ToolDefinition<Arguments, Name>,
): Tool<Name> {
  const { name, description, parameters, isIdempotent, inquirySource } = definition;
  return {
    name,
    description,
    parameters: isStandardSchema(parameters) ? toJsonSchema(parameters) : parameters,
    ...(isIdempotent !== undefined && { isIdempotent }),
    inquirySource: inquirySource ?? ((tool) => ({ source: "tool", name: tool })),
    execute: (call) => execute(definition, call),
    ...(definition.check !== undefined && { checkCall: (call) => checkCall(definition, call) }),
  };
}

async function execute<Arguments>(
  definition: ToolDefinition<Arguments>,
  call: ToolCall,
): Promise<Outcome> {
  // A `catch` in the tool may swallow the rejection of `ask`; the questions still count.
  let asked: readonly Question[] = [];
  const context = createContext(call, (questions) => {
    if (asked.length === 0) asked = questions;
  });
  const outcome = await run(definition, call.arguments, context);
  const [question, ...more] = asked;
  if (question === undefined) return outcome;
  return { type: "needs_input", question, ...(more.length > 0 && { more }) };
}

async function run<Arguments>(
  definition: ToolDefinition<Arguments>,
  value: JsonObject,
  context: ToolContext,
): Promise<Outcome> {
  try {
    // A copy: the next attempt gets the arguments of the call, whatever this one does to its own.
    const args = await parseArguments(definition, structuredClone(value));
    const result = await definition.run(args, context);
    return toOutcome(result);
  } catch (thrown) {
    return { type: "error", message: messageOf(thrown), trace: causesOf(thrown), transient: false };
  }
}

async function checkCall<Arguments>(
  definition: ToolDefinition<Arguments>,
  call: CallToCheck,
): Promise<CallCheck> {
  const { toolCallId, signal, onProgress, idempotencyKey } = call;
  if (idempotencyKey === undefined) return { type: "unknown" }; // It would be another one than the call had.
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

/** A tool without types may return anything. Throws `ShapeError`. */
function toCallCheck(checked: unknown): CallCheck {
  if (!isJsonObject(checked)) return { type: "failed" };
  const { type, result } = checked;
  if (type === "not_done" || type === "unknown") return { type };
  const outcome = type === "done" && result !== undefined ? toOutcome(result) : undefined;
  if (outcome === undefined || outcome.type === "needs_input") return { type: "failed" };
  return { type: "done", result: outcome };
}

/** A tool without types may return nothing. Throws `ShapeError` for an invalid question. */
function toOutcome(result: unknown): Outcome {
  const outcome = isJsonObject(result) ? parseContent(withWireQuestions(result)) : undefined;
  if (outcome !== undefined) return outcome;
  const content = typeof result === "string" ? result : (JSON.stringify(result) ?? "");
  return { type: "success", content };
}

/** The questions in a result are as `ask` takes them. */
function withWireQuestions(result: JsonObject): JsonObject {
  const { content } = result;
  return isJsonArray(content) ? { ...result, content: content.map(blockToWire) } : result;
}

function blockToWire(block: Json): Json {
  const question = isJsonObject(block) && block["type"] === "question" && block["question"];
  if (!isJsonObject(question) || question["answerType"] === undefined) return block;
  // A `QuestionBlock`; what a tool without types may have made of it is checked when it is read.
  return { type: "question", question: questionToWire(question as unknown as Question) };
}

/** A library's schema may also apply defaults and transformations. */
async function parseArguments<Arguments>(
  { parameters }: ToolDefinition<Arguments>,
  value: JsonObject,
): Promise<Arguments> {
  if (!isStandardSchema(parameters)) return value as Arguments; // Checked before the call.
  const result = await validateWith(parameters, value);
  if (result.ok) return result.value;
  throw new Error(["Invalid arguments.", ...result.problems.map((line) => `- ${line}`)].join("\n"));
}

function createContext(
  call: ToolCall,
  onAsked: (questions: readonly Question[]) => void,
): ToolContext {
  const { toolCallId, answers, notes = {}, bindings = {}, signal, onProgress, isShared } = call;
  let idempotencyKey: string | undefined;
  const askAll = async (questions: Readonly<Record<string, Question>>) => {
    const asked = Object.values(questions);
    const duplicate = findDuplicate(asked.map(({ id }) => id));
    if (duplicate !== undefined)
      throw new Error(`askAll: two questions have the id "${duplicate}"`);
    const open = asked.filter((question) => !isAnswered(question, { answers, bindings }));
    if (open.length > 0) {
      for (const question of open) assertQuestion(question);
      onAsked(open);
      throw new Error(`waiting for an answer to "${open.map(({ id }) => id).join('", "')}"`);
    }
    return Object.fromEntries(Object.entries(questions).map(([key, { id }]) => [key, answers[id]]));
  };
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
    once: ((name, step) => handled((call.runStep ?? refuseStep)(name, step))) as Once,
    // `isAnswered` has checked the types of the answers.
    askAll: ((questions) => handled(askAll(questions))) as AskAll,
    ask: ((question: Question) =>
      handled(askAll({ question }).then((given) => given["question"]))) as Ask,
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

/** A tool may ask twice before it waits for the first answer. Node would end the program for the second rejection. */
function handled<Value>(asked: Promise<Value>): Promise<Value> {
  asked.catch(() => undefined);
  return asked;
}

/** Throws for a question that a tool without types has made, and that could be neither recorded nor shown. */
function assertQuestion(question: Question): void {
  try {
    const shape = shapeOf(questionToWire(question));
    stringField(shape, "id");
    parseInquiryQuestion(shape);
    assertReuseFields(question);
  } catch (error) {
    const message = `the question "${question.id}" cannot be asked: ${messageOf(error)}`;
    throw new Error(message, { cause: error });
  }
}

/** An answer that was given to something else does not count, except a no: it changes nothing. */
function isAnswered(
  { id, answerType, binding }: Question,
  { answers, bindings }: Required<Pick<ToolCall, "answers" | "bindings">>,
): boolean {
  const answer = Object.hasOwn(answers, id) ? answers[id] : undefined;
  if (answer === undefined || !answerFits(answerType, answer)) return false;
  if (binding === undefined || (answerType.type === "boolean" && answer === false)) return true;
  return Object.hasOwn(bindings, id) && bindings[id] === binding;
}

const MAX_CAUSES = 10;

/** Limited, because an error may be its own cause. */
function causesOf(thrown: unknown, most = MAX_CAUSES): readonly string[] {
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  return cause === undefined || most === 0 ? [] : [messageOf(cause), ...causesOf(cause, most - 1)];
}
