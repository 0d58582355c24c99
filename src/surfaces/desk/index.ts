export { createDesk, type DeskOptions } from "./desk.ts";
export type { ConversationRef, Desk, InquiryRef, ResumeResult, ResumeTurn } from "./port.ts";
export type { ConversationJson, DecisionJson, DeskEvent, Page, PendingQuery } from "./wire.ts";
export { type DeskService, type PageFile, serveDesk } from "./server.ts";
export { openSessions, openSharedSessions, type Sessions } from "./sessions.ts";
