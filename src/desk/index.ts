export { createDesk, type DeskOptions } from "./desk.ts";
export type { DeskWorkspace } from "./workspace.ts";
export { DEFAULT_RIGHTS, looksLike, openPeople, RIGHTS } from "./people.ts";
export type {
  ConversationJson,
  ConversationPart,
  ConversationQuery,
  ConversationRef,
  Desk,
  DeskAnswerResult,
  DeskEvent,
  DeskReply,
  InquiryQuery,
  InquiryRef,
  Page,
  PendingJson,
  People,
  Person,
  ResumeResult,
  ResumeTurn,
  Right,
} from "./port.ts";
export {
  type DeskLimits,
  type DeskService,
  type PageFile,
  serveDesk,
  type ServeDeskOptions,
} from "./server.ts";
export { openSessions, type Session, type Sessions } from "./sessions.ts";
