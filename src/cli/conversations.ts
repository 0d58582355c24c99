/** Which conversation a word on the command line means. */
import {
  compareTimestamps,
  conversationCreatedAt,
  type ConversationId,
  findConversationId,
  type StreamEntry,
  type Timestamp,
} from "../conversation/index.ts";
import { oneLine } from "../render/index.ts";
import type { ConversationSummary } from "../storage/index.ts";
import { CodedError, isCodedError } from "../util/index.ts";
import { type CommandContext, warn, warnOf } from "./context.ts";
import { usageError } from "./exit-status.ts";

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
    const isNoneActive = isCodedError(error) && error.code === "no_active_conversation";
    const recent = isNoneActive ? await findRecent(context) : undefined;
    if (recent === undefined) throw error;
    context.output.notice(
      `(none is active in this terminal: this is the one used last, ${recent.id})`,
    );
    return recent;
  }
}

async function findRecent(context: CommandContext): Promise<ConversationSummary | undefined> {
  return KEYWORDS.recent.find(await context.workspace.conversations.list({ which: "all" }), []);
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
  word = "active",
): Promise<ConversationSummary> {
  const { conversations, session } = context.workspace;
  const summaries = await conversations.list({ which: "all" });
  const id = findConversationId(word);
  const named = id && summaries.find((summary) => summary.id === id);
  if (named !== undefined) return named;
  // Bare digits may also stand in a title.
  if (id !== undefined && word.startsWith("jp-c")) throw noSuch(id);
  const keyword = Object.values(KEYWORDS).find(({ words }) => words.includes(word));
  if (keyword === undefined) return byTitle(summaries, word);
  const found = keyword.find(summaries, await session.history());
  if (found !== undefined) return found;
  const code =
    word === "active" || word === "." ? "no_active_conversation" : "conversation_not_found";
  throw new CodedError(code, keyword.missing, {
    hint: "Name one, or make one active with `jp conversation use`; `jp conversation ls` lists them.",
  });
}

interface Keyword {
  readonly words: readonly string[];
  /** `history` is that of this terminal, the active one first. */
  find(
    summaries: readonly ConversationSummary[],
    history: readonly ConversationId[],
  ): ConversationSummary | undefined;
  /** What is said if there is none: a keyword is never taken for a part of a title. */
  readonly missing: string;
}

const KEYWORDS: Readonly<
  Record<"active" | "previous" | "recent" | "newest" | "pinned" | "archived", Keyword>
> = {
  active: {
    words: ["active", "."],
    find: (summaries, [id]) => live(summaries).find((summary) => summary.id === id),
    missing: "No conversation is active in this terminal.",
  },
  previous: {
    words: ["previous", "s"],
    find: (summaries, [, id]) => live(summaries).find((summary) => summary.id === id),
    missing: "No other conversation was active in this terminal.",
  },
  recent: {
    words: ["recent", "r"],
    find: (summaries) => latest(live(summaries), lastActivity),
    missing: "There are no conversations here yet.",
  },
  newest: {
    words: ["newest", "n"],
    find: (summaries) => latest(live(summaries), ({ id }) => conversationCreatedAt(id)),
    missing: "There are no conversations here yet.",
  },
  pinned: {
    words: ["pinned", "p"],
    find: (summaries) => latest(live(summaries), ({ metadata }) => metadata?.pinnedAt),
    missing: "No conversation is pinned.",
  },
  archived: {
    words: ["archived", "a"],
    find: (summaries) =>
      latest(
        summaries.filter(({ isArchived }) => isArchived),
        ({ id, metadata }) => metadata?.archivedAt ?? conversationCreatedAt(id),
      ),
    missing: "No conversation is archived.",
  },
};

function live(summaries: readonly ConversationSummary[]): readonly ConversationSummary[] {
  return summaries.filter(({ isArchived }) => !isArchived);
}

function latest(
  summaries: readonly ConversationSummary[],
  timeOf: (summary: ConversationSummary) => Timestamp | undefined,
): ConversationSummary | undefined {
  return summaries
    .flatMap((summary) => {
      const time = timeOf(summary);
      return time === undefined ? [] : [{ summary, time }];
    })
    .toSorted((left, right) => compareTimestamps(right.time, left.time))[0]?.summary;
}

function noSuch(id: ConversationId): CodedError {
  return new CodedError("conversation_not_found", `There is no conversation ${id}.`, {
    hint: "`jp conversation ls` lists them; `jp conversation ls --archived` those put away.",
  });
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

/** The time of its last element or of its last use, whichever is later; else its beginning. */
export function lastActivity({ id, lastEventAt, metadata }: ConversationSummary): Timestamp {
  const used = metadata?.lastActivatedAt;
  if (lastEventAt === undefined) return used ?? conversationCreatedAt(id);
  return used !== undefined && compareTimestamps(used, lastEventAt) > 0 ? used : lastEventAt;
}

/** Piece by piece. A record that cannot be read at all is an error, or only told. */
export async function* readPieces(
  id: ConversationId,
  { workspace, output }: Pick<CommandContext, "workspace" | "output">,
  unreadable: "throw" | "warn" = "warn",
): AsyncGenerator<readonly StreamEntry[]> {
  try {
    for await (const { entries, problems } of workspace.conversations.scan(id)) {
      warnOf(problems, output);
      yield entries;
    }
  } catch (error) {
    const isUnreadable = isCodedError(error) && error.code === "read_failed";
    if (!isUnreadable || unreadable === "throw") throw error;
    warn(error.message, output);
  }
}

export interface TurnFlags {
  readonly first?: number;
  readonly last?: number;
  readonly turn?: string;
}

/** Positions from 0, both included; `to < from` means none. */
export interface TurnRange {
  readonly from: number;
  readonly to: number;
}

/** Throws `usage`. */
export function turnRange({ first, last, turn }: TurnFlags, count: number): TurnRange {
  if ([first, last, turn].filter((flag) => flag !== undefined).length > 1) {
    throw usageError("Use only one of --first, --last and --turn.");
  }
  if (first !== undefined) return { from: 0, to: Math.min(first, count) - 1 };
  if (last !== undefined) return { from: Math.max(0, count - last), to: count - 1 };
  return turn === undefined ? { from: 0, to: count - 1 } : parseRange(turn, count);
}

function parseRange(text: string, count: number): TurnRange {
  const [, start, dots, end] = /^(\d*)(\.\.)?(\d*)$/.exec(text) ?? [];
  if (start === undefined || text === "" || (dots === undefined && end !== "")) {
    throw usageError(`Not a range of turns: ${text}`, "Write 3, 2..5, 4.. or ..2.");
  }
  const from = start === "" ? 1 : Number(start);
  const to = dots === undefined ? from : end ? Number(end) : count;
  if (from < 1 || to > count || from > count || to < from) {
    throw usageError(`There is no turn ${text}: the conversation has ${count}.`);
  }
  return { from: from - 1, to: to - 1 };
}
