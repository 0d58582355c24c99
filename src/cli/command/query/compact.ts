/** `--compact` of `jp query`, which compacts before the turn, and of `jp conversation fork`. */
import { type PartialConfig, resolveCompaction } from "../../../settings/config/index.ts";
import type { Providers } from "../../../reach/provider/index.ts";
import { compactConversation, configuredSummarizer } from "../../../assemble/index.ts";
import type { ConversationWriter } from "../../../stores/index.ts";
import { type CompactFlag, noticeSummaries, rulesOf } from "../../compact-rules.ts";
import { type CommandContext, untilSignal } from "../../context.ts";
import { ExitStatus, INTERRUPTED } from "../../exit-status.ts";
import { describeNewCompaction } from "./text-view.ts";

interface CompactParts {
  readonly config: PartialConfig;
  readonly providers: Providers;
  readonly context: CommandContext;
  /** The command that undoes it, unless it is about the active conversation. */
  readonly undo?: string;
}

/** Does nothing without the flag. Throws what `compactConversation` throws, and `ExitStatus` on Ctrl-C. */
export async function compactByFlag(
  conversation: ConversationWriter,
  flag: CompactFlag,
  { config, providers, context, undo }: CompactParts,
): Promise<void> {
  if (flag.compact === undefined) return;
  const { output, clock } = context;
  using stop = untilSignal(context);
  try {
    const made = await compactConversation(conversation, {
      rules: rulesOf(flag, resolveCompaction(config).rules),
      summarizer: configuredSummarizer(config, providers),
      clock,
      signal: stop.signal,
      observer: noticeSummaries(output),
    });
    for (const compaction of made) output.notice(describeNewCompaction(compaction, undo));
    if (made.length === 0) output.notice("Nothing to compact.");
  } catch (error) {
    if (stop.signal.aborted) throw new ExitStatus(INTERRUPTED);
    throw error;
  }
}
