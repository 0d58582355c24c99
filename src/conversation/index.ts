export {
  type Compaction,
  type EntryContent,
  StreamEntry,
  type ToolCallCompaction,
} from "./entry.ts";
export {
  conversationCreatedAt,
  type ConversationId,
  conversationIdFromDate,
  conversationIdFromNumber,
  conversationIdToNumber,
  findConversationId,
  findIdInFolderName,
  folderName,
  parseConversationId,
} from "./conversation-id.ts";
export {
  type CancellationReason,
  type ChatRequest,
  type ChatResponse,
  type ConversationEvent,
  type Decider,
  EVENT_TYPES,
  type EventType,
  type InquiryId,
  type InquiryOutcome,
  type InquiryRequest,
  type InquiryResponse,
  isEventType,
  isProviderVisible,
  type KnownCancellationReason,
  type PermissionDecision,
  type ProviderEvent,
  type ToolCallRequest,
  type ToolCallResponse,
  type TurnStart,
} from "./event.ts";
export { eventToJson, eventToPlainJson, parseEvent } from "./event-codec.ts";
export { cancellationTag, deciderToJson, inquiryQuestionToJson } from "./inquiry-codec.ts";
export { InquiryLog, type LoggedInquiry } from "./inquiry-log.ts";
export { type ConversationMetadata, metadataToJson, parseMetadata } from "./metadata.ts";
export {
  type Pair,
  type Pairing,
  pairInquiries,
  pairToolCalls,
  type Turn,
  TurnCounter,
  turnsOf,
  TurnSplitter,
} from "./turns.ts";
export { project } from "./projection.ts";
export { INTERRUPTED_CALL, sanitize, type SanitizedPairs } from "./sanitize.ts";
export { findSearchableText, type SearchableText, type SearchScope } from "./searchable-text.ts";
export {
  type ConversationStream,
  createStream,
  eventsOf,
  findSchema,
  withRequiredConfig,
  type StoredStream,
} from "./stream.ts";
export {
  type Attachment,
  intoMessages,
  intoParts,
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
