/** The library: what an embedding program imports. It never touches a terminal or the process. */
export type {
  DeliveryRequest,
  DeliveryResult,
  FormRequest,
  FormResult,
  Observer,
  PermissionRequest,
  PermissionResult,
  Prompter,
  PromptRequest,
  PromptResult,
  TurnEnd,
  TurnUpdate,
} from "./agent/index.ts";
export {
  type ConversationEvent,
  type ConversationId,
  type ConversationMetadata,
  type ConversationStream,
  intoParts,
  type LoggedInquiry,
  parseConversationId,
  sanitize,
  type Thread,
  type ThreadParts,
  type Timestamp,
  type Turn,
  turnsOf,
} from "./conversation/index.ts";
export { runTurn, streamTurn, type TurnOptions } from "./embed/index.ts";
export {
  createProviders,
  fromLanguageModel,
  type LanguageModel,
  type Model,
  ProviderError,
  type Providers,
} from "./provider/index.ts";
export {
  type ConversationStore,
  type ConversationSummary,
  type ConversationWriter,
  MemoryConversationStore,
  openWorkspace,
  type SessionStore,
  type Workspace,
} from "./storage/index.ts";
export {
  type AnswerType,
  booleanQuestion,
  type BuiltinTool,
  defineTool,
  type Outcome,
  type Question,
  secretQuestion,
  selectQuestion,
  textQuestion,
} from "./tool/index.ts";
export {
  type Clock,
  CodedError,
  isCodedError,
  type Json,
  type JsonObject,
  systemClock,
} from "./util/index.ts";
