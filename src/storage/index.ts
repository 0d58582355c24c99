export { makeFolder, writeDurably } from "./fs/durable.ts";
export { type OpenFile } from "./fs/event-file.ts";
export {
  createWorkspaceFolder,
  findWorkspaceRoot,
  openWorkspace,
  type OpenWorkspaceOptions,
  type Workspace,
} from "./fs/workspace.ts";
export { knownWorkspaces, type UserEnvironment, userDataFolder } from "./fs/user-data.ts";
export { MemoryConversationStore } from "./memory-store.ts";
export type {
  AnswerListener,
  AnswerOptions,
  AnswerResult,
  AnswerWait,
  Conversation,
  ConversationStore,
  ConversationSummary,
  ConversationWriter,
  CreateOptions,
  FileEdit,
  ForkOptions,
  LastTurns,
  ListOptions,
  MetadataChange,
  PendingTurn,
  RecordFile,
  RecordFiles,
  RecordPaths,
  RecordPiece,
  RecordProblem,
  SessionStore,
} from "./port.ts";
export { conversationNotFoundError, StorageError, type StorageErrorCode } from "./storage-error.ts";
