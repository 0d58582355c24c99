/** Finds or creates the conversation of a query, and records the config it runs with. */
import { isDeepStrictEqual } from "node:util";
import {
  foldLayers,
  loadLayers,
  mergeConfig,
  type PartialConfig,
  resolveModelId,
} from "../../../settings/config/index.ts";
import {
  type ConversationId,
  endOf,
  isReplaced,
  lastTurnOf,
  turnsOf,
} from "../../../record/conversation/index.ts";
import { ProviderError } from "../../../reach/provider/index.ts";
import { wrapProse } from "../../../surfaces/render/index.ts";
import {
  type Conversation,
  type ConversationWriter,
  findFileId,
  type LoadOptions,
  MemoryConversationStore,
  type WorkspaceCreateOptions,
} from "../../../stores/index.ts";
import { resolveTrustedConfig, type TrustedConfig } from "../../../settings/trust/index.ts";
import { adviceOf, isJpError, oneLine } from "../../../util/index.ts";
import { type CommandContext, warnAboutProblems, warnOnce } from "../../context.ts";
import { keepTurns, resolveTarget } from "../../conversations.ts";
import { usageError } from "../../exit-status.ts";
import { type Label, withLabels } from "../../labels.ts";
import { configPlaces } from "../../load-config.ts";
import { workspaceTrust } from "../../trust.ts";
import { configChanges, configForNewConversation } from "../../remembered-config.ts";
import { isIncomplete } from "./start.ts";

/** Which conversation a turn belongs to, and how it is stored. */
export interface ConversationFlags {
  readonly new?: boolean | undefined;
  readonly id?: string | undefined;
  /** Ask in a copy of this many last turns, or of all. */
  readonly fork?: number | true | undefined;
  readonly label?: readonly Label[] | undefined;
  readonly title?: string | undefined;
  readonly local?: boolean | undefined;
  readonly persist?: boolean | undefined;
}

const POLL_MS = 200;

/** Undefined for a new one. Throws what `findConversation` and the store throw. */
export async function loadConversation(
  context: CommandContext,
  { new: isNew = false, id: target, fork: isForked }: ConversationFlags,
  options?: LoadOptions,
): Promise<Conversation | undefined> {
  const id = isNew ? undefined : await findConversation(context, target);
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

export interface OpenOptions {
  readonly config: PartialConfig;
  readonly flags: ConversationFlags;
  /** The title of a new conversation that was given none. */
  readonly title?: string | undefined;
  /** The conversation, if the command already has it open. */
  readonly opened?: ConversationWriter | undefined;
}

/** Locks it and records the config. Throws what the store throws. */
export async function openConversation(
  context: CommandContext,
  found: Conversation | undefined,
  options: OpenOptions,
): Promise<ConversationWriter> {
  const { config, flags } = options;
  if (flags.persist === false) return openCopy(context, found, options);
  const { conversations } = context.workspace;
  const open = async (id: ConversationId, loaded?: Conversation) =>
    openWhenUnlocked(() => conversations.open(id, loaded), context, config);
  const conversation =
    options.opened ??
    (found === undefined
      ? await conversations.create(createOptions(options, context))
      : flags.fork === undefined
        ? await open(found.id, found)
        : await open(await fork(context, found, flags)));
  warnAboutProblems(conversation.problems ?? [], context.output);
  if (found !== undefined) await recordChange(conversation, config, context);
  const { label = [] } = flags;
  if (label.length > 0) await conversation.updateMetadata((before) => withLabels(before, label));
  return conversation;
}

/** Copies only complete turns: an incomplete one continues in the original. */
async function fork(
  { workspace, output }: CommandContext,
  found: Conversation,
  { fork: last, title }: ConversationFlags,
): Promise<ConversationId> {
  const id = await workspace.conversations.fork(found.id, {
    ...(title !== undefined && { title }),
    keep: keepForked(found, last),
  });
  output.notice(`Forked ${found.id} to ${id}.`);
  if (isIncomplete(found.stream)) output.notice("The incomplete turn was not copied.");
  return id;
}

/** Replaced turns are copied with their replacement and do not count. */
function keepForked({ stream }: Conversation, last: number | true | undefined) {
  const turns = turnsOf(stream.entries);
  const to = turns.length - (isIncomplete(stream) ? 2 : 1);
  if (last === 0) return keepTurns({ from: 0, to: -1 });
  const counted = turns.slice(0, to + 1).filter(({ index }) => !isReplaced(turns, index));
  const from = typeof last === "number" ? (counted.at(-last)?.index ?? 0) : 0;
  return from === 0 && to === turns.length - 1 ? () => true : keepTurns({ from, to });
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

/** `--no-persist`: works on a copy in memory. */
async function openCopy(
  context: CommandContext,
  found: Conversation | undefined,
  opened: OpenOptions,
): Promise<ConversationWriter> {
  const options = createOptions(opened, context);
  const keep =
    found === undefined || opened.flags.fork === undefined
      ? () => true
      : keepForked(found, opened.flags.fork);
  const entries = [...(options.entries ?? []), ...(found?.stream.entries ?? []).filter(keep)];
  return new MemoryConversationStore(context.clock).create({ ...options, entries });
}

function createOptions(
  { config, title = "", flags }: OpenOptions,
  { clock }: CommandContext,
): WorkspaceCreateOptions {
  return {
    ...configForNewConversation(config, clock),
    title: flags.title ?? title,
    isLocal: flags.local ?? config.conversation?.start_local ?? false,
  };
}

/** Command-line settings also apply to later turns. */
export async function recordChange(
  conversation: ConversationWriter,
  config: PartialConfig,
  { clock }: CommandContext,
): Promise<void> {
  const entries = await configChanges(conversation.stream, config, clock);
  if (entries.length > 0) await conversation.appendEntries(entries);
}

/**
 * Restores the model from before this command, so that a nonexistent one is not remembered. Returns it, or undefined
 * if this command has not chosen the model.
 */
async function restoreModel(
  conversation: ConversationWriter,
  { layers, config }: Pick<TrustedConfig, "layers" | "config">,
  context: CommandContext,
): Promise<string | undefined> {
  const lasting = foldLayers(layers.filter(({ isTemporary }) => isTemporary !== true));
  const before = lasting.assistant?.model?.id;
  const aliases = config.providers?.llm?.aliases ?? {};
  if (before === undefined || config.assistant?.model?.id === undefined) return undefined;
  const [old, wrong] = [before, config.assistant.model.id].map((id) => resolveModelId(id, aliases));
  if (isDeepStrictEqual(old, wrong)) return undefined;
  await recordChange(
    conversation,
    mergeConfig(config, { assistant: { model: { id: before } } }),
    context,
  );
  return old && `${old.provider}/${old.name}`;
}

interface EndedTurn {
  readonly trusted: Pick<TrustedConfig, "layers" | "config">;
  readonly conversation: ConversationWriter;
  /** The server could not say whether it has the model. */
  readonly isNameInDoubt: boolean;
}

/** Keeps a mistyped model out of the conversation. A model whose name is in doubt stays once it has replied. */
export async function forgetWrongModel(
  context: CommandContext,
  { trusted, conversation, isNameInDoubt }: EndedTurn,
  error?: unknown,
): Promise<void> {
  const isUnknown = error instanceof ProviderError && error.kind === "unknown_model";
  if (!isUnknown && (!isNameInDoubt || hasReply(conversation))) return;
  const restored = await restoreModel(conversation, trusted, context);
  if (restored !== undefined)
    context.output.notice(`This conversation keeps using ${oneLine(restored)}.`);
}

function hasReply({ stream }: ConversationWriter): boolean {
  const replies = new Set(["chat_response", "tool_call_request"]);
  return lastTurnOf(endOf(stream)).some(({ type }) => replies.has(type));
}

/** Retries, because another process may be about to release the lock. Ctrl-C ends the wait. */
async function openWhenUnlocked(
  open: () => Promise<ConversationWriter>,
  context: CommandContext,
  config: PartialConfig,
): Promise<ConversationWriter> {
  const { clock, output } = context;
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
        const text = `${error.message} Waiting for it to be released…`;
        for (const row of wrapProse(text, output.noticeWidth)) output.notice(row);
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
