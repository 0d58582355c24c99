export { runTurn, streamTurn } from "./run-turn.ts";
export type { TurnOptions } from "./turn-options.ts";
export type { TurnResult } from "./turn-result.ts";
