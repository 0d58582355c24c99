export {
  ChainBuilder,
  ChainedEntries,
  type ChainLine,
  chainLineToText,
  type ChainLink,
  type ChainOrigin,
  commitTo,
  type GapReason,
  hashLink,
  parseChainLine,
  parseLink,
} from "./chain.ts";
export {
  type Compaction,
  type EntryContent,
  StreamEntry,
  type ToolCallCompaction,
} from "./entry.ts";
export {
  compareCreation,
  type ConversationCreation,
  type ConversationId,
  findConversationId,
  invalidIdError,
  newestOf,
  parseConversationId,
} from "./conversation-id.ts";
export {
  type AddedText,
  type CancellationReason,
  type ChatRequest,
  type ChatResponse,
  type ConversationEvent,
  type Decider,
  type DecidingRule,
  type DecisionSubject,
  type DecisionVoid,
  type DenialCause,
  type AnsweredOutcome,
  type AttemptStart,
  EVENT_TYPES,
  type EventType,
  type Grant,
  type InquiryEscalation,
  type InquiryId,
  type InquiryOutcome,
  type InquiryRequest,
  type InquiryResponse,
  isDecisive,
  isEventType,
  isProviderVisible,
  isReasoning,
  type KnownCancellationReason,
  type PermissionAction,
  type PermissionDecision,
  type PermissionRequestEvent,
  type ProviderEvent,
  type RecordedGrant,
  type SubjectDigest,
  type TokenUsage,
  type ToolCallRequest,
  type ToolCallResponse,
  type ToolResult,
  type ToolStep,
  type TurnEndEvent,
  type ReplyFailure,
  type TurnResume,
  type TurnStart,
  type TurnUndo,
  type UndoneFile,
} from "./event.ts";
export {
  fileSize,
  fileText,
  fileUrl,
  type MessageFile,
  MAX_FILE_BYTES,
  type RecordedFile,
  recordFiles,
} from "./message-file.ts";
export {
  ACTIONS,
  type AnswerEvent,
  askerAbout,
  type CallDecisionKind,
  type Decidable,
  DECIDERS,
  deciderOf,
  DECISION_KINDS,
  type DecisionKind,
  explainReply,
  grantOf,
  type GrantScope,
  isActing,
  questionAbout,
  type Reply,
  type ReplyOrCancel,
  replyToEvent,
  RERUN_ANSWERS,
  redirectionOf,
} from "./decision.ts";
export {
  type CallSubject,
  changedParts,
  digestCall,
  digestDelivery,
  digestQuestion,
  isMadeIn,
  toolIdentity,
} from "./subject.ts";
export { eventToJson, eventToPlainJson, parseEvent } from "./event-codec.ts";
export { undoneSince } from "./undone.ts";
export {
  cancellationTag,
  deciderToJson,
  describeDecider,
  inquiryQuestionToJson,
  UNDO_FORECASTS,
} from "./inquiry-codec.ts";
export { inquiriesIn, InquiryLog, type LoggedInquiry } from "./inquiry-log.ts";
export { deadlineOf, withEscalation } from "./open-question.ts";
export {
  type ConversationMetadata,
  hasAllLabels,
  metadataToJson,
  parseMetadata,
  titleAndLabels,
} from "./metadata.ts";
export {
  type AnswerProblem,
  findAnswerTo,
  isAnswer,
  type Judgement,
  explainPerson,
  foldName,
  isSameName,
  judgeAnswer,
  mayAnswer,
  type OfferedAnswer,
  SecretAnswer,
} from "./answers.ts";
export {
  type CallProgress,
  canGoOn,
  changedSince,
  describeOpenTurn,
  newCall,
  type OpenTurnState,
  type PendingItem,
  pendingOf,
  permissionId,
  type PermissionProgress,
  readTurnProgress,
  type TurnProgress,
  wasPermitted,
} from "./turn-progress.ts";
export {
  findRequest,
  type InquiryPair,
  isReplaced,
  undoneTurns,
  lastTurnIndex,
  lastTurnOf,
  type Pair,
  type Pairing,
  pairInquiries,
  pairToolCalls,
  type RecordedTurn,
  TurnCounter,
  turnsOf,
  TurnSplitter,
} from "./turns.ts";
export {
  afterAll,
  type CompactionRange,
  type CompactionRule,
  describeCompaction,
  describeTurns,
  planCompactions,
  type PlannedCompaction,
  type PlanOptions,
  type SummaryRule,
  toCompaction,
  type TurnBound,
} from "./compaction.ts";
export { compactionsOf, project, projectRange, projectTurns, trimLastTurn } from "./projection.ts";
export { INTERRUPTED_CALL, sanitize, type SanitizedPairs } from "./sanitize.ts";
export {
  createTextFinder,
  type SearchableText,
  type SearchScope,
  type TextFinder,
} from "./searchable-text.ts";
export {
  type ConversationStream,
  type StreamOutline,
  createStream,
  endOf,
  eventsOf,
  findSchema,
  withRequiredConfig,
  type StoredStream,
} from "./stream.ts";
export {
  findBeginning,
  type Attachment,
  holdsAttachments,
  intoMessages,
  intoParts,
  renderDocument,
  type Section,
  type SystemPart,
  type Thread,
  type ThreadParts,
} from "./thread.ts";
export {
  compareTimestamps,
  findTimestamp,
  parseTimestamp,
  type Timestamp,
  timestampFromDate,
  timestampToMilliseconds,
} from "./timestamp.ts";
export { estimateTokens, eventTokens, requestTokens } from "./token-estimates.ts";
export { usageIn, usageOf } from "./recorded-usage.ts";
export { addUsage, isReported, type Usage } from "./usage.ts";
export { usageToJson } from "./usage-codec.ts";
export { isForUserAlone, spokenText, userView, withoutSpoken } from "./user-view.ts";
