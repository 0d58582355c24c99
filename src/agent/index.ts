export type { Assistant } from "./hear-reply.ts";
export { createJournal, type Journal } from "./journal.ts";
export { NOBODY } from "./nobody.ts";
export type { Observer, TurnUpdate } from "./observer.ts";
export type {
  DeliveryRequest,
  DeliveryResult,
  FormRequest,
  FormResult,
  InterruptChoice,
  InterruptMenu,
  InterruptRequest,
  PermissionRequest,
  PermissionResult,
  Prompter,
  PromptRequest,
  PromptResult,
  ToolOrigin,
} from "./ports.ts";
export { PromptQueue } from "./tool-coordinator/prompt-queue.ts";
export { ToolCycle } from "./tool-coordinator/tool-cycle.ts";
export type { CallableTool, Toolbox, TurnParts } from "./tool-coordinator/turn-parts.ts";
export { type DetachedDenial, TurnState } from "./tool-coordinator/turn-state.ts";
export { Turn, type TurnEnd, type TurnRequest, type TurnSetup } from "./turn.ts";
