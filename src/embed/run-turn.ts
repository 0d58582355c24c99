/** A turn in a program of one's own: the same loop, the same routing, the same record. */
import { noPrompter, Turn, type TurnRequest, type TurnUpdate } from "../agent/index.ts";
import { DEFAULT_LIMITS } from "../config/index.ts";
import { fromLanguageModel, type LanguageModel, type Model } from "../provider/index.ts";
import { systemClock } from "../util/index.ts";
import { createAssistant } from "./assistant.ts";
import { createInquiries } from "./inquiries.ts";
import { createToolbox } from "./toolbox.ts";
import type { TurnOptions } from "./turn-options.ts";
import { createResult, type TurnResult } from "./turn-result.ts";
import { UpdateQueue } from "./update-queue.ts";

const MOST_CYCLES = 50;

/**
 * Runs one turn: what is said to the assistant, its replies, and every tool it calls. Throws
 * `ProviderError`, `write_failed`, and `config_invalid` for the tools' config; what happened until
 * then is on record.
 */
export async function runTurn(
  options: TurnOptions,
  message: string | TurnRequest,
): Promise<TurnResult> {
  const { conversation, prompter = noPrompter, clock = systemClock, signal, ...rest } = options;
  const { attachments = [] } = rest;
  const model = toModel(options.model);
  const assistant = createAssistant(options);
  const tools = createToolbox(options);
  const turn = new Turn({
    conversation,
    model,
    assistant,
    tools,
    prompter,
    inquiries: createInquiries({
      model: options.inquiryModel === undefined ? model : toModel(options.inquiryModel),
      assistant,
      tools: tools.described,
      attachments,
      clock,
    }),
    clock,
    maxCycles: rest.maxCycles ?? MOST_CYCLES,
    attachments,
    limits: { ...DEFAULT_LIMITS, ...rest.limits },
    ...(rest.observer !== undefined && { observer: rest.observer }),
  });
  const onAbort = () => turn.leave();
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted === true) onAbort();
  try {
    const end = await turn.run(typeof message === "string" ? { content: message } : message);
    return createResult(end, conversation.stream, turn.denials);
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
}

/**
 * Runs one turn as `runTurn` does, and tells what happens as it happens. Whoever stops listening ends
 * the turn in good order.
 */
export async function* streamTurn(
  options: TurnOptions,
  message: string | TurnRequest,
): AsyncGenerator<TurnUpdate, TurnResult, undefined> {
  const updates = new UpdateQueue();
  const stopped = new AbortController();
  const { signal = stopped.signal, observer } = options;
  const ended = runTurn(
    {
      ...options,
      signal: AbortSignal.any([signal, stopped.signal]),
      observer: {
        observe: (update) => {
          observer?.observe(update);
          updates.add(update);
        },
      },
    },
    message,
  );
  ended.catch(() => undefined).finally(() => updates.end());
  try {
    yield* updates;
    return await ended;
  } finally {
    stopped.abort();
    await ended.catch(() => undefined);
  }
}

function toModel(model: Model | LanguageModel): Model {
  return "doStream" in model ? fromLanguageModel(model) : model;
}
