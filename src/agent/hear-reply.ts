/**
 * One reply of the model, heard to its end. A connection that breaks is made again, and what was said
 * until then is kept and continued.
 */
import {
  type Attachment,
  type ConversationStream,
  intoParts,
  type Section,
  StreamEntry,
  type ThreadParts,
} from "../conversation/index.ts";
import {
  type CachePolicy,
  type EndReason,
  type Model,
  type ModelParameters,
  ProviderError,
  retryDelay,
  type RetryPolicy,
  type StreamLimits,
  type ToolChoice,
  type ToolSchema,
  watchStream,
} from "../provider/index.ts";
import type { Clock } from "../util/index.ts";
import { type ReplyParts, ReplyRecorder } from "./reply-recorder.ts";
import { timestampOf } from "./timestamp-of.ts";

/** Who answers, what it is told before everything else, and how it is asked. */
export interface Assistant {
  readonly systemPrompt?: string;
  readonly sections: readonly Section[];
  readonly parameters: ModelParameters;
  readonly toolChoice: ToolChoice;
  readonly cache: CachePolicy;
  readonly request: RetryPolicy & StreamLimits;
  /** Goes on by itself when a reply has reached its limit. */
  readonly isChained?: boolean;
}

export interface Hearing extends Omit<ReplyParts, "isStructured"> {
  readonly model: Model;
  readonly assistant: Assistant;
  readonly attachments: readonly Attachment[];
  readonly tools: readonly ToolSchema[];
  readonly toolChoice: ToolChoice;
  readonly signal: AbortSignal;
  /** After an abort: whether what was heard of an unfinished text is forgotten. */
  readonly isDiscarded: () => boolean;
}

const CONTINUE =
  "[Your reply broke off before its end. Go on exactly where it stopped; do not repeat anything.]";

/** A model that always says too much, or breaks off again and again, is not heard for ever. */
const MOST_CONTINUATIONS = 10;

/** Throws `ProviderError` when nothing more is to be tried, and `write_failed`. */
export async function hearReply(hearing: Hearing): Promise<EndReason | "aborted"> {
  const { assistant, signal, clock, observer } = hearing;
  let retries = 0;
  let continuations = 0;
  for (;;) {
    const parts = threadParts(hearing);
    const isStructured = parts.schema !== undefined;
    const recorder = new ReplyRecorder({ ...hearing, isStructured });
    const error = await hearOnce(hearing, parts, recorder);
    // Half of a document is of no use.
    if (signal.aborted ? hearing.isDiscarded() : isStructured) recorder.drop();
    await recorder.end();
    // The record cannot be written, or the program has a mistake: nothing makes up for that.
    if (error !== undefined && !(error instanceof ProviderError)) throw error;
    if (signal.aborted) return "aborted";
    // Calls that were made before it broke off are run; the model then goes on from their results.
    if (recorder.hasCalls) return "tool_calls";
    // The document was whole before the connection broke.
    if (recorder.hasDocument) return recorder.reason ?? "stop";
    if (error === undefined) {
      const { reason = "other" } = recorder;
      const goesOn = reason === "length" && assistant.isChained === true && !isStructured;
      if (!goesOn || continuations === MOST_CONTINUATIONS) return reason;
      continuations += 1;
      continue;
    }
    if (recorder.isOnRecord && continuations < MOST_CONTINUATIONS) {
      continuations += 1;
      retries = 0;
    }
    const delayMs = retryDelay(assistant.request, retries, error);
    if (delayMs === undefined) throw error;
    retries += 1;
    const { maxRetries } = assistant.request;
    observer?.observe({ type: "retry_start", error, retry: retries, maxRetries, delayMs });
    await clock.sleep(delayMs, signal).catch(() => undefined);
  }
}

/** What went wrong; undefined if the reply has come to its end, or is no longer wanted. */
async function hearOnce(
  { model, assistant, tools, toolChoice, signal, clock }: Hearing,
  parts: ThreadParts,
  recorder: ReplyRecorder,
): Promise<unknown> {
  const { parameters, cache, request: limits } = assistant;
  const request = { parts, tools, toolChoice, parameters, cache, signal };
  try {
    for await (const event of watchStream({ model, request, limits, clock })) {
      await recorder.take(event);
    }
    return undefined;
  } catch (error) {
    return signal.aborted && error === signal.reason ? undefined : error;
  }
}

function threadParts({ assistant, attachments, journal, clock }: Hearing): ThreadParts {
  const { systemPrompt, sections } = assistant;
  const thread = {
    ...(systemPrompt !== undefined && { systemPrompt }),
    sections,
    attachments,
    stream: journal.stream,
  };
  const parts = intoParts(thread);
  // A reply has to be asked for: what breaks off is continued at our word, which is not on record.
  if (parts.events.at(-1)?.type !== "chat_response") return parts;
  return intoParts({ ...thread, stream: withRequest(journal.stream, clock) });
}

function withRequest(stream: ConversationStream, clock: Clock): ConversationStream {
  const request = StreamEntry.fromEvent({
    type: "chat_request",
    timestamp: timestampOf(clock),
    content: CONTINUE,
  });
  return { ...stream, entries: [...stream.entries, request] };
}
