export type { Machine } from "./machine.ts";
export { openProviders } from "./providers.ts";
export { createTurn, runTurn, streamTurn, type TurnOptions, type TurnResult } from "./turn.ts";
export { createShippedTools, shippedConfig } from "./shipped-tools.ts";
export { runToolCall, type ToolCallOptions } from "./tool-call.ts";
export { findTool, openTools, type ToolConfigs, type Tools } from "./tools.ts";
