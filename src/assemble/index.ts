export { AnswersFile } from "./answers-file.ts";
export { configuredChanges } from "./changes.ts";
export {
  type ChooseSummarizer,
  type CompactionOptions,
  type CompactOptions,
  configuredSummarizer,
  planCompaction,
} from "./compaction.ts";
export { compactConversation } from "./compact-conversation.ts";
export { createConfiguredTurn } from "./configured-turn.ts";
export type { DataOf, DataSchema, Message } from "./data.ts";
export { configuredInquiryModels } from "./inquiry-models.ts";
export type { Machine } from "./machine.ts";
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
  pendingInTurn,
  isRefused,
  judgeAnswerTo,
  untilAnswered,
} from "./pending.ts";
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
export { enqueueTurn, resumeTurn, runTurn, streamTurn } from "./turn.ts";
export type {
  EnqueueOptions,
  ResumeOptions,
  TurnOptions,
  TurnResult,
  TurnServers,
} from "./turn-options.ts";
export { describeSurroundings } from "./describe-surroundings.ts";
export {
  configuredSurroundings,
  findInstructions,
  type InstructionFile,
  type Surroundings,
  type SurroundingsOptions,
  type SurroundingsPart,
  type SurroundingsSearch,
} from "./surroundings.ts";
export { loadRecordingParts, loadTurnParts } from "./load-parts.ts";
export { switchServerTools } from "./server-tools.ts";
export { shippedConfig } from "./shipped-tools.ts";
export { runToolCall } from "./tool-call.ts";
export { createOwnToolbox, type ToolConfigs } from "./own-tools.ts";
export {
  findTool,
  openConfiguredServers,
  openTools,
  policyIn,
  serversForTurn,
  type Tools,
} from "./tools.ts";
export { type LeftEnd, runWorker, takeTurns, type WorkerOptions } from "./worker.ts";
export { readUsage } from "./read-usage.ts";
export {
  sumTotals,
  type UsageGroup,
  type UsageOptions,
  type UsagePeriod,
  type UsageSource,
  type UsageTotal,
  UsageTotals,
} from "./usage.ts";
