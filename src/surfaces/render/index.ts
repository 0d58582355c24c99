export {
  argumentLines,
  type CallEnd,
  callEnd,
  type CallEvents,
  callLine,
  callText,
  describeCall,
  editedArguments,
  renderAskerLines,
  renderCallLines,
  renderChangeAnswer,
  renderChangeLines,
  renderInquiryLines,
  renderPermissionLines,
} from "./call-lines.ts";
export { changeText, type ContextOptions, type ContextStyle, renderContext } from "./context.ts";
export {
  type AskedChange,
  type ChangedFile,
  changeTitle,
  type FileChange,
  findFileChange,
} from "./file-change.ts";
export { describeCapabilities, describeGrant, describeScope, describeUntil } from "./grant.ts";
export { failureNote, renderResultLines } from "./result-lines.ts";
export { isDiff, type Paint, plain, type StyleName } from "./style.ts";
export {
  describeCalls,
  describeEnd,
  describeIncomplete,
  describePending,
  describeRemembered,
  describeSubject,
  describeWaiting,
  INQUIRY_STATES,
  type InquiryFilter,
  type InquiryRow,
  type InquiryState,
  inquiryState,
  matchesInquiryFilter,
} from "./decision-rows.ts";
export {
  answeredToJson,
  type DecisionPlace,
  decisionToJson,
  toDeciderJson,
  type PendingAsQuestion,
} from "./decision-json.ts";
export type {
  DeciderJson,
  DecisionJson,
  OutcomeJson,
  QuestionJson,
  VoteJson,
} from "./decision-json-types.ts";
export {
  describeAnswer,
  describeAskedAgain,
  describeChanged,
  describeEdited,
  describeEscalation,
  describeOptions,
  describeOutcome,
  describeSource,
  describeVoidCause,
  describeVotes,
  optionLabel,
} from "./inquiry.ts";
export { type MarkdownDocument, renderMarkdown } from "./markdown.ts";
export { describeOrigin, originLines, sourceLines } from "./origin.ts";
export { describePeopleChange, type PeopleChange, shortKey } from "./people-change.ts";
export { describeState, type ListedConversation, nameState, summaryToJson } from "./summary.ts";
export { relativeTime } from "./relative-time.ts";
export { renderTurn, type TranscriptOptions } from "./transcript.ts";
export {
  createMarkdownStream,
  type MarkdownStream,
  type MarkdownStreamOptions,
} from "./stream/markdown-stream.ts";
export { loadMarkdownStream } from "./stream/load-markdown-stream.ts";
export { type Cell, type Column, renderTable, type TableOptions } from "./table.ts";
export { describeUsage, renderUsage, type UsageRow, type UsageTableOptions } from "./usage.ts";
export {
  verbatim,
  verbatimLines,
  type VerbatimOptions,
  verbatimProse,
  verbatimProseLines,
} from "./verbatim.ts";
export {
  moreLines,
  textWidth,
  truncate,
  truncateWords,
  wrapCode,
  wrapCommand,
  wrapProse,
  wrapVerbatim,
  wrapWords,
} from "./wrap.ts";
export { findOtherHost } from "./url-host.ts";
