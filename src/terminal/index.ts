export { createOutput, type Output, type OutputStreams } from "./output.ts";
export { TerminalPrompter } from "./prompter/terminal-prompter.ts";
