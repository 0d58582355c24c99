export { ToolCycle } from "./calls.ts";
export { PromptQueue } from "./interrupts.ts";
export {
  type CallableTool,
  createJournal,
  type DeliveryRequest,
  type DeliveryResult,
  type FormRequest,
  type FormResult,
  type InterruptChoice,
  type InterruptMenu,
  type InterruptRequest,
  type Journal,
  noPrompter,
  type Observer,
  type PermissionRequest,
  type PermissionResult,
  type Prompter,
  type PromptRequest,
  type PromptResult,
  type Toolbox,
  type ToolOrigin,
  type TurnUpdate,
} from "./ports.ts";
export type { Assistant } from "./reply.ts";
export { type DetachedDenial, type TurnContext, TurnState } from "./state.ts";
export { Turn, type TurnEnd, type TurnRequest, type TurnSetup } from "./turn.ts";
