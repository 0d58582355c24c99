export type { ProviderSettings } from "./definition.ts";
export type { Fetch } from "./extra-body.ts";
export {
  fromLanguageModel,
  type LanguageModel,
  type LanguageModelOptions,
} from "./from-language-model.ts";
export type { ModelInfo } from "./model-info.ts";
export { type CollectedReply, type CollectedRequest, collectReply } from "./collect.ts";
export type {
  CachePolicy,
  EndReason,
  Model,
  ModelEvent,
  ModelParameters,
  ModelRequest,
  Reasoning,
  SchemaChange,
  ToolChoice,
  ToolSchema,
  Usage,
} from "./port.ts";
export {
  ProviderError,
  type ProviderErrorKind,
  type ProviderErrorOptions,
} from "./provider-error.ts";
export { retryDelay, type RetryPolicy } from "./retry.ts";
export { type StreamLimits, type WatchedStream, watchStream } from "./watch-stream.ts";
export {
  createProviders,
  PROVIDER_NAMES,
  type ProviderName,
  type Providers,
  type ProvidersOptions,
} from "./providers.ts";
export { INVALID_ARGUMENTS } from "./reply/index.ts";
