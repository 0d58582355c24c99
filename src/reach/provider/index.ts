export { createProviders } from "./create-providers.ts";
export type { Fetch, ModelInfo, ProviderSettings } from "./definition.ts";
export { createHttpFetch, type HttpFetchOptions } from "./http-fetch.ts";
export {
  createProvidersNow,
  PROVIDER_NAMES,
  isLocalProvider,
  type ProviderName,
  type Providers,
  type ProvidersOptions,
} from "./providers.ts";
export {
  fromLanguageModel,
  type LanguageModel,
  type LanguageModelObject,
  type LanguageModelOptions,
} from "./from-language-model.ts";
export { type CollectedReply, collectReply } from "./collect-reply.ts";
export { INVALID_ARGUMENTS, isNews } from "./port.ts";
export type {
  CachePolicy,
  EndReason,
  Model,
  ModelEvent,
  ModelParameters,
  ModelProperties,
  ModelRequest,
  Reasoning,
  RequestNews,
  RequestUpdate,
  SchemaChange,
  ToolChoice,
  ToolSchema,
} from "./port.ts";
export {
  lengthLimitError,
  ProviderError,
  type ProviderErrorKind,
  type ProviderErrorOptions,
  type Retry,
  RetryCounter,
  type RetryPolicy,
} from "./provider-error.ts";
export { type StreamLimits, watchStream } from "./watch-stream.ts";
export type { Usage } from "../../record/conversation/index.ts";
