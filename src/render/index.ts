export { type CallEnd, callEnd, type CallEvents } from "./call-end.ts";
export {
  callText,
  describeCall,
  editedArguments,
  renderAskerLines,
  renderCallLines,
  renderInquiryLines,
  renderPermissionLines,
  renderResultLines,
} from "./call-lines.ts";
export { isDiff, paintDiff } from "./diff.ts";
export {
  describeDecider,
  describeEdited,
  describeOutcome,
  describeSource,
  type InquiryRow,
  type InquiryState,
  inquiryState,
  inquiryToJson,
} from "./inquiry.ts";
export { type MarkdownDocument, renderMarkdown } from "./markdown.ts";
export { firstLine, jsonLine, neutralize, oneLine } from "./neutralize.ts";
export { relativeTime } from "./relative-time.ts";
export {
  createMarkdownStream,
  type MarkdownStream,
  type MarkdownStreamOptions,
} from "./stream/markdown-stream.ts";
export { type Paint, plain, type StyleName } from "./style.ts";
export { type Cell, type Column, renderTable, type TableOptions, truncate } from "./table.ts";
export { renderTurn, type TranscriptOptions } from "./transcript.ts";
export { wrapCode, wrapProse, wrapWords } from "./wrap.ts";
