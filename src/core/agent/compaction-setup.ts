/** Compaction settings of a turn. Separate from `window.ts`, whose code is loaded with the first request. */
import { resolveCompaction } from "../../settings/config/index.ts";
import type { CompactionRule } from "../../record/conversation/index.ts";
import type { Summarizer } from "./summary.ts";

/** When and how a turn compacts by itself. */
export interface CompactionSetup {
  /** False to never compact, so that a full window is an error. */
  readonly isAutomatic: boolean;
  /** The share of the context window that may be full before a request. */
  readonly triggerRatio: number;
  /** In tokens. By default, what is known about the model. */
  readonly contextWindow?: number;
  readonly rule: CompactionRule;
  /** The model that writes a summary for this rule; the turn's own by default. May throw `JpError`. */
  readonly summarizer?: (rule: CompactionRule) => Promise<Summarizer>;
}

const { rules: _byHand, ...BY_DEFAULT } = resolveCompaction({});

/** Strips reasoning and tool calls when three quarters of the window are full. */
export const DEFAULT_COMPACTION: CompactionSetup = BY_DEFAULT;
