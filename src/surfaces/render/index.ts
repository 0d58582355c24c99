export {
  argumentLines,
  callEnd,
  callLine,
  callText,
  describeCall,
  readCall,
  type ReadCall,
  renderAskerLines,
  renderCallLines,
  renderChangeAnswer,
  renderChangeLines,
  renderInquiryLines,
  renderPermissionLines,
} from "./call-lines.ts";
export { changeText, type ContextStyle, renderContext } from "./context.ts";
export { changeTitle, type FileChange, findFileChange } from "./file-change.ts";
export { describeCapabilities, describeGrant, describeScope, describeUntil } from "./grant.ts";
export { briefResult, type ResultBrief } from "./result-brief.ts";
export { failureNote, renderResultLines, type ResultLineOptions } from "./result-lines.ts";
export { isDiff, type Paint, plain, type StyleName } from "./style.ts";
export {
  describeCalls,
  describeChoices,
  describeEnd,
  describeIncomplete,
  describePending,
  describeRemembered,
  describeSubject,
  describeWaiting,
  INQUIRY_STATES,
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
export { renderMarkdown } from "./markdown.ts";
export {
  describeConfinement,
  describeOrigin,
  describeUndo,
  originLines,
  sourceLines,
} from "./origin.ts";
export { describePeopleChange, shortKey } from "./people-change.ts";
export { describeState, nameState, summaryToJson } from "./summary.ts";
export { localTime, relativeTime } from "./relative-time.ts";
export { renderTurn } from "./transcript.ts";
export {
  createMarkdownStream,
  type MarkdownStream,
  type MarkdownStreamOptions,
} from "./stream/markdown-stream.ts";
export { loadMarkdownStream } from "./stream/load-markdown-stream.ts";
export { type Cell, renderTable } from "./table.ts";
export { unsaidArguments } from "./unsaid-arguments.ts";
export { describeContextUse, describeUsage, renderUsage } from "./usage.ts";
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
export { describeReplyFile, describeSources } from "./sources.ts";
