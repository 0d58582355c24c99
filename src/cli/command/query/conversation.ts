/** Finds the conversation of a query, waits for its lock, and makes it the active one. */
import {
  type ConversationStorage,
  configPlaces,
  warnOnce,
  workspaceTrust,
} from "../../../assemble/index.ts";
import { loadLayers, type PartialConfig } from "../../../settings/config/index.ts";
import type { ConversationId } from "../../../record/conversation/index.ts";
import {
  type Conversation,
  type ConversationWriter,
  findFileId,
  type LoadOptions,
} from "../../../stores/index.ts";
import { resolveTrustedConfig } from "../../../settings/trust/index.ts";
import { adviceOf, isJpError, JpError } from "../../../util/index.ts";
import type { CommandContext } from "../../context.ts";
import { resolveTarget } from "../../conversations.ts";
import { usageError } from "../../exit-status.ts";

/** Which conversation a turn belongs to. */
export interface ConversationFlags extends Pick<ConversationStorage, "fork"> {
  readonly new?: boolean | undefined;
  readonly id?: string | undefined;
  readonly continueTurn?: boolean | undefined;
}

const POLL_MS = 200;

/** Undefined for a new one. Throws what `findConversation` and the store throw. */
export async function loadConversation(
  context: CommandContext,
  { new: isNew = false, id: target, fork: isForked, continueTurn = false }: ConversationFlags,
  options?: LoadOptions,
): Promise<Conversation | undefined> {
  const active = isNew ? undefined : await findConversation(context, target);
  const id = active ?? (continueTurn ? await findOnlyIncomplete(context) : undefined);
  if (id === undefined && isForked !== undefined) {
    throw usageError("There is no conversation to fork.", "Name one with --id.");
  }
  return id && context.workspace.conversations.load(id, options);
}

/**
 * The conversation that the words name, or else the active one. Undefined for a new one. Throws what `resolveTarget`
 * throws, and `usage`.
 */
export async function findConversation(
  context: CommandContext,
  target?: string,
): Promise<ConversationId | undefined> {
  if (target !== undefined) {
    const id = isWholeId(target) ? findFileId(target) : undefined;
    return id ?? (await resolveTarget(context, target)).id;
  }
  const [active] = await context.workspace.session.history();
  // It may have been removed or archived since.
  const summary = active && (await context.workspace.conversations.find(active));
  return summary === undefined || summary.isArchived ? findDefault(context) : active;
}

/** Throws `ambiguous_target` if several conversations have an incomplete turn. */
async function findOnlyIncomplete(context: CommandContext): Promise<ConversationId | undefined> {
  const [id, ...others] = await listIncomplete(context);
  if (id === undefined || others.length === 0) return id;
  const message = `No conversation is active in this terminal, and ${others.length + 1} have incomplete turns.`;
  const hint = ["To continue one:", ...continueCommands([id, ...others])].join("\n");
  throw new JpError("ambiguous_target", message, { hint });
}

/** The conversations whose turn no process is running, newest first. */
export async function listIncomplete({
  workspace,
}: Pick<CommandContext, "workspace">): Promise<readonly ConversationId[]> {
  const all = await workspace.conversations.list();
  return all
    .filter(({ openTurn }) => openTurn !== undefined && openTurn.type !== "running")
    .map(({ id }) => id)
    .toSorted()
    .toReversed();
}

const MAX_SUGGESTED = 5;

export function continueCommands(ids: readonly ConversationId[]): readonly string[] {
  return ids.slice(0, MAX_SUGGESTED).map((id) => `  jp query --continue-turn --id ${id}`);
}

/** The keywords of `conversation.default_id`, and their names on the command line. */
const DEFAULT_TARGETS: Readonly<Record<string, string>> = {
  last: "recent",
  last_activated: "recent",
  "last-activated": "recent",
  last_created: "newest",
  "last-created": "newest",
  prev: "previous",
};

/** The conversation that the config names; undefined for a new one. Throws what `resolveTarget` throws for an ID. */
async function findDefault(context: CommandContext): Promise<ConversationId | undefined> {
  const { layers } = await loadLayers({ places: configPlaces(context) });
  const trust = workspaceTrust(context, context.workspace);
  const { config } = await resolveTrustedConfig(trust, { layers });
  const { default_id: word } = config.conversation ?? {};
  if (word === undefined) return undefined;
  if (word === "ask")
    throw usageError(
      'No conversation is active, and conversation.default_id is "ask".',
      "Name one with --id, or start one with -n.",
    );
  try {
    return (await resolveTarget(context, DEFAULT_TARGETS[word] ?? word)).id;
  } catch (error) {
    // None exists yet.
    if (isJpError(error) && error.code === "conversation_not_found" && !isWholeId(word))
      return undefined;
    throw error;
  }
}

/** A full ID cannot be a keyword or a title. Loading shows whether the conversation exists. */
function isWholeId(word: string): boolean {
  return word.startsWith("jp-c");
}

/** Makes it the active conversation of this terminal. */
export async function activate(context: CommandContext, id: ConversationId): Promise<void> {
  try {
    await context.workspace.session.activate(id);
  } catch (error) {
    if (!isJpError(error)) throw error;
    // Without a session id, no terminal has an active conversation.
    if (error.code === "no_session") return;
    if (error.code !== "workspace_moved") throw error;
    // A workspace that may be someone else's copy has none either.
    warnOnce(`${error.message} ${adviceOf(error) ?? ""}`, context);
  }
}

/** Retries, because another process may be about to release the lock. Ctrl-C ends the wait. */
export async function openWhenUnlocked(
  context: CommandContext,
  open: () => Promise<ConversationWriter>,
  config: PartialConfig,
): Promise<ConversationWriter> {
  const { clock } = context;
  const {
    show = true,
    delay_secs: delay = 0,
    timeout_secs: timeout = 0,
  } = config.style?.lock_wait ?? {};
  const maxWaitMs = timeout * 1000;
  const start = clock.now().getTime();
  for (let isAnnounced = !show; ;) {
    try {
      return await open();
    } catch (error) {
      const isLocked = isJpError(error) && error.code === "conversation_locked";
      if (!isLocked || clock.now().getTime() - start >= maxWaitMs) throw error;
      if (!isAnnounced && clock.now().getTime() - start >= delay * 1000) {
        context.notice(`${error.message} Waiting for it to be released…`);
        isAnnounced = true;
      }
      if (await isInterrupted(context)) throw error;
    }
  }
}

/** Waits a moment. True if Ctrl-C was pressed. */
async function isInterrupted({ clock, host }: CommandContext): Promise<boolean> {
  const interrupt = new AbortController();
  using _ = host.onSignal(["SIGINT"], () => interrupt.abort());
  return await clock.sleep(POLL_MS, interrupt.signal).then(
    () => false,
    () => true,
  );
}
