/** Opens or creates the conversation of a turn, and records the config it runs with. */
import type { PartialConfig } from "../settings/config/index.ts";
import {
  type ConversationId,
  isIncomplete,
  isReplaced,
  keepTurns,
  turnsOf,
} from "../record/conversation/index.ts";
import {
  type Conversation,
  type ConversationWriter,
  MemoryConversationStore,
  type OpenOptions,
  type WorkspaceCreateOptions,
} from "../stores/index.ts";
import type { Clock } from "../util/index.ts";
import type { Place } from "./place.ts";
import { configChanges, configForNewConversation } from "./remembered-config.ts";

/** How the conversation of a turn is stored. */
export interface ConversationStorage {
  /** Ask in a copy of this many last turns, or of all. */
  readonly fork?: number | true | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly title?: string | undefined;
  readonly local?: boolean | undefined;
  /** False: only in memory. */
  readonly persist?: boolean | undefined;
}

/** Retries an attempt to open a conversation that another process has locked. */
export type WaitForLock = (
  open: () => Promise<ConversationWriter>,
  config: PartialConfig,
) => Promise<ConversationWriter>;

export interface OpenConversationOptions {
  readonly config: PartialConfig;
  readonly storage: ConversationStorage;
  /** The title of a new conversation that was given none. */
  readonly title?: string | undefined;
  /** The conversation, if the caller already has it open. */
  readonly opened?: ConversationWriter | undefined;
  /** By default, a locked conversation is an error. */
  readonly waitForLock?: WaitForLock | undefined;
}

/** Locks it and records the config. `found` is undefined for a new one. Throws what the store throws. */
export async function openConversation(
  place: Place,
  found: Conversation | undefined,
  options: OpenConversationOptions,
): Promise<ConversationWriter> {
  const { config, storage, waitForLock = (open) => open() } = options;
  if (storage.persist === false) return openCopy(place, found, options);
  const { conversations } = place.workspace;
  const open = async (id: ConversationId, known: Pick<OpenOptions, "loaded"> = {}) =>
    waitForLock(() => conversations.open(id, { only: "end", ...known }), config);
  const conversation =
    options.opened ??
    (found === undefined
      ? await conversations.create(createOptions(options, place))
      : storage.fork === undefined
        ? await open(found.id, { loaded: found })
        : await open(await fork(place, found, storage)));
  for (const { file, message } of conversation.problems ?? []) place.warn(`${file}: ${message}`);
  if (found !== undefined) await recordChange(conversation, config, place);
  const { labels = {} } = storage;
  if (Object.keys(labels).length > 0)
    await conversation.updateMetadata((before) => ({
      ...before,
      labels: { ...before.labels, ...labels },
    }));
  return conversation;
}

/** Copies only complete turns: an incomplete one continues in the original. Throws `read_failed`, `record_damaged`. */
async function fork(
  { workspace, notice }: Place,
  found: Conversation,
  { fork: last, title }: ConversationStorage,
): Promise<ConversationId> {
  const id = await workspace.conversations.fork(found.id, {
    ...(title !== undefined && { title }),
    keep: await keepForked(found, last),
  });
  notice(`Forked ${found.id} to ${id}.`);
  if (isIncomplete(found.stream)) notice("The incomplete turn was not copied.");
  return id;
}

/** Replaced turns are copied with their replacement and do not count. */
async function keepForked({ stream }: Conversation, last: number | true | undefined) {
  await stream.load?.();
  const turns = turnsOf(stream.entries);
  const to = turns.length - (isIncomplete(stream) ? 2 : 1);
  if (last === 0) return keepTurns({ from: 0, to: -1 });
  const counted = turns.slice(0, to + 1).filter(({ index }) => !isReplaced(turns, index));
  const from = typeof last === "number" ? (counted.at(-last)?.index ?? 0) : 0;
  return from === 0 && to === turns.length - 1 ? () => true : keepTurns({ from, to });
}

/** Works on a copy in memory. */
async function openCopy(
  { clock }: Place,
  found: Conversation | undefined,
  opened: OpenConversationOptions,
): Promise<ConversationWriter> {
  const options = createOptions(opened, { clock });
  const { fork: last } = opened.storage;
  const keep =
    found === undefined || last === undefined ? () => true : await keepForked(found, last);
  await found?.stream.load?.();
  const entries = [...(options.entries ?? []), ...(found?.stream.entries ?? []).filter(keep)];
  return new MemoryConversationStore(clock).create({ ...options, entries });
}

function createOptions(
  { config, title = "", storage }: OpenConversationOptions,
  { clock }: Pick<Place, "clock">,
): WorkspaceCreateOptions {
  return {
    ...configForNewConversation(config, clock),
    title: storage.title ?? title,
    isLocal: storage.local ?? config.conversation?.start_local ?? false,
  };
}

/** Command-line settings also apply to later turns. */
export async function recordChange(
  conversation: ConversationWriter,
  config: PartialConfig,
  { clock }: { readonly clock: Clock },
): Promise<void> {
  const entries = await configChanges(conversation.stream, config, clock);
  if (entries.length > 0) await conversation.appendEntries(entries);
}
