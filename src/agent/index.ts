export { ToolCycle } from "./calls.ts";
export { PromptQueue } from "./interrupts.ts";
export {
  type CallableTool,
  type DeliveryRequest,
  type DeliveryResult,
  type FormRequest,
  type FormResult,
  type InterruptChoice,
  type InterruptMenu,
  type InterruptRequest,
  type Journal,
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
export {
  createJournal,
  type DetachedDenial,
  noPrompter,
  type TurnContext,
  TurnState,
} from "./state.ts";
export { Turn, type TurnEnd, type TurnRequest, type TurnSetup } from "./turn.ts";
