/**
 * Announces what waits for a person. Questions are collected for a moment and announced together; what was answered
 * by then is not announced. A channel that fails is tried again, later each time, and what it could not send is
 * dropped in the end: the question still waits in the inbox.
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

/** Sends notifications through all configured channels. Answers nothing. */
export interface Notifier {
  /** Announces what waits, once each. Returns at once. */
  notify(items: readonly PendingNotice[]): void;
  /** Tells of a change of someone's keys, without waiting for others. Returns at once. */
  announce(change: ChangedKey): void;
  /** It was answered, or no longer waits: it is left out of what was not sent yet. */
  withdraw(item: Pick<PendingNotice, "workspace" | "conversation" | "id">): void;
  /** Stops. What was not sent yet is dropped. */
  close(): Promise<void>;
}

/** The parts of a notifier. */
export interface NotifierOptions extends ChannelMachine {
  readonly clock: Clock;
  /** Where the desk is reached, for links, unless the settings have a `link`. Without a slash at the end. */
  readonly origin?: string;
  /** Told, in a sentence, when a notification could not be sent. */
  readonly onProblem: (problem: string) => void;
  /** Instead of those of the settings, in tests. */
  readonly channels?: readonly Channel[];
}

/** Between attempts: five in about ten minutes. */
const BACKOFF_MS = [15_000, 60_000, 180_000, 360_000];
const MAX_ATTEMPTS = BACKOFF_MS.length + 1;
const TIMEOUT_MS = 30_000;

/** Sends nothing by itself, only what `notify` is given, which may come after an upgrade: its channels load at once. */
export function createNotifier(settings: NotifySettings, options: NotifierOptions): Notifier {
  const { channels = openChannels(settings.channels, options) } = options;
  for (const { load } of channels) load?.().catch(() => undefined); // Sending says so.
  const closing = new AbortController();
  const outboxes = channels.map(
    (channel) => new Outbox(channel, settings, { ...options, signal: closing.signal }),
  );
  /** When each was asked; the same id may be asked again later. */
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

/** How sending through one channel went. */
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

/** Tells of a change of someone's keys through each channel, once: for a process that does not stay. */
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

/** Everything that one channel has yet to announce. Sends one message at a time. */
class Outbox {
  readonly #channel: Channel;
  readonly #settings: NotifySettings;
  readonly #options: NotifierOptions & { readonly signal: AbortSignal };
  readonly #entries = new Map<string, Entry>();
  /** Each in a message of its own, before anything else. */
  readonly #changes: KeyEntry[] = [];
  /** While there is something to announce. */
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

  /** Ends when nothing is left. Questions that come while a channel fails join its next attempt. */
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

  /** Removes what was sent, and what has failed too often. */
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

  /** The same for what waits. */
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
      // Another entry with this key is for a question that was asked again meanwhile.
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
