export { ToolCycle } from "./calls.ts";
export { whomOfTarget } from "./subject.ts";
export { directoryMissing } from "./directory-missing.ts";
export { loadForms } from "./load-decisions.ts";
export { type CompactionContext, makeCompaction, recordCompaction } from "./compact.ts";
export { assertNothingWaits, closeCall, closeTurn } from "./closing.ts";
export { type DataValidator, type Done, type InvalidData, isBesideReply } from "./data.ts";
export { guardObserver, warnOnce, withConversation } from "./observer.ts";
export {
  type AnsweredForm,
  type AnsweredPrompt,
  type AnswerSource,
  type CallableTool,
  type CallToDecide,
  type ContextUse,
  type DecisionBase,
  type DecisionRequest,
  type DecisionToGive,
  type DeliveryRequest,
  type DoubtRequest,
  type FormRequest,
  type Given,
  type GivenReply,
  type InterruptChoice,
  type InterruptMenu,
  type InterruptRequest,
  type Journal,
  type NoAnswer,
  type NoAnswerReason,
  type Observer,
  type GrantChoices,
  type PermissionRequest,
  type PermissionsRequest,
  type Prompter,
  type PromptRequest,
  type PromptResult,
  type QuestionRequest,
  type RequestBase,
  type SteeringMessage,
  type SteeringSource,
  type Toolbox,
  type TurnUpdate,
  type UpdateIds,
} from "./ports.ts";
export { CLOSING_MS, defaultLabel, guardPrompter, noPrompter, signingOf } from "./prompts.ts";
export { PromptQueue } from "./prompt-queue.ts";
export type { ClosingReason } from "./stop-cause.ts";
export type { Assistant } from "./reply.ts";
export { settleOverdue } from "./route.ts";
export { type DetachedDenial, TurnState } from "./memory.ts";
export { createJournal } from "./journal.ts";
export type { TurnContext } from "./context.ts";
export {
  loadCalls,
  loadWindow,
  startTurn,
  type TraceTurn,
  Turn,
  type TurnEnd,
  type TurnMessage,
  type TurnSetup,
} from "./turn.ts";
export type { Summarizer } from "./summary.ts";
export type { CompactionSetup } from "./window.ts";
