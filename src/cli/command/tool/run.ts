/** `jp tool run`: a tool without a model. Its questions are answered by config or by a person. */
import type { ToolSettings } from "../../../config/index.ts";
import { type AttemptResult, checkArguments, type RunnableTool } from "../../../executor/index.ts";
import { neutralize, oneLine } from "../../../render/index.ts";
import { TerminalPrompter } from "../../../terminal/index.ts";
import { explainMisfit, type Question } from "../../../tool/index.ts";
import { CodedError, isJsonObject, type Json, type JsonObject } from "../../../util/index.ts";
import type { CommandContext } from "../../compose.ts";
import type { Call } from "../../define.ts";
import { ExitStatus, usageError } from "../../exit-status.ts";
import type { ConfigFlags } from "../../load-config.ts";
import { findTool, openTools } from "../../tools.ts";

export interface RunToolFlags extends ConfigFlags {
  readonly arg?: readonly string[];
  readonly args?: string;
  readonly nonInteractive?: boolean;
}

/** A tool that does not take a configured answer is not asked for ever. */
const MOST_AUTOMATIC_ANSWERS = 3;

export async function runTool({ words, options, context }: Call<RunToolFlags>): Promise<void> {
  const [name = ""] = words;
  await using tools = await openTools(context, options);
  const settings = findTool(tools.settings, name);
  const abort = new AbortController();
  const onInterrupt = () => {
    context.output.notice(""); // The terminal has written ^C into the line.
    abort.abort();
  };
  process.once("SIGINT", onInterrupt);
  try {
    const tool = await tools.open(name, abort.signal);
    const checked = await checkArguments(tool.description, readArguments(options));
    if (!checked.ok) throw new CodedError("invalid_arguments", checked.message);
    const call = { tool, settings, arguments: checked.arguments, signal: abort.signal };
    const result = await attemptUntilDone(call, context, options);
    finish(result, context);
  } finally {
    process.off("SIGINT", onInterrupt);
  }
}

interface ToolRun {
  readonly tool: RunnableTool;
  readonly settings: ToolSettings;
  readonly arguments: JsonObject;
  readonly signal: AbortSignal;
}

type Finished = Exclude<AttemptResult, { type: "needs_input" }>;

async function attemptUntilDone(
  run: ToolRun,
  context: CommandContext,
  options: RunToolFlags,
): Promise<Finished> {
  const answers: Record<string, Json> = {};
  const secretAnswers = new Set<string>();
  let automatic = 0;
  for (;;) {
    const result = await run.tool.executor.attempt({
      arguments: run.arguments,
      answers,
      secretAnswers: [...secretAnswers],
      signal: run.signal,
      onProgress: (message) => context.output.notice(neutralize(message)),
    });
    if (result.type !== "needs_input") return result;
    const { question } = result;
    const configured = run.settings.questions.get(question.id)?.answer;
    automatic = configured === undefined ? 0 : automatic + 1;
    if (automatic > MOST_AUTOMATIC_ANSWERS) throw keepsAsking(run.settings.name, question);
    const answer =
      configured === undefined
        ? await askPerson(run, question, options)
        : checkConfigured(run.settings.name, question, configured.value as Json);
    if (answer === undefined) return { type: "cancelled" };
    if (question.answerType.type === "secret") secretAnswers.add(question.id);
    answers[question.id] = answer;
  }
}

async function askPerson(
  { settings, signal }: ToolRun,
  question: Question,
  { nonInteractive }: RunToolFlags,
): Promise<Json | undefined> {
  const prompter = new TerminalPrompter();
  if (nonInteractive === true || !prompter.canAsk()) throw nobodyThere(settings.name, question);
  const label = settings.questions.get(question.id)?.promptLabel ?? settings.name;
  // There is no turn in which an answer could be remembered.
  const result = await prompter.ask({
    question: { ...question, persistence: "none" },
    label,
    signal,
  });
  return result.type === "answered" ? result.answer : undefined;
}

function finish(result: Finished, { output }: CommandContext): void {
  if (result.type === "cancelled") {
    output.notice("Cancelled.");
    throw new ExitStatus(130);
  }
  // Programs get what the tool said, people something harmless.
  const text = output.isTerminal ? neutralize(result.content) : result.content;
  if (result.type === "error") {
    output.notice(neutralize(result.content));
    throw new ExitStatus(1);
  }
  output.print(text.replace(/\n$/, ""));
}

/** Throws `usage`. */
function readArguments({ arg = [], args }: RunToolFlags): JsonObject {
  const all = args === undefined ? {} : parseJson(args);
  if (!isJsonObject(all)) throw usageError("--args expects a JSON object.");
  const single = arg.map((word) => {
    const [, key, json, text = ""] = /^([^=:]+)(:)?=([\s\S]*)$/.exec(word) ?? [];
    if (key === undefined)
      throw usageError(`Not an argument: ${word}`, "Write key=value or key:=JSON.");
    return [key, json === undefined ? text : parseJson(text)] as const;
  });
  return { ...all, ...Object.fromEntries(single) };
}

function parseJson(text: string): Json {
  try {
    return JSON.parse(text) as Json; // JSON.parse gives JSON.
  } catch {
    throw usageError(`This is no JSON: ${text}`);
  }
}

/** Throws `invalid_static_answer`; the answer itself is not told. */
function checkConfigured(tool: string, question: Question, answer: Json): Json {
  const misfit = explainMisfit(question.answerType, answer);
  if (misfit === undefined) return answer;
  const key = `conversation.tools.${tool}.questions.${question.id}.answer`;
  throw new CodedError("invalid_static_answer", `The configured answer does not fit: ${misfit}.`, {
    hint: `Change or remove ${key}`,
  });
}

function nobodyThere(tool: string, question: Question): CodedError {
  return new CodedError(
    "no_prompt_backend",
    `${tool} asks, and nobody is there to answer: ${oneLine(question.text)}`,
    {
      hint: `Run it on a terminal, or configure conversation.tools.${tool}.questions.${question.id}.answer`,
    },
  );
}

function keepsAsking(tool: string, question: Question): CodedError {
  return new CodedError(
    "attempts_exhausted",
    `${tool} keeps asking "${oneLine(question.text)}" although it got an answer.`,
  );
}
