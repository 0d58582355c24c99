/**
 * Any language model of the AI SDK as a `Model`: a request is built from the parts of a thread, the
 * reply is turned into our events, and failures into `ProviderError`.
 */
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { type Clock, systemClock } from "../util/index.ts";
import type { StreamingModel } from "./definition.ts";
import { type Dialect, findDialect } from "./dialect/index.ts";
import { type Served, toProviderError } from "./failure/index.ts";
import type { Model, ModelEvent, ModelRequest } from "./port.ts";
import { toCallOptions } from "./prompt/index.ts";
import { readParts } from "./read-parts.ts";
import { Reply } from "./reply/index.ts";

/** What the AI SDK calls a language model. */
export type LanguageModel = LanguageModelV4;

/** What a language model of the AI SDK does not say of itself. */
export interface LanguageModelOptions {
  /** `provider/name`. By default what the model says of itself. */
  readonly id?: string;
  /** In tokens. */
  readonly contextWindow?: number;
  /** For dates in `retry-after`. */
  readonly clock?: Clock;
}

/** Takes any language model of the AI SDK. `runTurn` does this by itself. */
export function fromLanguageModel(model: LanguageModel, options: LanguageModelOptions = {}): Model {
  const { id = defaultId(model), contextWindow, clock = systemClock } = options;
  const dialect = findDialect(model);
  return {
    id,
    ...(contextWindow !== undefined && { contextWindow }),
    stream: (request) => streamReply({ model, dialect, served: { id }, clock }, request),
  };
}

export interface Serving {
  readonly model: StreamingModel;
  readonly dialect: Dialect;
  readonly served: Served;
  readonly clock: Clock;
}

export async function* streamReply(
  { model, dialect, served, clock }: Serving,
  request: ModelRequest,
): AsyncGenerator<ModelEvent> {
  const options = toCallOptions(request, dialect);
  const toError = (error: unknown) =>
    toProviderError(error, { served, contextTooLong: dialect.contextTooLong, clock });
  const reply = new Reply(dialect, served.id);
  for await (const part of readParts({ model, options, signal: request.signal, toError })) {
    yield* reply.take(part);
  }
  yield* reply.end();
}

/** `anthropic.messages` is the provider `anthropic`. */
function defaultId({ provider, modelId }: LanguageModel): string {
  const [vendor = provider] = provider.split(".");
  return `${vendor}/${modelId}`;
}
