/** Resolves the conversations and turns named on the command line, and reads them. */
import { findSeconds } from "../settings/config/index.ts";
import {
  compareTimestamps,
  type ConversationId,
  type StreamEntry,
  type Timestamp,
  timestampToMilliseconds,
} from "../record/conversation/index.ts";
import {
  conversationNotFoundError,
  fileIdCreatedAt,
  findFileId,
  type WorkspaceSummary,
  type Workspace,
} from "../stores/index.ts";
import { isJpError, JpError, oneLine } from "../util/index.ts";
import { type CommandContext, warn, warnAboutProblems } from "./context.ts";
import { TARGET_KEYWORDS, type TargetKeyword } from "./define.ts";
import { usageError } from "./exit-status.ts";
import { hasLabels } from "./labels.ts";
import type { SELECTION } from "./command/conversation/options.ts";
import type { FlagsOf, TURN_OPTIONS } from "./options.ts";

/** Throws `no_active_conversation`, `conversation_not_found`, `ambiguous_target`. */
export async function resolveTarget(
  context: CommandContext,
  word = "active",
): Promise<WorkspaceSummary> {
  const named = await findNamed(context, word);
  return named ?? findByTitle(await context.workspace.conversations.list({ which: "all" }), word);
}

/** By its ID or a keyword. Undefined if the word is neither. Throws `no_active_conversation`, `conversation_not_found`. */
export async function findNamed(
  context: CommandContext,
  word: string,
): Promise<WorkspaceSummary | undefined> {
  const id = findFileId(word);
  const named = id && (await context.workspace.conversations.find(id));
  if (named !== undefined) return named;
  // Digits alone may also be part of a title.
  if (id !== undefined && word.startsWith("jp-c")) throw conversationNotFoundError(id);
  const keyword = findKeyword(word);
  if (keyword === undefined) return undefined;
  const { find, missing } = KEYWORDS[keyword];
  const found = await find(context.workspace);
  if (found !== undefined) return found;
  const code = keyword === "active" ? "no_active_conversation" : "conversation_not_found";
  throw new JpError(code, missing, {
    hint: "Name one, or make one active with `jp conversation use`; `jp conversation ls` lists them.",
  });
}

/** The targets without duplicates; defaults to the active conversation. */
export async function resolveTargets(
  context: CommandContext,
  args: readonly string[],
): Promise<readonly WorkspaceSummary[]> {
  if (args.length === 0) return [await resolveTarget(context)];
  const targets = await Promise.all(args.map((word) => resolveTarget(context, word)));
  return targets.filter(
    (target, index) => targets.findIndex(({ id }) => id === target.id) === index,
  );
}

/** For commands that only read: defaults to the active conversation, or else the last used one, with a notice. */
export async function resolveTargetForReading(
  context: CommandContext,
  word: string | undefined,
): Promise<WorkspaceSummary> {
  if (word !== undefined) return resolveTarget(context, word);
  try {
    return await resolveTarget(context);
  } catch (error) {
    if (!isJpError(error) || error.code !== "no_active_conversation") throw error;
    const recent = await KEYWORDS.recent.find(context.workspace);
    if (recent === undefined) throw error;
    context.output.notice(
      `(No conversation is active in this terminal; using the most recent, ${recent.id}.)`,
    );
    return recent;
  }
}

interface Keyword {
  readonly find: (workspace: Workspace) => Promise<WorkspaceSummary | undefined>;
  /** The error message if none is found: a keyword is never tried as part of a title. */
  readonly missing: string;
}

const KEYWORDS: Readonly<Record<TargetKeyword, Keyword>> = {
  active: {
    find: (workspace) => fromHistory(workspace, 0),
    missing: "No conversation is active in this terminal.",
  },
  previous: {
    find: (workspace) => fromHistory(workspace, 1),
    missing: "No other conversation was active in this terminal.",
  },
  recent: {
    find: ({ conversations }) => latest(conversations.list(), lastActivity),
    missing: "No conversations yet.",
  },
  newest: {
    find: ({ conversations }) => latest(conversations.list(), ({ createdAt }) => createdAt),
    missing: "No conversations yet.",
  },
  pinned: {
    find: ({ conversations }) => latest(conversations.list(), ({ metadata }) => metadata?.pinnedAt),
    missing: "No conversation is pinned.",
  },
  archived: {
    find: ({ conversations }) =>
      latest(
        conversations.list({ which: "archived" }),
        ({ createdAt, metadata }) => metadata?.archivedAt ?? createdAt,
      ),
    missing: "No conversation is archived.",
  },
};

/** The history has this terminal's conversations, the active one first. */
async function fromHistory(
  { conversations, session }: Workspace,
  position: number,
): Promise<WorkspaceSummary | undefined> {
  const id = (await session.history())[position];
  const summary = id && (await conversations.find(id));
  // It may have been archived since.
  return summary?.isArchived === true ? undefined : summary;
}

function findKeyword(word: string): TargetKeyword | undefined {
  const names = Object.keys(TARGET_KEYWORDS) as TargetKeyword[]; // Its own keys.
  return names.find((name) => word === name || word === TARGET_KEYWORDS[name].short);
}

async function latest(
  summaries: Promise<readonly WorkspaceSummary[]>,
  timeOf: (summary: WorkspaceSummary) => Timestamp | undefined,
): Promise<WorkspaceSummary | undefined> {
  return (await summaries)
    .flatMap((summary) => {
      const time = timeOf(summary);
      return time === undefined ? [] : [{ summary, time }];
    })
    .toSorted((left, right) => compareTimestamps(right.time, left.time))[0]?.summary;
}

function findByTitle(summaries: readonly WorkspaceSummary[], word: string): WorkspaceSummary {
  const wanted = word.toLowerCase();
  const found = summaries.filter(({ metadata }) => metadata?.title?.toLowerCase().includes(wanted));
  const [first, second] = found;
  if (first !== undefined && second === undefined) return first;
  if (first === undefined) {
    const message = `No conversation has "${oneLine(word)}" in its title.`;
    throw new JpError("conversation_not_found", message, {
      hint: "`jp conversation ls` lists them; add --archived for archived ones.",
    });
  }
  const rows = found
    .slice(0, 5)
    .map(({ id, metadata }) => `  ${id}  ${oneLine(metadata?.title ?? "")}`);
  throw new JpError(
    "ambiguous_target",
    `"${oneLine(word)}" matches ${found.length} conversations.`,
    { hint: ["Use the ID of one:", ...rows].join("\n") },
  );
}

/** The last event or the last use, whichever is later; for an empty conversation, its start. */
export function lastActivity({ createdAt, lastEventAt, metadata }: WorkspaceSummary): Timestamp {
  const used = metadata?.lastActivatedAt;
  if (lastEventAt === undefined) return used ?? createdAt;
  return used !== undefined && compareTimestamps(used, lastEventAt) > 0 ? used : lastEventAt;
}

/**
 * A record's entries, in batches. Warns about damaged parts. An unreadable record is an error or, for commands that
 * read many, a warning.
 */
export async function* readEntries(
  id: ConversationId,
  { workspace, output }: Pick<CommandContext, "workspace" | "output">,
  unreadable: "throw" | "warn" = "warn",
): AsyncGenerator<readonly StreamEntry[]> {
  try {
    for await (const { entries, problems = [] } of workspace.conversations.scan(id)) {
      warnAboutProblems(problems, output);
      yield entries;
    }
  } catch (error) {
    const isUnreadable = isJpError(error) && error.code === "read_failed";
    if (!isUnreadable || unreadable === "throw") throw error;
    warn(error.message, output);
  }
}

/** Indexes from 0, both inclusive; empty if `to < from`. */
export interface TurnRange {
  readonly from: number;
  readonly to: number;
}

/** Throws `usage`. */
export function turnRange(
  { first, last, turn }: FlagsOf<typeof TURN_OPTIONS>,
  count: number,
): TurnRange {
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
    const turns = count === 1 ? "1 turn" : `${count} turns`;
    throw usageError(`Turn ${text} is out of range: the conversation has ${turns}.`);
  }
  return { from: from - 1, to: to - 1 };
}

/** Throws `usage`. */
export function selectionOf(
  { label = [], from, until }: FlagsOf<typeof SELECTION>,
  { clock }: Pick<CommandContext, "clock">,
): (summary: WorkspaceSummary) => boolean {
  const now = clock.now();
  const start = from === undefined ? Number.NEGATIVE_INFINITY : parseTime(from, now).getTime();
  const end = until === undefined ? Number.POSITIVE_INFINITY : parseTime(until, now).getTime();
  const isAnyTime = from === undefined && until === undefined;
  return ({ createdAt, metadata }) => {
    const time = isAnyTime ? 0 : timestampToMilliseconds(createdAt);
    return start <= time && time < end && hasLabels(metadata, label);
  };
}

/** A date, optionally with a time, in the local time zone unless it names another. */
const DATE = /^(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[Zz]|[+-]\d\d:\d\d)?))?$/;

/** `today`, an age, a date, or a conversation ID. Throws `usage`. */
export function parseTime(text: string, now: Date): Date {
  if (text === "today") return new Date(now.getFullYear(), now.getMonth(), now.getDate());
  const seconds = findSeconds(text);
  if (seconds !== undefined) return new Date(now.getTime() - seconds * 1000);
  const date = findDate(text);
  if (date !== undefined) return date;
  const id = text.startsWith("jp-c") ? findFileId(text) : undefined;
  if (id !== undefined) return new Date(timestampToMilliseconds(fileIdCreatedAt(id)));
  throw usageError(
    `Not a time: ${oneLine(text)}`,
    "Write today, how long ago (2h, 3d, 1w), a date (2026-01-31, 2026-01-31T09:00) or a conversation's ID.",
  );
}

/** A date, optionally with hours and minutes, in local time. */
export function findDate(text: string): Date | undefined {
  const [, day = "", time = "00:00"] = DATE.exec(text) ?? [];
  const date = new Date(`${day}T${time}`);
  return Number.isNaN(date.getTime()) ? undefined : date;
}
