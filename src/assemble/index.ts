export { findModelFiles } from "./model-files.ts";
export { AnswersFile } from "./answers-file.ts";
export {
  attachmentCode,
  attachToTurn,
  loadOptions,
  nameAttachments,
  namingPlace,
  withUntrusted,
} from "./attachments.ts";
export { configuredChanges } from "./changes.ts";
export {
  type ChooseSummarizer,
  type CompactionOptions,
  type CompactOptions,
  configuredSummarizer,
  planCompaction,
} from "./compaction.ts";
export type { DataOf, DataSchema, Message } from "./data.ts";
export { type DetectedModel, detectModels, keyVariable, LOCAL_PROVIDERS } from "./detect-models.ts";
export { directoryOf, peopleOf } from "./directory.ts";
export { checkName, forgetWrongModel } from "./find-model.ts";
export { configuredInquiryModels } from "./inquiry-models.ts";
export {
  type AnsweringStore,
  answerInquiry,
  findAnswerable,
  findPending,
  findPendingIn,
  type DecisionAnswer,
  isOpen,
  listPending,
  type ListPendingOptions,
  type PendingDecision,
  findForeignNotice,
  pendingInTurn,
  isRefused,
  judgeAnswerTo,
  untilAnswered,
} from "./pending.ts";
export { type ConversationStorage, recordChange } from "./open-conversation.ts";
export {
  createConfiguredTurn,
  type LastTurn,
  type NewStart,
  openTurn,
  type OpenTurn,
  type OpenTurnOptions,
  type Start,
  toCfg,
  type TurnParts,
  type WrittenMessage,
} from "./open-turn.ts";
export { configPlaces, findWorkspace, machineOf, type Place, warnOnce } from "./place.ts";
export { configChanges, configForNewConversation, rememberedConfig } from "./remembered-config.ts";
export {
  type AskTrust,
  type ConfigRequest,
  readConfig,
  readTrustedConfig,
  trustRecord,
  warnWithheld,
  workspaceInstructions,
  workspaceTrust,
} from "./trusted-config.ts";
export { toModel } from "./model.ts";
export {
  type AnsweredTurn,
  answerAndResume,
  recover,
  type RecoveredTurn,
  type RecoverOptions,
} from "./resuming.ts";
export { openProviders } from "./providers.ts";
export { createTurn, type CreateTurnOptions } from "./create-turn.ts";
export {
  compactConversation,
  describeSurroundings,
  enqueueTurn,
  readUsage,
  resumeTurn,
  runTurn,
  streamTurn,
} from "./turn.ts";
export type {
  EnqueueOptions,
  ResumeOptions,
  TurnOptions,
  TurnResult,
  TurnServers,
} from "./turn-options.ts";
export {
  findInstructions,
  type InstructionFile,
  type Surroundings,
  type SurroundingsOptions,
  type SurroundingsPart,
} from "./surroundings.ts";
export { loadNextRequest, loadRecordingParts, loadTurnParts, onceBegun } from "./load-parts.ts";
export { findServerClashes, switchServerTools } from "./server-tools.ts";
export { shippedConfig } from "./shipped-tools.ts";
export { runToolCall } from "./tool-call.ts";
export { createOwnToolbox, type ToolConfigs } from "./own-tools.ts";
export { findTool, openConfiguredServers, openTools, policyIn, type Tools } from "./tools.ts";
export { isForOthers, type LeftEnd, runWorker, takeTurns, type WorkerOptions } from "./worker.ts";
export {
  sumTotals,
  type UsageGroup,
  type UsageOptions,
  type UsagePeriod,
  type UsageSource,
  type UsageTotal,
  UsageTotals,
} from "./usage.ts";
