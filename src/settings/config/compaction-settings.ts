/** Resolves `conversation.compaction`: the rules for `jp conversation compact`, and when jp compacts automatically. */
import type { CompactionRule, SummaryRule } from "../../record/conversation/index.ts";
import type { JsonObject } from "../../util/index.ts";
import { COMPACTION_DEFAULTS } from "./defaults.ts";
import { parseTurnBound, TOOL_CALL_MODES } from "./compaction-notation.ts";
import type { PartialConfig } from "./schema/config-schema.ts";
import { definedOnly } from "./defined-only.ts";

/** The settings in force for compactions. */
export interface CompactionSettings {
  /** At least one. */
  readonly rules: readonly CompactionRule[];
  /** Whether a turn compacts by itself. If not, a full window is an error. */
  readonly isAutomatic: boolean;
  /** The share of the context window that may be full before a request. */
  readonly triggerRatio: number;
  /** In tokens. By default, what is known about the model. */
  readonly contextWindow?: number;
  /** The rule for automatic compaction. */
  readonly rule: CompactionRule;
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

/** Converts a rule from a config, and fills in its defaults. */
export function toRule(rule: PartialRule): CompactionRule {
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

function toSummary({
  model,
  instructions,
  context,
}: NonNullable<PartialRule["summary"]>): SummaryRule {
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
