/** A turn in a program of one's own: the same loop, the same routing, the same record. */
import { NOBODY, Turn, type TurnEnd, type TurnUpdate } from "../agent/index.ts";
import { fromLanguageModel, type LanguageModel, type Model } from "../provider/index.ts";
import { systemClock } from "../util/index.ts";
import { createAssistant } from "./assistant.ts";
import { createInquiries } from "./inquiries.ts";
import { createToolbox } from "./toolbox.ts";
import type { TurnOptions } from "./turn-options.ts";
import { UpdateQueue } from "./update-queue.ts";

const MOST_CYCLES = 50;

/** Throws `ProviderError`, `write_failed`, and `config_invalid` for the tools' config. */
export async function runTurn(options: TurnOptions, message: string): Promise<TurnEnd> {
  const { conversation, prompter = NOBODY, clock = systemClock, signal, ...rest } = options;
  const model = toModel(options.model);
  const assistant = createAssistant(options);
  const turn = new Turn({
    conversation,
    model,
    assistant,
    tools: createToolbox(options),
    prompter,
    inquiries: createInquiries({
      model: options.inquiryModel === undefined ? model : toModel(options.inquiryModel),
      assistant,
      clock,
    }),
    clock,
    maxCycles: rest.maxCycles ?? MOST_CYCLES,
    ...(rest.attachments !== undefined && { attachments: rest.attachments }),
    ...(rest.observer !== undefined && { observer: rest.observer }),
  });
  const onAbort = () => turn.leave();
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted === true) onAbort();
  try {
    return await turn.run({ content: message });
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
}

/** The same, told as it happens. Whoever stops listening ends the turn in good order. */
export async function* streamTurn(
  options: TurnOptions,
  message: string,
): AsyncGenerator<TurnUpdate, TurnEnd, undefined> {
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
