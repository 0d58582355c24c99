export {
  answerPending,
  type AnswerTarget,
  type Offer,
  type SecretDelivery,
  type SecretOffer,
} from "./answering.ts";
export { makeFolder, writeDurably } from "./fs/durable.ts";
export { fileIdCreatedAt, findFileId } from "./fs/file-id.ts";
export { preloadSecrets } from "./fs/load-secret-sockets.ts";
export { assertCanLock, type ConversationLock, holdFileLock, withFileLock } from "./fs/lock.ts";
export {
  listLimits,
  type MigratedStore,
  migrateStore,
  type MigrateStoreOptions,
  openStore,
  type OpenStoreOptions,
  openTenant,
  rolesScript,
  setLimits,
} from "./open-store.ts";
export { OWNER_FILE, OWNER_FOLDER, securePrivateFolder } from "./fs/private-folder.ts";
export { PrivateFile, type PrivateFileOptions, readPrivate } from "./fs/private-file.ts";
export { type CopiedStore, copyStore, type CopyProblem, type PortableStore } from "./portable.ts";
export { listSeen, type SeenState, seenStatesBeside, type StatePlace } from "./fs/seen-states.ts";
export { isSteppedBack, parseSigned, type SignedState, signedToJson } from "./signed-state.ts";
export { acceptedFor, addressOf, DEFAULT_TENANT } from "./postgres/store-options.ts";
export type { LimitedTenant, TenantLimits } from "./postgres/limits.ts";
export type { RoleKind, TenantRole } from "./postgres/roles.ts";
export { type NotedHead, readHeads, readOwnRuns } from "./fs/read-chain.ts";
export { type OpenFile } from "./fs/event-file.ts";
export {
  createWorkspaceFolder,
  type DatabaseOptions,
  findWorkspaceRoot,
  isListedFolder,
  openWorkspace,
  type OpenWorkspaceOptions,
  type Workspace,
} from "./fs/workspace.ts";
export {
  headsFileIn,
  knownWorkspaces,
  type UserEnvironment,
  userConfigFolder,
  userDataFolder,
} from "./fs/user-data.ts";
export { MemoryConversationStore } from "./memory-store.ts";
export type {
  AnswerListener,
  AnswerOptions,
  AnswerResult,
  AnswerWait,
  ChainProblem,
  ChangeListener,
  Conversation,
  ConversationChange,
  ConversationStore,
  ConversationSummary,
  ConversationWriter,
  CreateOptions,
  ForkOptions,
  LastTurns,
  LeftTurn,
  ListOptions,
  LoadOptions,
  ListPendingTurnsOptions,
  MetadataChange,
  ListedPlace,
  OpenOptions,
  PendingPage,
  PendingPageQuery,
  PendingTurn,
  RecordPiece,
  RecordProblem,
  RunningWork,
  WorkLoad,
  WorkOptions,
} from "./port.ts";
export {
  archivedError,
  conversationNotFoundError,
  LockedError,
  noWorkspaceError,
  StorageError,
  type StorageErrorCode,
} from "./storage-error.ts";
export type {
  ClaimedWorkspace,
  EndedSessions,
  FileEdit,
  PeopleChange,
  PeopleLogRow,
  PeopleTable,
  PersonRow,
  RecordFile,
  RecordFiles,
  RecordPaths,
  SessionRow,
  SessionStore,
  SessionTable,
  SignedTurn,
  SteppedBackTurn,
  StoredWorkspace,
  Tenant,
  WorkspaceClaims,
  WorkspaceCreateOptions,
  WorkspaceStore,
  WorkspaceSummary,
} from "./workspace-port.ts";
/** The conversation types that a store works with. */
export {
  type AnswerEvent,
  type ChainLine,
  type ChainLink,
  compareCreation,
  type ConversationCreation,
  type ConversationEvent,
  type ConversationId,
  type ConversationMetadata,
  type ConversationStream,
  createStream,
  describeOpenTurn,
  eventToJson,
  findTimestamp,
  hasAllLabels,
  invalidIdError,
  lastTurnOf,
  metadataToJson,
  newestOf,
  type OfferedAnswer,
  parseConversationId,
  parseEvent,
  parseMetadata,
  readTurnProgress,
  SecretAnswer,
  StreamEntry,
  type Timestamp,
  timestampFromDate,
  type TurnProgress,
} from "../record/conversation/index.ts";
