/** Resolves `conversation.compaction`: the rules for `jp conversation compact`, and when jp compacts by itself. */
import type { JsonObject } from "../util/index.ts";
import { COMPACTION_DEFAULTS } from "./defaults.ts";
import { findSeconds } from "./duration.ts";
import type { ModelId } from "./model-id.ts";
import type { PartialConfig } from "./schema/config-schema.ts";
import { definedOnly } from "./schema/node.ts";

/** Where a range of turns starts or ends. Turns are counted from 0. */
export type TurnBoundSettings =
  | { readonly type: "keep"; readonly count: number }
  | { readonly type: "turn"; readonly index: number }
  | { readonly type: "from_end"; readonly count: number }
  | { readonly type: "within"; readonly ms: number }
  | { readonly type: "after_compaction" };

/** What to do with tool calls. */
export type ToolCallMode =
  | { readonly policy: "strip"; readonly request: boolean; readonly response: boolean }
  | { readonly policy: "omit" };

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
  /** The main model if absent. */
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
  /** The rule that jp applies by itself. */
  readonly rule: CompactionRuleSettings;
}

type PartialCompaction = NonNullable<NonNullable<PartialConfig["conversation"]>["compaction"]>;
type PartialRule = NonNullable<NonNullable<PartialCompaction["auto"]>["rule"]>;

/** `conversation.compaction`, with the rules as they apply. */
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

/** A rule as it is written in a config. */
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
        ...(parameters !== undefined && { parameters: parameters as JsonObject }), // Read from a config file: JSON.
      },
    }),
    ...(instructions !== undefined && { instructions }),
    ...(context !== undefined && { context }),
  };
}

const STRIP = { policy: "strip", request: true, response: true } as const;
const STRIP_REQUESTS = { ...STRIP, response: false } as const;
const STRIP_RESPONSES = { ...STRIP, request: false } as const;
const OMIT = { policy: "omit" } as const;

/** With the short forms of the Rust original. */
export const TOOL_CALL_MODES = {
  strip: STRIP,
  s: STRIP,
  "strip-requests": STRIP_REQUESTS,
  strip_requests: STRIP_REQUESTS,
  sreq: STRIP_REQUESTS,
  "strip-responses": STRIP_RESPONSES,
  strip_responses: STRIP_RESPONSES,
  sres: STRIP_RESPONSES,
  omit: OMIT,
  o: OMIT,
} as const satisfies Record<string, ToolCallMode>;

/** The names of `TOOL_CALL_MODES`. */
export const TOOL_CALL_MODE_NAMES = Object.keys(
  TOOL_CALL_MODES,
) as (keyof typeof TOOL_CALL_MODES)[]; // Its own keys.

/**
 * A number of turns to keep, a duration such as `5h`, the number of a turn (`@3`), a number of turns before the last (`-3`),
 * or `last-compaction`. Undefined if it is none of these.
 */
export function parseTurnBound(written: string | number): TurnBoundSettings | undefined {
  const text = String(written).trim().toLowerCase();
  if (text === "last-compaction" || text === "last") return { type: "after_compaction" };
  const [, sign = "", digits] = /^([@-]?)(\d+)$/.exec(text) ?? [];
  if (digits === undefined) {
    const seconds = findSeconds(text);
    return seconds === undefined ? undefined : { type: "within", ms: seconds * 1000 };
  }
  const count = Number(digits);
  if (sign === "-") return { type: "from_end", count };
  if (sign === "") return { type: "keep", count };
  return count === 0 ? undefined : { type: "turn", index: count - 1 };
}
