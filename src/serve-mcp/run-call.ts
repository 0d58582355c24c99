/** One call of `ask_user`, on the way that calls take in a turn. */
import { type Prompter, type PromptQueue, ToolCycle } from "../agent/index.ts";
import {
  timestampFromDate,
  type ToolCallRequest,
  type ToolCallResponse,
} from "../conversation/index.ts";
import { noInquiryBackend } from "../inquiry/index.ts";
import type { JsonObject } from "../util/index.ts";
import type { OpenCall } from "./client-record.ts";
import type { ServeSetup } from "./setup.ts";

export const ASK_USER = "ask_user";

export interface CallParts extends Pick<ServeSetup, "tools" | "clock"> {
  readonly open: OpenCall;
  readonly arguments: JsonObject;
  readonly prompter: Prompter;
  readonly prompts: PromptQueue;
  /** Ends it, with everything on record. */
  readonly signal: AbortSignal;
}

/** Throws `write_failed`. */
export async function runCall(parts: CallParts): Promise<ToolCallResponse> {
  const { open, clock, signal } = parts;
  const { journal, state, id } = open;
  const cycle = new ToolCycle({ ...parts, journal, state, inquiries: noInquiryBackend });
  const request: ToolCallRequest = {
    type: "tool_call_request",
    timestamp: timestampFromDate(clock.now()),
    id,
    name: ASK_USER,
    arguments: parts.arguments,
  };
  await journal.record(request);
  const stop = () => cycle.stop("interrupted");
  signal.addEventListener("abort", stop);
  if (signal.aborted) stop();
  try {
    cycle.add(request);
    const [response] = await cycle.run();
    if (response === undefined) throw new Error("a call has ended without a response");
    return response;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
