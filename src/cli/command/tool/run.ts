/** `jp tool run`: calls a tool without a model. Its questions are routed as they are in a turn. */
import { createJournal, TurnState } from "../../../core/agent/index.ts";
import { resolveLimits, type ToolSettings } from "../../../settings/config/index.ts";
import {
  cancellationTag,
  type ConversationEvent,
  type ConversationStream,
  describeWhom,
  eventsOf,
  type InquiryRequest,
  type InquiryResponse,
  isForSome,
  type ToolCallRequest,
} from "../../../record/conversation/index.ts";
import { checkArguments, type RunnableTool } from "../../../reach/executor/index.ts";
import {
  directoryOf,
  findTool,
  machineOf,
  openTools,
  runToolCall,
  warnWithheld,
} from "../../../assemble/index.ts";
import { MemoryConversationStore } from "../../../stores/index.ts";
import { explainMisfit, withoutOther } from "../../../record/tool/index.ts";
import {
  findJson,
  isJsonObject,
  JpError,
  type Json,
  type JsonObject,
  neutralize,
  oneLine,
  randomName,
} from "../../../util/index.ts";
import type { CommandContext } from "../../context.ts";
import type { Call } from "../../define.ts";
import { DENIED, ExitStatus, INTERRUPTED, usageError } from "../../exit-status.ts";
import { findPrompter, noTerminal } from "../../prompter.ts";
import { assertTrusted } from "../../../settings/trust/index.ts";
import { trustedConfig } from "../../trust.ts";
import type { ARGUMENT, RUN_TOOL } from "./options.ts";
import type { FlagsOf } from "../../options.ts";

type ToolRun = Call<typeof RUN_TOOL> & { readonly signal: AbortSignal };

export async function runTool(call: Call<typeof RUN_TOOL>): Promise<void> {
  const { host, output } = call.context;
  const abort = new AbortController();
  const onInterrupt = () => {
    if (abort.signal.aborted) return host.exit(INTERRUPTED); // A second Ctrl-C exits at once.
    output.notice(""); // The terminal has echoed ^C.
    abort.abort();
  };
  // A tool has its own process group, so the terminal's Ctrl-C does not reach it.
  const signals = host.onSignal(["SIGINT", "SIGTERM", "SIGHUP"], onInterrupt);
  try {
    await callOnce({ ...call, signal: abort.signal });
  } catch (error) {
    // The interrupt may have aborted anything, such as a server's start.
    if (!abort.signal.aborted) throw error;
    throw cancelled(call.context);
  } finally {
    signals[Symbol.dispose]();
  }
}

async function callOnce({ args: words, options, context, signal }: ToolRun): Promise<void> {
  const [name = ""] = words;
  const trusted = await trustedConfig(context, options, options);
  assertTrusted(name, trusted);
  warnWithheld(trusted, context);
  const { config } = trusted;
  await using tools = openTools(machineOf(context), config);
  const tool = await tools.open(name, signal);
  const settings = findTool(tools.settings, name);
  const given = readArguments(options);
  await assertArguments(tool, given);
  const state = new TurnState();
  await using conversation = await new MemoryConversationStore(context.clock).create({});
  const journal = createJournal(conversation);
  const response = await runToolCall({
    id: `call_${randomName()}`, // Two concurrent runs must not share an idempotency key.
    tool: name,
    arguments: given,
    tools: {
      schemas: async () => [],
      find: async () => ({ ...tool, settings: withPermission(settings) }),
    },
    prompter: findPrompter(context, config, { ...options, sendsWords: false }) ?? noTerminal,
    ...(config.user?.name !== undefined && { userName: config.user.name }),
    directory: await directoryOf(context, config),
    journal,
    state,
    limits: resolveLimits(config),
    clock: context.clock,
    observer: {
      observe: (update) => {
        const isShown = update.type === "tool_progress" || update.type === "notice";
        if (isShown) context.output.notice(neutralize(update.message));
      },
    },
    signal,
  });
  signal.throwIfAborted();
  const isDenied = state.denials.length > 0;
  const end = explainNoAnswer(settings, journal.stream, isDenied);
  if (end === "cancelled") throw cancelled(context);
  if (isDenied && end?.code === "no_prompt_backend") throw new ExitStatus(DENIED, { cause: end });
  if (end !== undefined) throw end;
  show(response, context);
}

/** Typing the command is permission to run the tool and to see its result. No model can answer questions here. */
function withPermission(settings: ToolSettings): ToolSettings {
  const { detached } = settings;
  const tool = detached.tool === "auto" ? "deny" : detached.tool;
  return {
    ...settings,
    run: "unattended",
    result: "unattended",
    detached: { ...detached, tool },
  };
}

/** Throws `invalid_arguments`, worded for a person: the call itself would word it for a model. */
export async function assertArguments(
  { description }: RunnableTool,
  given: ToolCallRequest["arguments"],
): Promise<void> {
  const checked = await checkArguments(description, given);
  if (checked.ok) return;
  const hint = `See: jp tool show ${description.name}`;
  throw new JpError("invalid_arguments", checked.problem, { hint });
}

function cancelled({ output }: CommandContext): ExitStatus {
  output.notice("Cancelled.");
  return new ExitStatus(INTERRUPTED);
}

function show(
  { content, isError }: { readonly content: string; readonly isError: boolean },
  { output }: CommandContext,
): void {
  if (isError) {
    output.notice(neutralize(readableError(content)));
    throw new ExitStatus(1);
  }
  // A program gets the exact output, a terminal gets it without control sequences.
  const text = output.isTerminal ? neutralize(content) : content;
  output.print(text.replace(/\n$/, ""));
}

/** Models get a failed command as JSON. The user has already seen its standard error. */
function readableError(content: string): string {
  const failure = findJson(content);
  const { message, stdout } = isJsonObject(failure) ? failure : {};
  if (typeof message !== "string") return content;
  return typeof stdout === "string" && stdout !== "" ? `${message}\n${stdout}` : message;
}

/** Throws `usage`. */
export function readArguments({ arg = [], args }: FlagsOf<typeof ARGUMENT>): JsonObject {
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
    throw usageError(`Invalid JSON: ${text}`);
  }
}

/**
 * Explains from the record why a question got no answer; undefined if all were answered. In a form, the first
 * unanswered question ended the others. `isDenied`: denied only because jp could not ask.
 */
export function explainNoAnswer(
  settings: ToolSettings,
  stream: ConversationStream,
  isDenied: boolean,
): JpError | "cancelled" | undefined {
  const events = [...eventsOf(stream.entries)];
  const response = events.find(isCancelledResponse);
  const request = events.find(
    (event) => event.type === "inquiry_request" && event.id === response?.id,
  );
  if (response === undefined || request?.type !== "inquiry_request") return undefined;
  if (response.reason === "user") return "cancelled";
  // The executor refused the question, and its result says why.
  if (response.reason === "no_prompt_backend" && !isDenied) {
    const told = events.find((event) => event.type === "tool_call_response")?.content;
    return new JpError(response.reason, told ?? "");
  }
  return explain(settings, request, response);
}

type CancelledResponse = Extract<InquiryResponse, { outcome: "cancelled" }>;

/** A withdrawn question did not end the call: its result did. */
function isCancelledResponse(event: ConversationEvent): event is CancelledResponse {
  if (event.type !== "inquiry_response" || event.outcome !== "cancelled") return false;
  return event.reason !== "interrupted";
}

function explain(
  settings: ToolSettings,
  request: InquiryRequest,
  { reason }: CancelledResponse,
): JpError {
  const { question, questionId = "" } = request;
  const { name } = settings;
  const tag = cancellationTag(reason);
  const text = oneLine(question.text);
  const key = `conversation.tools.${name}.questions.${questionId}.answer`;
  const answer = `--cfg '${key}${question.answerType.type === "boolean" ? ":=true" : "=…"}'`;
  const isForAssistant = settings.questions.get(questionId)?.target.type === "assistant";
  switch (tag) {
    case "invalid_static_answer": {
      const configured = settings.questions.get(questionId)?.answer?.value as Json; // Read from a file.
      const misfit = explainMisfit(withoutOther(question.answerType), configured) ?? "";
      return new JpError(tag, `The configured answer does not fit: ${misfit}.`, {
        hint: `Change or remove ${key}; write values other than text as JSON: ${key}:=true`,
      });
    }
    case "attempts_exhausted":
      return new JpError(tag, `${name} keeps asking, although it got answers: ${text}`, {
        hint: "conversation.limits caps answers without a person.",
      });
    case "timed_out":
      return new JpError(tag, `${name} got no answer in time: ${text}`, {
        hint: `Change or remove conversation.tools.${name}.questions.${questionId}.deadline.`,
      });
    case "assistant_routing_denied":
      return new JpError(tag, `${name} asks a question that only a person may answer: ${text}`, {
        hint: `Change or remove conversation.tools.${name}.questions.${questionId}.target.`,
      });
    default:
      return new JpError(
        tag,
        isForAssistant
          ? `${name} asks the assistant, and this command has none: ${text}`
          : isForSome(request)
            ? `${name} asks ${oneLine(describeWhom(request))}, who is not available: ${text}`
            : `${name} asks, and no terminal is available: ${text}`,
        {
          hint:
            question.answerType.type === "secret"
              ? "Run it on a terminal."
              : `${isForAssistant ? "Give" : "Run it on a terminal, or give"} the answer: ${answer}`,
        },
      );
  }
}
