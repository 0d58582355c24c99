export type { Prompter, PromptRequest, PromptResult } from "./ports.ts";
