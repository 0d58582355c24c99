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

/** A tool that does not take an answer that nobody gave is not asked for ever. */
const MOST_AUTOMATIC_ANSWERS = 3;

export async function runTool({ words, options, context }: Call<RunToolFlags>): Promise<void> {
  const [name = ""] = words;
  const abort = new AbortController();
  const onInterrupt = () => {
    context.output.notice(""); // The terminal has written ^C into the line.
    abort.abort();
  };
  // A tool has a process group of its own: it would go on without us.
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.once(signal, onInterrupt);
  try {
    finish(await call(name, { context, options, signal: abort.signal }), context);
  } catch (error) {
    // Whatever was under way, a server's start for example, was given up.
    if (!abort.signal.aborted || error instanceof ExitStatus) throw error;
    finish({ type: "cancelled" }, context);
  } finally {
    for (const signal of signals) process.off(signal, onInterrupt);
  }
}

interface ToolCommand {
  readonly context: CommandContext;
  readonly options: RunToolFlags;
  readonly signal: AbortSignal;
}

async function call(name: string, { context, options, signal }: ToolCommand): Promise<Finished> {
  await using tools = await openTools(context, options);
  const settings = findTool(tools.settings, name);
  const tool = await tools.open(name, signal);
  const checked = await checkArguments(tool.description, readArguments(options));
  if (!checked.ok) {
    const lines = checked.message.split("\n");
    // Advice for a model; for a person there is a command.
    const message = lines
      .filter((line) => !line.startsWith("You can call `describe_tools("))
      .join("\n");
    throw new CodedError("invalid_arguments", message, { hint: `See: jp tool show ${name}` });
  }
  const run = { tool, settings, arguments: checked.arguments, signal };
  return await attemptUntilDone(run, context, options);
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
  /** How often in a row each question was answered without a person. */
  const automatic = new Map<string, number>();
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
    const isPersonAsked = mayAsk(run, question, options);
    const count = isPersonAsked ? 0 : (automatic.get(question.id) ?? 0) + 1;
    if (count > MOST_AUTOMATIC_ANSWERS) throw keepsAsking(run.settings.name, question);
    automatic.set(question.id, count);
    const answer = isPersonAsked
      ? await askPerson(run, question)
      : answerAlone(run.settings, question);
    if (answer === undefined) return { type: "cancelled" };
    if (question.answerType.type === "secret") secretAnswers.add(question.id);
    answers[question.id] = answer;
  }
}

/** A configured answer comes before any person. */
function mayAsk(
  { settings }: ToolRun,
  { id }: Question,
  { nonInteractive }: RunToolFlags,
): boolean {
  if (settings.questions.get(id)?.answer !== undefined || nonInteractive === true) return false;
  return new TerminalPrompter().canAsk();
}

/** By config, or as the policy for an absent person says. Throws if neither gives an answer. */
function answerAlone(settings: ToolSettings, question: Question): Json {
  const configured = settings.questions.get(question.id)?.answer;
  if (configured === undefined) return answerDetached(settings, question);
  return checkConfigured(settings.name, question, configured.value as Json); // From a file: JSON.
}

async function askPerson(
  { settings, signal }: ToolRun,
  question: Question,
): Promise<Json | undefined> {
  const prompter = new TerminalPrompter();
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
    output.notice(neutralize(readableError(result.content)));
    throw new ExitStatus(1);
  }
  output.print(text.replace(/\n$/, ""));
}

/** A failed command is told to a model as JSON; a person has seen its errors already. */
function readableError(content: string): string {
  try {
    const { message, stdout }: { message?: unknown; stdout?: unknown } = JSON.parse(content);
    if (typeof message !== "string") return content;
    return typeof stdout === "string" && stdout !== "" ? `${message}\n${stdout}` : message;
  } catch {
    return content;
  }
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
    hint: `Change or remove ${key}; other values than text are written as JSON: ${key}:=true`,
  });
}

/** Nobody is there: the question's default, if the tool's config wants that. Throws if not. */
function answerDetached(settings: ToolSettings, question: Question): Json {
  const { name, detached } = settings;
  const { default: suggested, answerType, exclusive } = question;
  const isForPerson = exclusive || answerType.type === "secret";
  if (detached.tool === "defaults" && !isForPerson && suggested !== undefined) return suggested;
  const example = answerType.type === "boolean" ? ":=true" : "=…";
  const key = `conversation.tools.${name}.questions.${question.id}.answer`;
  throw new CodedError(
    "no_prompt_backend",
    `${name} asks, and nobody is there to answer: ${oneLine(question.text)}`,
    {
      hint:
        answerType.type === "secret"
          ? "Run it on a terminal."
          : `Run it on a terminal, or give the answer: --cfg '${key}${example}'`,
    },
  );
}

function keepsAsking(tool: string, question: Question): CodedError {
  return new CodedError(
    "attempts_exhausted",
    `${tool} keeps asking "${oneLine(question.text)}" although it got an answer.`,
  );
}
