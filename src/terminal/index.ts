export { controllingTerminal, type TerminalDevice } from "./controlling-terminal.ts";
export { DescriptorOutput, type OutputStream } from "./descriptor-output.ts";
export {
  columnsOf,
  createOutput,
  type Output,
  type OutputStreams,
  showsHyperlinks,
} from "./output.ts";
export type { EditText, EnteredMessage, MessageRequest, OpenMessage } from "./dialogue.ts";
export type { Candidate, Completion, InputState } from "./input-state.ts";
export type { MenuRequest } from "./interrupt-menu.ts";
export type { TextBuffer } from "./text-buffer.ts";
export { NO_TERMINAL, TerminalPrompter } from "./terminal-prompter.ts";
export {
  createStatusLine,
  type Pace,
  type StatusLine,
  type StatusLineOptions,
} from "./status-line.ts";
