/**
 * Announces pending decisions. Questions are collected briefly and announced together; those answered by then are
 * skipped. A failing channel is retried with backoff, and its unsent messages are eventually dropped: the question is
 * still in the inbox.
 */
import type { NotifySettings } from "../../settings/config/index.ts";
import { type Clock, messageOf, oneLine } from "../../util/index.ts";
import { type Channel, type ChannelMachine, openChannels, PermanentError } from "./channels.ts";
import {
  type ChangedKey,
  composeKeyMessage,
  composeMessage,
  composeTestMessage,
  itemKey,
  type Notification,
  type PendingNotice,
} from "./message.ts";

/** Sends notifications through all configured channels. Never answers. */
export interface Notifier {
  /** Announces each pending decision once. Returns at once. */
  notify(items: readonly PendingNotice[]): void;
  /** Announces a change of a person's keys without collecting. Returns at once. */
  announce(change: ChangedKey): void;
  /** Removes an answered or withdrawn decision from the unsent messages. */
  withdraw(item: Pick<PendingNotice, "workspace" | "conversation" | "id">): void;
  /** Stops and drops unsent messages. */
  close(): Promise<void>;
}

/** Options of a notifier. */
export interface NotifierOptions extends ChannelMachine {
  readonly clock: Clock;
  /** The desk's address for links, unless the settings have a `link`. Without a trailing slash. */
  readonly origin?: string;
  /** Called with a sentence when a notification could not be sent. */
  readonly onProblem: (problem: string) => void;
  /** Replaces the configured channels in tests. */
  readonly channels?: readonly Channel[];
}

/** Delays between attempts: five in about ten minutes. */
const BACKOFF_MS = [15_000, 60_000, 180_000, 360_000];
const MAX_ATTEMPTS = BACKOFF_MS.length + 1;
const TIMEOUT_MS = 30_000;

/** Sends only what `notify` is given. That may come after an upgrade, so the channels are loaded at once. */
export function createNotifier(settings: NotifySettings, options: NotifierOptions): Notifier {
  const { channels = openChannels(settings.channels, options) } = options;
  for (const { load } of channels) load?.().catch(() => undefined); // Sending reports it.
  const closing = new AbortController();
  const outboxes = channels.map(
    (channel) => new Outbox(channel, settings, { ...options, signal: closing.signal }),
  );
  /** When each was asked, because an id may be asked again later. */
  const announced = new Map<string, string>();
  return {
    notify: (items) => {
      for (const item of items) {
        const key = itemKey(item);
        if (closing.signal.aborted || announced.get(key) === item.asked_at) continue;
        announced.set(key, item.asked_at);
        for (const outbox of outboxes) outbox.add(item);
      }
    },
    announce: (change) => {
      if (closing.signal.aborted) return;
      for (const outbox of outboxes) outbox.announce(change);
    },
    withdraw: (item) => {
      announced.delete(itemKey(item));
      for (const outbox of outboxes) outbox.remove(item);
    },
    close: async () => {
      closing.abort();
      await Promise.all(outboxes.map((outbox) => outbox.settled()));
    },
  };
}

/** The result of one channel. */
export interface ChannelResult {
  readonly channel: Channel["name"];
  /** Absent if it was sent. */
  readonly problem?: string;
}

/** Sends a test notification through each channel, once. */
export async function testChannels(
  channels: readonly Channel[],
  options: Omit<AttemptOptions, "message">,
): Promise<readonly ChannelResult[]> {
  return sendOnce(channels, { ...options, message: composeTestMessage(options.clock.now()) });
}

/** Announces a key change through each channel once, for a short-lived process. */
export async function announceOnce(
  change: ChangedKey,
  { content, link, channels }: NotifySettings,
  { signal, ...machine }: ChannelMachine & Omit<AttemptOptions, "message">,
): Promise<readonly ChannelResult[]> {
  const { clock } = machine;
  const message = composeKeyMessage(change, { content, link, now: clock.now() });
  return sendOnce(openChannels(channels, machine), { message, clock, signal });
}

async function sendOnce(
  channels: readonly Channel[],
  options: AttemptOptions,
): Promise<readonly ChannelResult[]> {
  return Promise.all(
    channels.map(async (channel): Promise<ChannelResult> => {
      const failure = await attempt(channel, options);
      return { channel: channel.name, ...(failure && { problem: failure.problem }) };
    }),
  );
}

interface AttemptOptions {
  readonly message: Notification;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

interface Failure {
  readonly problem: string;
  readonly isPermanent: boolean;
}

/** Never throws. Undefined if the message was sent. */
async function attempt(
  channel: Channel,
  { message, clock, signal }: AttemptOptions,
): Promise<Failure | undefined> {
  const limit = new AbortController();
  const stop = AbortSignal.any([signal, limit.signal]);
  const seconds = TIMEOUT_MS / 1000;
  const timer = clock.sleep(TIMEOUT_MS, stop).then(
    () => limit.abort(new Error(`It took longer than ${seconds} seconds.`)),
    () => undefined,
  );
  try {
    await channel.send(message, stop);
    return undefined;
  } catch (error) {
    return { problem: oneLine(messageOf(error)), isPermanent: error instanceof PermanentError };
  } finally {
    limit.abort();
    await timer;
  }
}

interface Entry {
  readonly item: PendingNotice;
  attempts: number;
}

interface KeyEntry {
  readonly change: ChangedKey;
  attempts: number;
}

/** One channel's pending announcements. Sends one message at a time. */
class Outbox {
  readonly #channel: Channel;
  readonly #settings: NotifySettings;
  readonly #options: NotifierOptions & { readonly signal: AbortSignal };
  readonly #entries = new Map<string, Entry>();
  /** Each sent in its own message, before anything else. */
  readonly #changes: KeyEntry[] = [];
  /** Set while there is something to announce. */
  #sending: Promise<void> | undefined;

  constructor(
    channel: Channel,
    settings: NotifySettings,
    options: NotifierOptions & { readonly signal: AbortSignal },
  ) {
    this.#channel = channel;
    this.#settings = settings;
    this.#options = options;
  }

  add(item: PendingNotice): void {
    this.#entries.set(itemKey(item), { item, attempts: 0 });
    this.#sending ??= this.#sendAll();
  }

  announce(change: ChangedKey): void {
    this.#changes.push({ change, attempts: 0 });
    this.#sending ??= this.#sendAll();
  }

  remove(item: Parameters<Notifier["withdraw"]>[0]): void {
    this.#entries.delete(itemKey(item));
  }

  async settled(): Promise<void> {
    await this.#sending;
  }

  /** Ends when the outbox is empty. Questions that arrive while a channel fails join its next attempt. */
  async #sendAll(): Promise<void> {
    const { clock, signal, onProblem } = this.#options;
    let failures = 0;
    while (!this.#isEmpty) {
      const usual = this.#changes.length > 0 ? 0 : this.#settings.debounceMs;
      const delay = failures === 0 ? usual : backoff(failures);
      try {
        await clock.sleep(delay, signal);
      } catch {
        return; // Closed.
      }
      const failure = this.#changes.length > 0 ? await this.#sendChange() : await this.#sendItems();
      if (signal.aborted) return;
      failures = failure === undefined ? 0 : failures + 1;
      if (failure === undefined) continue;
      const isLast = this.#isEmpty;
      const next = isLast ? "jp gives up" : `jp tries again in ${backoff(failures) / 1000} seconds`;
      onProblem(`Cannot notify by ${this.#channel.name}: ${sentence(failure.problem)} ${next}.`);
    }
    this.#sending = undefined;
  }

  get #isEmpty(): boolean {
    return this.#entries.size === 0 && this.#changes.length === 0;
  }

  get #messageOptions() {
    const { clock, origin } = this.#options;
    const { content, link = origin } = this.#settings;
    return { content, link, now: clock.now() };
  }

  /** Removes the change once it is sent or has failed too often. */
  async #sendChange(): Promise<Failure | undefined> {
    const [entry] = this.#changes;
    if (entry === undefined) return undefined;
    const { clock, signal } = this.#options;
    const message = composeKeyMessage(entry.change, this.#messageOptions);
    const failure = await attempt(this.#channel, { message, clock, signal });
    entry.attempts += 1;
    const isOver = failure?.isPermanent !== false || entry.attempts >= MAX_ATTEMPTS;
    if (isOver) this.#changes.shift();
    return failure;
  }

  /** Sends the pending decisions, and removes those sent or failed too often. */
  async #sendItems(): Promise<Failure | undefined> {
    const entries = [...this.#entries];
    if (entries.length === 0) return undefined;
    const { clock, signal } = this.#options;
    const items = entries.map(([, { item }]) => item);
    const message = composeMessage(items, this.#messageOptions);
    const failure = await attempt(this.#channel, { message, clock, signal });
    for (const [key, entry] of entries) {
      entry.attempts += 1;
      const isOver = failure?.isPermanent !== false || entry.attempts >= MAX_ATTEMPTS;
      // A different entry with this key means that the question was asked again.
      if (isOver && this.#entries.get(key) === entry) this.#entries.delete(key);
    }
    return failure;
  }
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function backoff(failures: number): number {
  return BACKOFF_MS[Math.min(failures, BACKOFF_MS.length) - 1] ?? 0;
}
