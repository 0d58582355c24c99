export { controllingTerminal, type TerminalDevice } from "./controlling-terminal.ts";
export { createOutput, type Output, type OutputStreams } from "./output.ts";
export type { EditText } from "./dialogue.ts";
export { NO_TERMINAL, TerminalPrompter } from "./terminal-prompter.ts";
export { createStatusLine, type StatusLine, type StatusLineOptions } from "./status-line.ts";
