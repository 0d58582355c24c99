/** How much a call may do without a person, and add to the record. */
import { LIMIT_DEFAULTS } from "./defaults.ts";
import type { PartialConfig } from "./schema/config-schema.ts";

/** What is in force for every call. */
export interface CallLimits {
  /** Answers that no person gave: of the config, of memory, a question's default, a model's. */
  readonly automaticAnswersPerCall: number;
  readonly automaticAnswersPerTurn: number;
  /** Questions, answers and the result. */
  readonly recordBytesPerCall: number;
}

/** What the config says, and the defaults for the rest. */
export function resolveLimits({ conversation = {} }: PartialConfig): CallLimits {
  const {
    automatic_answers_per_call: automaticAnswersPerCall = LIMIT_DEFAULTS.automatic_answers_per_call,
    automatic_answers_per_turn: automaticAnswersPerTurn = LIMIT_DEFAULTS.automatic_answers_per_turn,
    record_bytes_per_call: recordBytesPerCall = LIMIT_DEFAULTS.record_bytes_per_call,
  } = conversation.limits ?? {};
  return { automaticAnswersPerCall, automaticAnswersPerTurn, recordBytesPerCall };
}

/** Where nothing is configured. */
export const DEFAULT_LIMITS = resolveLimits({});
