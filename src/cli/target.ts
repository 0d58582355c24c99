/** Which conversation a word on the command line means. */
import { compareTimestamps, findConversationId } from "../conversation/index.ts";
import { oneLine } from "../render/index.ts";
import type { ConversationSummary } from "../storage/index.ts";
import { CodedError } from "../util/index.ts";
import type { CommandContext } from "./compose.ts";
import { lastActivity } from "./activity.ts";

/**
 * For commands that only read: without a word, the active conversation, or else the one used last,
 * and the user is told.
 */
export async function resolveTargetForReading(
  context: CommandContext,
  word: string | undefined,
): Promise<ConversationSummary> {
  if (word !== undefined) return resolveTarget(context, word);
  try {
    return await resolveTarget(context, undefined);
  } catch (error) {
    const recent = await resolveTarget(context, "recent").catch(() => undefined);
    if (recent === undefined) throw error;
    context.output.notice(
      `(none is active in this terminal: this is the one used last, ${recent.id})`,
    );
    return recent;
  }
}

/** The conversations that the words mean; without any, the active one. */
export async function resolveTargets(
  context: CommandContext,
  words: readonly string[],
): Promise<readonly ConversationSummary[]> {
  if (words.length === 0) return [await resolveTarget(context, undefined)];
  const targets = await Promise.all(words.map((word) => resolveTarget(context, word)));
  return targets.filter(
    (target, index) => targets.findIndex(({ id }) => id === target.id) === index,
  );
}

/** Throws `no_active_conversation`, `conversation_not_found`, `ambiguous_target`. */
export async function resolveTarget(
  context: CommandContext,
  word: string | undefined,
): Promise<ConversationSummary> {
  const summaries = await context.workspace.conversations.list({ which: "all" });
  if (word === undefined || word === "active" || word === ".") return active(context, summaries);
  const id = findConversationId(word);
  const found =
    id === undefined
      ? await byKeyword(context, summaries, word)
      : summaries.find((summary) => summary.id === id);
  return found ?? byTitle(summaries, word);
}

async function active(
  context: CommandContext,
  summaries: readonly ConversationSummary[],
): Promise<ConversationSummary> {
  const [id] = await context.workspace.session.history();
  const found = summaries.find((summary) => summary.id === id);
  if (found !== undefined) return found;
  throw new CodedError("no_active_conversation", "No conversation is active in this terminal.", {
    hint: "Name one, or make one active with `jp conversation use`; `jp conversation ls` lists them.",
  });
}

async function byKeyword(
  context: CommandContext,
  summaries: readonly ConversationSummary[],
  word: string,
): Promise<ConversationSummary | undefined> {
  const live = summaries.filter((summary) => !summary.isArchived);
  switch (word) {
    case "previous":
    case "s": {
      const history = await context.workspace.session.history();
      return live.find((summary) => summary.id === history[1]);
    }
    case "recent":
    case "r":
      return latest(live, (summary) => summary.metadata?.lastActivatedAt ?? lastActivity(summary));
    case "newest":
    case "n":
      return live.toSorted((left, right) => (left.id < right.id ? 1 : -1))[0];
    case "pinned":
    case "p":
      return latest(live, (summary) => summary.metadata?.pinnedAt);
    case "archived":
    case "a":
      return latest(summaries, (summary) => summary.metadata?.archivedAt);
    default:
      return undefined;
  }
}

type TimeOf = (summary: ConversationSummary) => Parameters<typeof compareTimestamps>[0] | undefined;

function latest(summaries: readonly ConversationSummary[], timeOf: TimeOf) {
  return summaries
    .flatMap((summary) => {
      const time = timeOf(summary);
      return time === undefined ? [] : [{ summary, time }];
    })
    .toSorted((left, right) => compareTimestamps(right.time, left.time))[0]?.summary;
}

function byTitle(summaries: readonly ConversationSummary[], word: string): ConversationSummary {
  const wanted = word.toLowerCase();
  const found = summaries.filter(({ metadata }) => metadata?.title?.toLowerCase().includes(wanted));
  const [first, second] = found;
  if (first !== undefined && second === undefined) return first;
  if (first === undefined) {
    throw new CodedError(
      "conversation_not_found",
      `No conversation is called "${oneLine(word)}".`,
      {
        hint: "`jp conversation ls` lists them; `jp conversation ls --archived` those put away.",
      },
    );
  }
  const names = found
    .slice(0, 5)
    .map(({ id, metadata }) => `  ${id}  ${oneLine(metadata?.title ?? "")}`);
  throw new CodedError(
    "ambiguous_target",
    `"${oneLine(word)}" fits ${found.length} conversations.`,
    {
      hint: ["Name one of them by its id:", ...names].join("\n"),
    },
  );
}
