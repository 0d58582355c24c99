/**
 * Tools in TypeScript. `await ctx.ask(…)` looks as if the answer came back into the same call. In
 * fact the call ends there, and jp runs it again with the answer. Everything before `ask` runs again
 * each time.
 */
import { type Json, type JsonObject, messageOf } from "../util/index.ts";
import { answerFits } from "./answer.ts";
import type { Outcome } from "./outcome.ts";
import type { InquirySource, MultipleChoice, Question, QuestionOf } from "./question.ts";
import {
  isStandardSchema,
  type StandardSchema,
  toJsonSchema,
  validateWith,
} from "./standard-schema.ts";

/** A tool that jp can call. Both forms of `parameters` end up as JSON Schema here. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly parameters: JsonObject;
  /** Safe to run twice: if jp stops during a call, it runs the call again without asking. */
  readonly isIdempotent?: boolean;
  /** Who asks its questions; by default the tool itself. */
  inquirySource(name: string): InquirySource;
  /** The caller has checked the arguments. Never throws: an exception becomes an error outcome. */
  execute(call: ToolCall): Promise<Outcome>;
}

/** One attempt of a call: its arguments, and the answers so far. */
export interface ToolCall {
  readonly arguments: JsonObject;
  /** By question id. */
  readonly answers: Readonly<Record<string, Json>>;
  /** Notes the user added to answers, by question id. */
  readonly notes?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly onProgress?: (message: string) => void;
}

/** The second argument of `run`. */
export interface ToolContext {
  /** Aborted when the call is cancelled. Pass it to everything that waits. */
  readonly signal: AbortSignal;
  readonly ask: Ask;
  /** Shown while the tool runs; never part of its result. */
  readonly progress: (message: string) => void;
}

/** Returns the answer if there is one. Otherwise the call ends here and runs again once there is. */
export interface Ask {
  (question: QuestionOf<"boolean">): Promise<boolean>;
  (question: MultipleChoice): Promise<readonly string[]>;
  (question: Question): Promise<string>;
}

/** The argument of `defineTool`. */
export interface ToolDefinition<Arguments> {
  readonly name: string;
  readonly description: string;
  /** A JSON Schema, or a schema of zod, valibot, arktype or another library with Standard Schema. */
  readonly parameters: JsonObject | StandardSchema<Arguments>;
  /** Returns text, or any other value to be sent as JSON. */
  run(args: Arguments, context: ToolContext): Promise<Json> | Json;
  /** Safe to run twice: if jp stops during a call, it runs the call again without asking. */
  readonly isIdempotent?: boolean;
  readonly inquirySource?: (name: string) => InquirySource;
}

/** Creates a tool. With a schema of zod, valibot or a similar library, `run` gets typed arguments. */
export function defineTool<Arguments = JsonObject>(definition: ToolDefinition<Arguments>): Tool {
  const { name, description, parameters, isIdempotent, inquirySource } = definition;
  return {
    name,
    description,
    parameters: isStandardSchema(parameters) ? toJsonSchema(parameters) : parameters,
    ...(isIdempotent !== undefined && { isIdempotent }),
    inquirySource: inquirySource ?? ((tool) => ({ source: "tool", name: tool })),
    execute: (call) => execute(definition, call),
  };
}

async function execute<Arguments>(
  definition: ToolDefinition<Arguments>,
  call: ToolCall,
): Promise<Outcome> {
  // A `catch` in the tool may swallow the rejection of `ask`; the question still counts.
  let asked: Question | undefined;
  const context = createContext(call, (question) => {
    asked ??= question;
  });
  const outcome = await run(definition, call.arguments, context);
  return asked === undefined ? outcome : { type: "needs_input", question: asked };
}

async function run<Arguments>(
  definition: ToolDefinition<Arguments>,
  value: JsonObject,
  context: ToolContext,
): Promise<Outcome> {
  try {
    const result = await definition.run(await parseArguments(definition, value), context);
    const content = typeof result === "string" ? result : JSON.stringify(result);
    return { type: "success", content };
  } catch (thrown) {
    return { type: "error", message: messageOf(thrown), trace: causesOf(thrown), transient: false };
  }
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
  { answers, signal, onProgress }: ToolCall,
  onAsked: (question: Question) => void,
): ToolContext {
  return {
    signal,
    progress: (message) => onProgress?.(message),
    ask: (question: Question): Promise<never> => {
      const answer = Object.hasOwn(answers, question.id) ? answers[question.id] : undefined;
      if (answer === undefined || !answerFits(question.answerType, answer)) {
        onAsked(question);
        return Promise.reject(new Error(`waiting for an answer to "${question.id}"`));
      }
      return Promise.resolve(answer as never); // `answerFits` checked its type.
    },
  };
}

function causesOf(thrown: unknown): readonly string[] {
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  return cause === undefined ? [] : [messageOf(cause), ...causesOf(cause)];
}
