/** Tools that ship with jp, or with the program that embeds it: their default config, and how they run. */
import type {
  PartialToolConfig,
  ToolEffect,
  ToolSettings,
} from "../../../settings/config/index.ts";
import type {
  CallCheck,
  Confinement,
  Outcome,
  ResultOutcome,
  Tool,
  ToolCall,
  ToolSource,
} from "../../../record/tool/index.ts";
import { assertNever, type JsonObject } from "../../../util/index.ts";
import type {
  ArgumentKinds,
  AttemptRequest,
  AttemptResult,
  CheckResult,
  DescribeOptions,
  Executor,
} from "../port.ts";

/** A tool that ships with jp. */
export interface ShippedTool {
  readonly tool: Tool;
  /** Its default config. */
  readonly config: PartialToolConfig;
  /** Changes nothing and asks no questions: a workspace may configure it before you trust it. */
  readonly isReadOnly?: true;
  /** Set for a tool of the program that embeds jp. */
  readonly isOwn?: true;
  /** See `RunnableTool`. A tool that `isReadOnly` reads. */
  readonly effect?: ToolEffect;
  readonly argumentKinds?: ArgumentKinds;
  /** Describes the code a call would run beyond the tool itself, such as a command's program. Never throws. */
  readonly describeCall?: (args: JsonObject, options: DescribeOptions) => Promise<CallSource>;
}

/**
 * The ids of all questions that it asks. Without declared questions, a tool of jp asks none, and a program's tool may ask
 * any.
 */
export function declaredIds({
  tool: { questions },
  isOwn,
}: Pick<ShippedTool, "tool" | "isOwn">): readonly string[] | undefined {
  return questions === undefined && isOwn === true ? undefined : Object.keys(questions ?? {});
}

/** The code a call would run and, for a command, its confinement. */
export type CallSource = Omit<ToolSource, "origin" | "identity"> & Confinement;

/** `name` is the tool's name in the config, which the model uses. The config may turn its check off. */
export function createBuiltinExecutor(
  tool: Tool,
  name: string,
  { hasCheck = true }: Pick<ToolSettings, "hasCheck"> = {},
): Executor {
  return {
    attempt: async (request) => {
      const { signal } = request;
      if (signal.aborted) return { type: "cancelled" };
      const aborted = Promise.withResolvers<AttemptResult>();
      const onAbort = () => aborted.resolve({ type: "cancelled" });
      signal.addEventListener("abort", onAbort, { once: true });
      try {
        const finished = tool
          .execute(toToolCall(request))
          .then((outcome) => toResult(outcome, tool, name));
        return await Promise.race([finished, aborted.promise]);
      } finally {
        signal.removeEventListener("abort", onAbort);
      }
    },
    ...(hasCheck &&
      tool.checkCall !== undefined && {
        check: async (request) =>
          toCheckResult((await tool.checkCall?.(request)) ?? { type: "unknown" }),
      }),
  };
}

/** Formats the result as an attempt would. */
export function toCheckResult(check: CallCheck): CheckResult {
  if (check.type !== "done") return { type: check.type };
  const { type, ...content } = toResultContent(check.result);
  return { type: "done", isError: type === "error", ...content };
}

function toResultContent(outcome: ResultOutcome) {
  return outcome.type === "error" ? toErrorResult(outcome) : outcome;
}

/** The key is created only if the tool reads it. */
function toToolCall(request: AttemptRequest): ToolCall {
  const { toolCallId, arguments: args, answers, notes, bindings, signal, onProgress } = request;
  const call = {
    ...(toolCallId !== undefined && { toolCallId }),
    arguments: args,
    answers,
    notes,
    ...(bindings !== undefined && { bindings }),
    signal,
    ...(onProgress !== undefined && { onProgress }),
    ...(request.runStep !== undefined && { runStep: request.runStep }),
    ...(request.isShared !== undefined && { isShared: request.isShared }),
  };
  if (!("idempotencyKey" in request)) return call;
  const get = () => request.idempotencyKey;
  return Object.defineProperty(call, "idempotencyKey", { get, enumerable: true });
}

function toResult(outcome: Outcome, tool: Tool, name: string): AttemptResult {
  switch (outcome.type) {
    case "success":
      return outcome;
    case "error":
      return toErrorResult(outcome);
    case "needs_input":
      return { ...outcome, source: tool.inquirySource(name) };
    default:
      return assertNever(outcome);
  }
}

/** The text for the model is the message and its causes. */
export function toErrorResult({
  message,
  trace,
  blocks,
}: Extract<Outcome, { type: "error" }>): Extract<AttemptResult, { type: "error" }> {
  const content = trace.length === 0 ? message : `${message}\n\nTrace:\n${trace.join("\n")}`;
  return { type: "error", content, ...(blocks !== undefined && { blocks }) };
}
