export { createDesk, type DeskOptions } from "./desk.ts";
export type { DeskWorkspace } from "./workspace.ts";
export type {
  ConversationRef,
  Desk,
  DeskAnswerResult,
  InquiryRef,
  ResumeResult,
  ResumeTurn,
} from "./port.ts";
export type {
  ConversationJson,
  ConversationPart,
  ConversationQuery,
  DecisionJson,
  DeskEvent,
  InquiryQuery,
  Page,
  PendingQuery,
  Right,
} from "./wire.ts";
export {
  type DeskLimits,
  type DeskService,
  type PageFile,
  serveDesk,
  type ServeDeskOptions,
} from "./server.ts";
export { openSessions, openSharedSessions, type Session, type Sessions } from "./sessions.ts";
