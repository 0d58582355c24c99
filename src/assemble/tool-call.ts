/** A single tool call outside of a turn, with everything a turn does around it. */
import {
  closeCall,
  guardPrompter,
  type Journal,
  type Prompter,
  PromptQueue,
  type Toolbox,
  ToolCycle,
  type TurnContext,
  type TurnState,
} from "../core/agent/index.ts";
import {
  type CallProgress,
  newCall,
  readTurnProgress,
  timestampFromDate,
  type ToolCallRequest,
  type ToolCallResponse,
  lastTurn,
} from "../record/conversation/index.ts";
import type { InquiryBackend } from "../core/answer-model/index.ts";
import type { JsonObject } from "../util/index.ts";

export interface ToolCallOptions extends Pick<
  TurnContext,
  "clock" | "limits" | "observer" | "userName" | "directory"
> {
  readonly id: string;
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly tools: Toolbox;
  readonly prompter: Prompter;
  /** Shared with other calls that ask the same person; by default, the call has its own queue. */
  readonly prompts?: PromptQueue;
  /** Records the call. */
  readonly journal: Journal;
  /** Shared by the calls of a turn. Collects what was denied because jp could not ask. */
  readonly state: TurnState;
  /** Ends the call cleanly. */
  readonly signal: AbortSignal;
}

/** There is no model: every inquiry fails. */
const noInquiryBackend: InquiryBackend = {
  inquire: async () => ({ type: "failed", kind: "other", message: "no model is available" }),
};

/** No model answers its questions. Throws `write_failed`. */
export async function runToolCall(options: ToolCallOptions): Promise<ToolCallResponse> {
  const { clock, journal, signal, prompts = new PromptQueue() } = options;
  const prompter = guardPrompter(options.prompter, clock);
  const request: ToolCallRequest = {
    type: "tool_call_request",
    timestamp: timestampFromDate(clock.now()),
    id: options.id,
    name: options.tool,
    arguments: options.arguments,
  };
  await journal.record(request);
  const context = { ...options, prompter, prompts, inquiries: noInquiryBackend };
  const cycle = new ToolCycle(context, [findProgress(journal, request)]);
  const stop = () => cycle.stop("interrupted");
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    const [response] = await cycle.run();
    return response ?? (await close(options, request));
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** The caller is gone, and no one else can continue the call. */
async function close(
  { journal, clock }: ToolCallOptions,
  request: ToolCallRequest,
): Promise<ToolCallResponse> {
  const events = closeCall(findProgress(journal, request), clock, "interrupted");
  await journal.record(...events);
  return events[events.length - 1] as ToolCallResponse; // The last event is the response.
}

/** The newest call with this id. */
function findProgress(journal: Journal, request: ToolCallRequest): CallProgress {
  const { calls } = readTurnProgress(lastTurn(journal));
  return calls.findLast(({ request: { id } }) => id === request.id) ?? newCall(request, 0);
}
