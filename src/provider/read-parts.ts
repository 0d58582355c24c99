/** The stream of a model of the AI SDK, ended by abort at once whatever the model does about it. */
import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { abortable } from "../util/index.ts";
import type { StreamingModel } from "./definition.ts";
import type { ProviderError } from "./provider-error.ts";

export interface Reading {
  readonly model: StreamingModel;
  readonly options: LanguageModelV4CallOptions;
  readonly signal: AbortSignal;
  readonly toError: (error: unknown) => ProviderError;
}

/**
 * Throws the signal's reason on abort, else a `ProviderError`; `error` parts are such failures too,
 * as some packages report a lost connection so. Leaving the loop ends the request.
 */
export async function* readParts(reading: Reading): AsyncGenerator<LanguageModelV4StreamPart> {
  const { model, options, signal, toError } = reading;
  signal.throwIfAborted();
  // The SDK takes an abort with a reason of our own for a failure, so it gets one without.
  const request = new AbortController();
  const onAbort = () => request.abort();
  signal.addEventListener("abort", onAbort, { once: true });
  const wait = async <Value>(work: PromiseLike<Value>): Promise<Value> => {
    try {
      return await abortable(Promise.resolve(work), signal);
    } catch (error) {
      signal.throwIfAborted();
      throw toError(error);
    }
  };

  let reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart> | undefined;
  try {
    const { stream } = await wait(model.doStream({ ...options, abortSignal: request.signal }));
    reader = stream.getReader();
    for (;;) {
      const { done, value } = await wait(reader.read());
      if (done) return;
      if (value.type === "error") throw toError(value.error);
      yield value;
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    request.abort();
    reader?.cancel().catch(() => undefined); // It has failed or ended already.
  }
}
