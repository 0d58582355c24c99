/** The conversation that a query goes to, and what it remembers of the config. */
import type { PartialConfig } from "../../../config/index.ts";
import type { ConversationId } from "../../../conversation/index.ts";
import { firstLine, truncate } from "../../../render/index.ts";
import {
  type ConversationWriter,
  type CreateOptions,
  MemoryConversationStore,
} from "../../../storage/index.ts";
import { isCodedError } from "../../../util/index.ts";
import { type CommandContext, warnAboutProblems } from "../../context.ts";
import { resolveTarget } from "../../conversations.ts";
import { usageError } from "../../exit-status.ts";
import { configChanges, configForNewConversation } from "../../remembered-config.ts";

export interface ConversationFlags {
  readonly new?: boolean;
  readonly id?: string;
  readonly title?: string;
  readonly local?: boolean;
  readonly persist?: boolean;
}

const LONGEST_TITLE = 60;
const POLL_MS = 200;

/** Which one is meant; undefined for a new one. Throws what `resolveTarget` throws, and `usage`. */
export async function findConversation(
  context: CommandContext,
  flags: ConversationFlags,
): Promise<ConversationId | undefined> {
  if (flags.new === true && flags.id !== undefined) {
    throw usageError("A new conversation has no id yet: give -n or --id, not both.");
  }
  if (flags.new === true) return undefined;
  if (flags.id !== undefined) return (await resolveTarget(context, flags.id)).id;
  const [active] = await context.workspace.session.history();
  if (active === undefined) return undefined;
  // It may have been removed or put away since.
  const summary = await context.workspace.conversations.find(active);
  return summary === undefined || summary.isArchived ? undefined : active;
}

export interface OpenedConversation {
  readonly config: PartialConfig;
  readonly message: string;
  readonly flags: ConversationFlags;
}

/** Locked for us, with the config on record. Throws what the store throws. */
export async function openConversation(
  context: CommandContext,
  id: ConversationId | undefined,
  opened: OpenedConversation,
): Promise<ConversationWriter> {
  if (opened.flags.persist === false) return openCopy(context, id, opened);
  const { conversations, session } = context.workspace;
  const conversation =
    id === undefined
      ? await conversations.create(createOptions(opened, context))
      : await waitFor(() => conversations.open(id), context, opened.config);
  warnAboutProblems(conversation.problems, context.output);
  if (id !== undefined) await recordChange(conversation, opened.config, context);
  await session.activate(conversation.id).catch(ignoreNoSession);
  return conversation;
}

/** One that nobody will read: it is gone with this command. */
async function openCopy(
  context: CommandContext,
  id: ConversationId | undefined,
  opened: OpenedConversation,
): Promise<ConversationWriter> {
  const options = createOptions(opened, context);
  const copy = await new MemoryConversationStore(context.clock).create(options);
  if (id !== undefined) {
    const { stream } = await context.workspace.conversations.load(id);
    await copy.appendEntries(stream.entries);
  }
  return copy;
}

function createOptions(
  { config, message, flags }: OpenedConversation,
  { clock }: CommandContext,
): CreateOptions {
  return {
    ...configForNewConversation(config, clock),
    title: flags.title ?? truncate(firstLine(message), LONGEST_TITLE),
    isLocal: flags.local ?? config.conversation?.start_local ?? false,
  };
}

/** What is said now holds for the turns that follow, too. */
async function recordChange(
  conversation: ConversationWriter,
  config: PartialConfig,
  { clock }: CommandContext,
): Promise<void> {
  const entries = configChanges(conversation.stream, config, clock);
  if (entries.length > 0) await conversation.appendEntries(entries);
}

/** Somebody else may be about to finish. */
async function waitFor(
  open: () => Promise<ConversationWriter>,
  { clock, output }: CommandContext,
  config: PartialConfig,
): Promise<ConversationWriter> {
  const patience = (config.style?.lock_wait?.timeout_secs ?? 0) * 1000;
  const start = clock.now().getTime();
  for (let isTold = false; ; isTold = true) {
    try {
      return await open();
    } catch (error) {
      const isLocked = isCodedError(error) && error.code === "conversation_locked";
      if (!isLocked || clock.now().getTime() - start >= patience) throw error;
      if (!isTold) output.notice(`${error.message} Waiting for it…`);
      await clock.sleep(POLL_MS, new AbortController().signal);
    }
  }
}

/** Where terminals cannot be told apart, none has a conversation of its own. */
function ignoreNoSession(error: unknown): void {
  if (!isCodedError(error) || error.code !== "no_session") throw error;
}
