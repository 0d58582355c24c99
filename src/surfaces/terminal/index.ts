export {
  controllingTerminal,
  leaveTerminal,
  takeUnsent,
  type TerminalDevice,
} from "./controlling-terminal.ts";
export { DescriptorOutput, type OutputStream } from "./descriptor-output.ts";
export { columnsOf, createOutput, type Output, showsHyperlinks } from "./output.ts";
export type { EditText, EnteredMessage, OpenMessage } from "./dialogue.ts";
export type { Candidate, Completion, InputState, ShownMode } from "./input-state.ts";
export type { MenuRequest } from "./interrupt-menu.ts";
export type { TextBuffer } from "./text-buffer.ts";
export type { KeptTerminal } from "./kept-terminal.ts";
export {
  keepTerminal,
  NO_TERMINAL,
  openKeyboard,
  type OwnQuestion,
  TerminalPrompter,
} from "./terminal-prompter.ts";
export type { TurnKeyboard } from "./turn-keyboard.ts";
export { createStatusLine, type Pace, type StatusLine } from "./status-line.ts";
