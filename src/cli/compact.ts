/**
 * Compacts for commands: reads rules from flags, or from one word such as `r+t:..-3`, and tells the user what is done.
 */
import {
  compactConversation,
  type CompactOptions,
  configuredSummarizer,
} from "../assemble/index.ts";
import type { Observer } from "../core/agent/index.ts";
import type { Providers } from "../reach/provider/index.ts";
import type { Compaction, CompactionRule, TurnBound } from "../record/conversation/index.ts";
import {
  type PartialConfig,
  parseTurnBound,
  resolveCompaction,
  TOOL_CALL_MODES,
  toRule,
} from "../settings/config/index.ts";
import type { ConversationWriter } from "../stores/index.ts";
import type { Output } from "../surfaces/terminal/index.ts";
import { oneLine } from "../util/index.ts";
import { describeNewCompaction } from "./command/query/text-view.ts";
import { type CommandContext, untilSignal } from "./context.ts";
import { ExitStatus, INTERRUPTED, usageError } from "./exit-status.ts";
import type { COMPACT_OPTIONS, FlagsOf } from "./options.ts";

export interface CompactFlag {
  readonly compact?: FlagsOf<typeof COMPACT_OPTIONS>["compact"] | undefined;
}

/** Command-line rules replace those of the config, unless `--compact` is also given without one. Throws `usage`. */
export function rulesOf(
  { compact = [] }: CompactFlag,
  configured: readonly CompactionRule[],
  others: readonly CompactionRule[] = [],
): readonly CompactionRule[] {
  const specs = compact.flatMap((spec) => (spec === true ? [] : [parseSpec(spec)]));
  const explicit = [...others, ...specs];
  if (explicit.length === 0) return configured;
  return compact.includes(true) ? [...configured, ...explicit] : explicit;
}

/** Throws `usage`. */
function parseSpec(text: string): CompactionRule {
  const [policies = "", range, ...rest] = text.split(":");
  if (rest.length > 0) throw invalidSpec(text);
  const written = policies
    .split("+")
    .map((policy) => parsePolicy(policy.trim(), text))
    .reduce<WrittenRule>((all, one) => ({ ...all, ...one }), {});
  const rule = toRule(written);
  return range === undefined ? rule : { ...rule, ...parseRange(range, text) };
}

type WrittenRule = Parameters<typeof toRule>[0];

function parsePolicy(policy: string, text: string): WrittenRule {
  const [name, mode, ...rest] = policy.split("=");
  if (rest.length > 0) throw invalidSpec(text);
  if ((name === "t" || name === "tools") && (mode === undefined || isMode(mode))) {
    return { tool_calls: mode ?? "strip" };
  }
  if (mode !== undefined) throw invalidSpec(text);
  if (name === "r" || name === "reasoning") return { reasoning: "strip" };
  if (name === "s" || name === "summarize") return { summary: {} };
  throw invalidSpec(text);
}

/** Whether it is a mode for compacting tool calls, such as `omit`. */
export function isMode(text: string): text is keyof typeof TOOL_CALL_MODES {
  return Object.hasOwn(TOOL_CALL_MODES, text);
}

function parseRange(range: string, text: string): Pick<CompactionRule, "keepFirst" | "keepLast"> {
  const [, from = "", dots, to = ""] = /^(-?\d+)?(\.\.)?(-?\d+)?$/.exec(range) ?? [];
  if (range === "" || (dots === undefined && (from === "" || to !== ""))) throw invalidSpec(text);
  const isEndOnly = dots === undefined && from.startsWith("-");
  const [first, last] = isEndOnly ? ["", from] : [from, to];
  return {
    keepFirst: first === "" ? { type: "keep", count: 0 } : boundOf(first, text),
    keepLast: last === "" ? { type: "keep", count: 0 } : boundOf(last, text),
  };
}

function boundOf(written: string, text: string): CompactionRule["keepFirst"] {
  const bound = parseTurnBound(written.startsWith("-") ? written : `@${written}`);
  if (bound === undefined) throw invalidSpec(text);
  return bound;
}

function invalidSpec(text: string): Error {
  return usageError(
    `Not a compaction rule: ${text}`,
    "Examples: r+t, s:..-3, t=omit:2..5. On the command line, put --compact last, or -- after it.",
  );
}

/** A bound of `--from` or `--to`: 3, -3 (the third from the end), 5h ago, or last-compaction. Throws `usage`. */
export function parseBound(written: string): TurnBound {
  const bound = parseTurnBound(written);
  if (bound?.type === "within") return { type: "ago", ms: bound.ms };
  if (bound?.type === "keep" && bound.count > 0) return { type: "turn", index: bound.count - 1 };
  if (bound?.type === "from_end" && bound.count > 0) {
    return { type: "from_end", count: bound.count - 1 };
  }
  if (bound?.type === "after_compaction") return bound;
  throw usageError(
    `Not a turn: ${written}`,
    "Write a turn's number, -1 for the last turn, a duration like 5h, or last-compaction.",
  );
}

interface CompactParts {
  readonly config: PartialConfig;
  readonly providers: Providers;
  readonly context: CommandContext;
  /** The command that undoes it, unless it is about the active conversation. */
  readonly undo?: string;
}

/**
 * `--compact` of `jp query`, which compacts before the turn, and of `jp conversation fork`. Throws like
 * `compactInForeground`.
 */
export async function compactByFlag(
  conversation: ConversationWriter,
  flag: CompactFlag,
  { config, providers, context, undo }: CompactParts,
): Promise<void> {
  const { output } = context;
  const made = await compactInForeground(context, conversation, {
    rules: rulesOf(flag, resolveCompaction(config).rules),
    summarizer: configuredSummarizer(config, providers),
  });
  for (const compaction of made) output.notice(describeNewCompaction(compaction, undo));
  if (made.length === 0) output.notice("Nothing to compact.");
}

/** Until Ctrl-C. Throws what `compactConversation` throws, and `ExitStatus`. */
export async function compactInForeground(
  context: CommandContext,
  conversation: ConversationWriter,
  options: CompactOptions,
): Promise<readonly Compaction[]> {
  const { clock, output } = context;
  using stop = untilSignal(context);
  const { signal } = stop;
  const observer = noticeSummaries(output);
  try {
    return await compactConversation(conversation, { clock, signal, observer, ...options });
  } catch (error) {
    if (signal.aborted) throw new ExitStatus(INTERRUPTED);
    throw error;
  }
}

/** A summary takes a while. */
function noticeSummaries(output: Output): Observer {
  return {
    observe: (update) => {
      if (update.type !== "summary_start") return;
      output.notice(`Summarizing ${update.turns} with ${oneLine(update.model)}…`);
    },
  };
}
