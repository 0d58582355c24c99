/** The picker of conversations, for `jp resume` and `/resume`: title, age, state, and what was said last. */
import {
  type ConversationEvent,
  type ConversationId,
  eventsOf,
  timestampToMilliseconds,
} from "../../../conversation/index.ts";
import { describeState, oneLine, relativeTime, truncate } from "../../../render/index.ts";
import type { WorkspaceSummary } from "../../../storage/index.ts";
import type { TerminalPrompter } from "../../../terminal/index.ts";
import { isJpError } from "../../../util/index.ts";
import type { CommandContext } from "../../context.ts";
import { lastActivity } from "../../conversations.ts";
import { activate, findConversation } from "../query/conversation.ts";

/** Those further down are found by their titles. */
const MAX_PREVIEWS = 50;
/** A few rows on a narrow screen. */
const PREVIEW_LENGTH = 140;
const MIN_TITLE_WIDTH = 20;
const MAX_TITLE_LENGTH = 200;

export interface Picking {
  readonly context: CommandContext;
  readonly prompter: TerminalPrompter;
  readonly signal: AbortSignal;
}

/** Undefined if there are none or the user chooses none, which is reported. */
export async function pickConversation(picking: Picking): Promise<WorkspaceSummary | undefined> {
  const { context, prompter, signal } = picking;
  const listed = (await context.workspace.conversations.list())
    .map((summary) => ({ summary, at: timestampToMilliseconds(lastActivity(summary)) }))
    .toSorted((one, other) => other.at - one.at);
  if (listed.length === 0) {
    context.output.notice("No conversations yet.");
    return undefined;
  }
  const previews = await Promise.all(
    listed.slice(0, MAX_PREVIEWS).map(({ summary }) => findPreview(summary.id, context)),
  );
  const options = listed.map(({ summary, at }, index) => ({
    label: labelOf(summary, at, context),
    description: previews[index] ?? summary.id,
  }));
  const message = "Which conversation?";
  const index = await prompter.select({ message, options, escape: "go back", signal });
  if (index === undefined && !signal.aborted) context.output.notice("No conversation selected.");
  return index === undefined ? undefined : listed[index]?.summary;
}

/** Makes it the active one of this terminal, from the archive too. */
export async function restore(
  { id, isArchived }: WorkspaceSummary,
  context: CommandContext,
): Promise<void> {
  if (isArchived) await context.workspace.conversations.unarchive(id);
  await activate(context, id);
}

/** The age and the state stay visible on a narrow screen. */
function labelOf(summary: WorkspaceSummary, at: number, { clock, output }: CommandContext): string {
  const { openTurn, problem } = summary;
  const age = relativeTime(at, clock.now().getTime());
  const state = openTurn === undefined ? [] : [describeState(openTurn)];
  const details = oneLine([age, ...state, ...(problem === undefined ? [] : [problem])].join(", "));
  const room = Math.max(MIN_TITLE_WIDTH, output.noticeWidth - details.length - 6);
  return `${truncate(titleOf(summary), room)} (${details})`;
}

/** The conversation that a session opens with. Undefined for a new one, also where the config says to ask: /resume does. */
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

/** On one line, and not longer than a few rows. */
export function titleOf({ metadata }: WorkspaceSummary): string {
  return truncate(oneLine(metadata?.title ?? "(no title)"), MAX_TITLE_LENGTH);
}

/** The last message. Undefined if there is none, or the record cannot be read quickly. */
async function findPreview(
  id: ConversationId,
  { workspace }: CommandContext,
): Promise<string | undefined> {
  // A record that cannot be read is listed all the same.
  const last = await workspace.conversations.findLastTurns(id, 1).catch(() => undefined);
  const said = [...eventsOf(last?.entries ?? [])].flatMap(sayingOf).at(-1);
  return said && truncate(oneLine(said), PREVIEW_LENGTH);
}

function sayingOf(event: ConversationEvent): readonly string[] {
  if (event.type === "chat_request") return [`You: ${event.content.trim()}`];
  if (event.type !== "chat_response" || event.content.type === "reasoning") return [];
  const { content } = event;
  const text = content.type === "message" ? content.text.trim() : JSON.stringify(content.data);
  return text === "" ? [] : [`Assistant: ${text}`];
}
