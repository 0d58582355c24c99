/** Resolves `conversation.compaction`: the rules for `jp conversation compact`, and when jp compacts automatically. */
import type { JsonObject } from "../../util/index.ts";
import { COMPACTION_DEFAULTS } from "./defaults.ts";
import {
  parseTurnBound,
  TOOL_CALL_MODES,
  type ToolCallMode,
  type TurnBoundSettings,
} from "./compaction-notation.ts";
import type { ModelId } from "./model-id.ts";
import type { PartialConfig } from "./schema/config-schema.ts";
import { definedOnly } from "./defined-only.ts";

/** One rule, with its defaults filled in. */
export interface CompactionRuleSettings {
  readonly keepFirst: TurnBoundSettings;
  readonly keepLast: TurnBoundSettings;
  readonly reasoning?: "strip";
  readonly toolCalls?: ToolCallMode;
  readonly summary?: SummarySettings;
}

/** How a summary is made. */
interface SummarySettings {
  /** Default: the main model. */
  readonly model?: { readonly id: ModelId; readonly parameters?: JsonObject };
  readonly instructions?: string;
  readonly context?: string;
}

/** The settings in force for compactions. */
export interface CompactionSettings {
  /** At least one. */
  readonly rules: readonly CompactionRuleSettings[];
  readonly isAutomatic: boolean;
  readonly triggerRatio: number;
  /** In tokens. */
  readonly contextWindow?: number;
  /** The rule for automatic compaction. */
  readonly rule: CompactionRuleSettings;
}

type PartialCompaction = NonNullable<NonNullable<PartialConfig["conversation"]>["compaction"]>;
type PartialRule = NonNullable<NonNullable<PartialCompaction["auto"]>["rule"]>;

/** `conversation.compaction` with its rules resolved. */
export function resolveCompaction({ conversation }: PartialConfig): CompactionSettings {
  const { rules, auto = {} } = conversation?.compaction ?? {};
  const defaults = COMPACTION_DEFAULTS.auto;
  const { enabled, trigger_ratio, context_window } = { ...defaults, ...definedOnly(auto) };
  const written = rules?.value ?? [];
  return {
    rules: (written.length === 0 ? [BUILTIN_RULE] : written).map(toRule),
    isAutomatic: enabled,
    triggerRatio: trigger_ratio,
    ...(context_window !== undefined && { contextWindow: context_window }),
    rule: toRule({ ...defaults.rule, ...definedOnly(auto.rule ?? {}) }),
  };
}

/** Applies if no rule is configured. */
const BUILTIN_RULE: PartialRule = { reasoning: "strip", tool_calls: "strip" };
/** The first and the last turn. */
const KEPT = { type: "keep", count: 1 } as const;

/** Converts a rule from a config. */
export function toRule(rule: PartialRule): CompactionRuleSettings {
  const { keep_first, keep_last, reasoning, tool_calls, summary } = rule;
  const toolCalls = tool_calls && TOOL_CALL_MODES[tool_calls];
  return {
    keepFirst: (keep_first === undefined ? undefined : parseTurnBound(keep_first)) ?? KEPT,
    keepLast: (keep_last === undefined ? undefined : parseTurnBound(keep_last)) ?? KEPT,
    ...(reasoning !== undefined && { reasoning }),
    ...(toolCalls !== undefined && { toolCalls }),
    ...(summary !== undefined && { summary: toSummary(summary) }),
  };
}

function toSummary({ model, instructions, context }: NonNullable<PartialRule["summary"]>) {
  const { id, parameters } = model ?? {};
  return {
    ...(id !== undefined && {
      model: {
        id,
        ...(parameters !== undefined && { parameters: parameters as JsonObject }), // JSON, as read from a config file.
      },
    }),
    ...(instructions !== undefined && { instructions }),
    ...(context !== undefined && { context }),
  };
}
