/** `jp resume`: finds an earlier conversation, shows how it ended, and opens a session with it. */
import { compareTimestamps } from "../../../record/conversation/index.ts";
import type { WorkspaceSummary } from "../../../stores/index.ts";
import { JpError, oneLine } from "../../../util/index.ts";
import type { CommandContext } from "../../context.ts";
import { findNamed, lastActivity } from "../../conversations.ts";
import type { Call } from "../../define.ts";
import { ExitStatus, usageError } from "../../exit-status.ts";
import { canOpenSession } from "../../host.ts";
import { findQuietPrompter } from "../../prompter.ts";
import { trustedConfig } from "../../trust.ts";
import { findByWords, type FoundConversation } from "../conversation/grep.ts";
import { listConversations } from "../conversation/ls.ts";
import { useConversation } from "../conversation/manage.ts";
import { printConversation } from "./conversation-end.ts";
import { pickConversation, restore, titleOf } from "./picker.ts";
import { session } from "./session.ts";
import type { MODE_OPTIONS } from "../../options.ts";

/**
 * The arguments are an ID, a keyword, or search words. Without a terminal, makes the conversation the session's
 * active one, or lists several with status 2. Throws `conversation_not_found` and `no_active_conversation`.
 */
export async function resume({ args, options, context }: Call<typeof MODE_OPTIONS>): Promise<void> {
  const named = args.length === 1 ? await findNamed(context, args.join()) : undefined;
  const found = named === undefined && args.length > 0 ? await search(args, context) : undefined;
  const only = named ?? (found?.length === 1 ? found[0]?.summary : undefined);
  if (!canOpenSession(context.host)) {
    if (only === undefined) return list(args, found, context);
    return useConversation({ args: [only.id], options: {}, context });
  }
  const chosen = only ?? (await pick(context, found));
  if (chosen === undefined) return;
  await restore(chosen, context);
  await printConversation(chosen, context);
  await session(context.host, options, chosen.id);
}

/** Conversations with the words in their titles come first, then the most recent ones. */
async function search(
  words: readonly string[],
  context: CommandContext,
): Promise<readonly FoundConversation[]> {
  const found = await findByWords(words, context);
  if (found.length === 0) {
    throw new JpError("conversation_not_found", `No conversation ${describeSearch(words)}.`, {
      hint: "`jp conversation grep` also searches calls, their results and reasoning.",
    });
  }
  return found.toSorted(
    (one, other) =>
      Number(one.hit !== undefined) - Number(other.hit !== undefined) ||
      compareTimestamps(lastActivity(other.summary), lastActivity(one.summary)),
  );
}

/** As in `No conversation contains "parser"`. */
function describeSearch(words: readonly string[]): string {
  const quoted = words.map((word) => `"${oneLine(word)}"`);
  return words.length === 1
    ? `contains ${quoted.join("")}`
    : `contains all of ${quoted.join(", ")}`;
}

async function pick(
  context: CommandContext,
  found: readonly FoundConversation[] | undefined,
): Promise<WorkspaceSummary | undefined> {
  // The session reports config problems.
  const { config } = await trustedConfig(context, {}).catch(() => ({ config: {} }));
  const prompter = findQuietPrompter(context, config, {});
  const { signal } = new AbortController();
  return prompter && pickConversation({ context, prompter, signal, found });
}

/** Throws `ExitStatus`, because no prompt is available to choose with. */
async function list(
  words: readonly string[],
  found: readonly FoundConversation[] | undefined,
  context: CommandContext,
): Promise<never> {
  if (found === undefined) {
    await listConversations({ args: [], options: { sort: "activity", format: "text" }, context });
  }
  for (const { summary } of found ?? []) context.output.print(`${summary.id}  ${titleOf(summary)}`);
  const message =
    found === undefined
      ? "Cannot show a list to choose from: no terminal is available."
      : `More than one conversation ${describeSearch(words)}, and no terminal is available to choose one.`;
  throw new ExitStatus(2, { cause: usageError(message, "Name one: jp resume <id>.") });
}
