export { type Compaction, type ToolCallCompaction } from "./compaction.ts";
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
export { type EntryContent, StreamEntry } from "./entry.ts";
export type {
  CancellationReason,
  ChatRequest,
  ChatResponse,
  ConversationEvent,
  Decider,
  EventType,
  InquiryId,
  InquiryOutcome,
  InquiryRequest,
  InquiryResponse,
  KnownCancellationReason,
  PermissionDecision,
  ToolCallRequest,
  ToolCallResponse,
  TurnStart,
} from "./event.ts";
export { eventToJson, eventToPlainJson, parseEvent } from "./event-codec.ts";
export { EVENT_TYPES, isProviderVisible, type ProviderEvent } from "./event-kinds.ts";
export { deciderToJson } from "./decider-codec.ts";
export { cancellationTag, inquiryQuestionToJson } from "./inquiry-codec.ts";
export { InquiryLog, type LoggedInquiry } from "./inquiry-log.ts";
export { type ConversationMetadata, metadataToJson, parseMetadata } from "./metadata.ts";
export { type Pair, type Pairing, pairInquiries, pairToolCalls } from "./pairing.ts";
export { project } from "./projection.ts";
export { INTERRUPTED_CALL, sanitize } from "./sanitize.ts";
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
export { type Turn, TurnCounter, turnsOf } from "./turns.ts";
