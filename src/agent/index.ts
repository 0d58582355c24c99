export type { Assistant } from "./reply.ts";
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
  NOBODY,
  type Observer,
  type PermissionRequest,
  type PermissionResult,
  type Prompter,
  type PromptRequest,
  type PromptResult,
  type Toolbox,
  type ToolOrigin,
  type TurnParts,
  type TurnUpdate,
} from "./ports.ts";
export { PromptQueue } from "./interrupts.ts";
export { ToolCycle } from "./calls.ts";
export { type DetachedDenial, TurnState } from "./state.ts";
export { Turn, type TurnEnd, type TurnRequest, type TurnSetup } from "./turn.ts";
