/** The conversation picker of `jp resume` and `/resume`: title, age, state, and the last message. */
import {
  compareTimestamps,
  type ConversationEvent,
  type ConversationId,
  eventsOf,
  timestampToMilliseconds,
} from "../../../record/conversation/index.ts";
import { describeState, relativeTime, truncate } from "../../../surfaces/render/index.ts";
import type { WorkspaceSummary } from "../../../stores/index.ts";
import type { TerminalPrompter } from "../../../surfaces/terminal/index.ts";
import { isJpError, oneLine } from "../../../util/index.ts";
import type { CommandContext } from "../../context.ts";
import { lastActivity } from "../../conversations.ts";
import type { FoundConversation, WordHit } from "../conversation/grep.ts";
import { activate, findConversation } from "../query/conversation.ts";

/** Conversations further down are found by title only. */
const MAX_PREVIEWS = 50;
/** A few rows on a narrow screen. */
const LAST_LENGTH = 140;
/** Fits below the list. */
const MORE_LENGTH = 600;
const SEARCHED_LENGTH = 10_000;
const MIN_TITLE_WIDTH = 20;
const MAX_TITLE_LENGTH = 200;

export interface Picking {
  readonly context: CommandContext;
  readonly prompter: TerminalPrompter;
  readonly signal: AbortSignal;
  /** The conversations to choose from, in this order. Defaults to all that are not archived, most recent first. */
  readonly found?: readonly FoundConversation[] | undefined;
}

/** Undefined if there are none, or if the user chooses none, which is reported. */
export async function pickConversation(picking: Picking): Promise<WorkspaceSummary | undefined> {
  const { context, prompter, signal, found = await listRecent(context) } = picking;
  const listed = found.map(({ summary, hit }) => ({
    summary,
    hit,
    at: timestampToMilliseconds(lastActivity(summary)),
  }));
  if (listed.length === 0) {
    context.output.notice("No conversations yet.");
    return undefined;
  }
  const previews = await Promise.all(
    listed
      .slice(0, MAX_PREVIEWS)
      .map(async ({ summary, hit }) =>
        hit === undefined ? findPreview(summary.id, context) : previewOf([sayingIn(hit)]),
      ),
  );
  const options = listed.map(({ summary, at }, index) => {
    const { last = summary.id, more, text = "" } = previews[index] ?? {};
    return {
      label: labelOf(summary, at, context),
      description: last,
      ...(more !== undefined && { preview: more }),
      searched: [summary.metadata?.title ?? "", summary.id, text].join("\n"),
    };
  });
  const list = { message: "Which conversation?", options, escape: "go back", isSkimmed: true };
  const index = await prompter.select({ ...list, signal });
  if (index === undefined && !signal.aborted) context.output.notice("No conversation selected.");
  return index === undefined ? undefined : listed[index]?.summary;
}

async function listRecent({ workspace }: CommandContext): Promise<readonly FoundConversation[]> {
  const summaries = await workspace.conversations.list();
  return summaries
    .toSorted((one, other) => compareTimestamps(lastActivity(other), lastActivity(one)))
    .map((summary) => ({ summary }));
}

/** Makes it this terminal's active conversation, unarchiving it if needed. */
export async function restore(
  { id, isArchived }: WorkspaceSummary,
  context: CommandContext,
): Promise<void> {
  if (isArchived) await context.workspace.conversations.unarchive(id);
  await activate(context, id);
}

/** The age and the state stay visible on a narrow screen. */
function labelOf(summary: WorkspaceSummary, at: number, { clock, output }: CommandContext): string {
  const { openTurn, problem, isArchived } = summary;
  const age = relativeTime(at, clock.now().getTime());
  const state = [
    ...(isArchived ? ["archived"] : []),
    ...(openTurn === undefined ? [] : [describeState(openTurn)]),
  ];
  const details = oneLine([age, ...state, ...(problem === undefined ? [] : [problem])].join(", "));
  const room = Math.max(MIN_TITLE_WIDTH, output.noticeWidth - details.length - 6);
  return `${truncate(titleOf(summary), room)} (${details})`;
}

/**
 * The conversation a session opens with. Undefined for a new one, and if the config says to ask, which /resume does.
 */
export async function findCurrent(context: CommandContext): Promise<ConversationId | undefined> {
  try {
    return await findConversation(context);
  } catch (error) {
    if (isJpError(error) && error.code === "usage") return undefined;
    throw error;
  }
}

/** Describes the conversation that a session continues. */
export function describeCurrent(summary: WorkspaceSummary, { clock }: CommandContext): string {
  const at = timestampToMilliseconds(lastActivity(summary));
  const age = relativeTime(at, clock.now().getTime());
  return `Conversation: ${titleOf(summary)} (${summary.id}, ${age}). /new starts another.`;
}

/** One line, at most a few rows long. */
export function titleOf({ metadata }: WorkspaceSummary): string {
  return truncate(oneLine(metadata?.title ?? "(no title)"), MAX_TITLE_LENGTH);
}

/** The end of a conversation, to recognize it by. */
interface Preview {
  /** The last message, on one line. */
  readonly last?: string;
  /** The user message before it, and all of a long reply. */
  readonly more?: string;
  /** The searchable text of the last turn. */
  readonly text: string;
}

/** Empty if the record cannot be read quickly. */
async function findPreview(id: ConversationId, { workspace }: CommandContext): Promise<Preview> {
  // Unreadable conversations are still listed.
  const turn = await workspace.conversations.findLastTurns(id, 1).catch(() => undefined);
  return previewOf([...eventsOf(turn?.entries ?? [])].flatMap(sayingOf));
}

function previewOf(said: readonly Saying[]): Preview {
  const last = said.at(-1);
  const asked = last?.by === "You" ? undefined : said.findLast(({ by }) => by === "You");
  const more = [
    ...(asked === undefined ? [] : [truncate(oneLine(`You: ${asked.text}`), LAST_LENGTH)]),
    ...(last !== undefined && last.text.length > LAST_LENGTH
      ? [truncate(`${last.by}: ${last.text}`, MORE_LENGTH)]
      : []),
  ];
  return {
    ...(last && { last: truncate(oneLine(`${last.by}: ${last.text}`), LAST_LENGTH) }),
    ...(more.length > 0 && { more: more.join("\n\n") }),
    text: said
      .map(({ text }) => text)
      .join("\n")
      .slice(-SEARCHED_LENGTH),
  };
}

interface Saying {
  readonly by: "You" | "Assistant";
  readonly text: string;
}

function sayingIn({ scope, line }: WordHit): Saying {
  return { by: scope === "user" ? "You" : "Assistant", text: line.trim() };
}

function sayingOf(event: ConversationEvent): readonly Saying[] {
  if (event.type === "chat_request") return [{ by: "You", text: event.content.trim() }];
  if (event.type !== "chat_response" || event.content.type === "reasoning") return [];
  const { content } = event;
  const text = content.type === "message" ? content.text.trim() : JSON.stringify(content.data);
  return text === "" ? [] : [{ by: "Assistant", text }];
}
