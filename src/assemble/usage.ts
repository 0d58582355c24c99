/** Totals of requests' cost, by model, day or conversation. Reads each record once, in pieces. */
import type { Prices, TokenPrice } from "../settings/config/index.ts";
import {
  addUsage,
  type ConversationCreation,
  type ConversationId,
  type StreamEntry,
  timestampToMilliseconds,
  type TokenUsage,
  type Usage,
  usageIn,
} from "../record/conversation/index.ts";
import type { ConversationStore, ConversationSummary, ListOptions } from "../stores/index.ts";
import { shouldYield, yieldToEventLoop } from "../util/index.ts";

/** How totals are grouped. A `day` is in this machine's time zone. */
export type UsageGroup = "model" | "day" | "conversation";

/** The period to include. */
export interface UsagePeriod {
  readonly since?: Date | undefined;
  /** Exclusive. */
  readonly until?: Date | undefined;
}

/** The requests to add up, and how to group them. */
export interface UsageOptions extends UsagePeriod {
  /** `model` by default. */
  readonly by?: UsageGroup;
  /** Without prices, only tokens are counted. */
  readonly prices?: Prices;
}

/** The total of some requests. */
export interface UsageTotal {
  /** A model, a day such as `2026-11-16`, or a conversation ID. */
  readonly key: string;
  readonly requests: number;
  readonly usage: Usage;
  /** In the currency of the prices. Absent if no request has a price. */
  readonly cost?: number;
  /** Some requests have no price, so `cost` is too low. */
  readonly isPartial: boolean;
}

/** See `readUsage`. */
export async function addUpUsage(
  store: UsageSource,
  options: UsageOptions,
): Promise<readonly UsageTotal[]> {
  const totals = new UsageTotals(options);
  for (const summary of await store.list({ which: "all" })) {
    if (!mayBeWithin(summary, options)) continue;
    try {
      for await (const { entries } of store.scan(summary.id)) totals.add(summary, entries);
    } catch {
      continue; // Skips it, as the others may be readable. `jp conversation ls` reports it.
    }
    if (shouldYield()) await yieldToEventLoop();
  }
  return totals.result();
}

/** The part of a store that usage is read from. */
export interface UsageSource extends Pick<ConversationStore, "scan"> {
  list(options: ListOptions): Promise<readonly ConversationSummary[]>;
}

/** In a file store, `createdAt` may be slightly late if others were created at the same time. */
const SLACK_MS = 1000;

/** Adds up entries as they are read. */
export class UsageTotals {
  readonly #options: UsageOptions;
  readonly #totals = new Map<string, UsageTotal>();

  constructor(options: UsageOptions = {}) {
    this.#options = options;
  }

  /** Decodes only usage. Entries copied by a fork were paid for in the original conversation, and do not count. */
  add({ id, createdAt }: ConversationCreation, entries: readonly StreamEntry[]): void {
    const created = timestampToMilliseconds(createdAt) - SLACK_MS;
    for (const event of usageIn(entries)) {
      if (timestampToMilliseconds(event.timestamp) < created) continue;
      if (!isWithin(event, this.#options)) continue;
      const key = keyOf(event, id, this.#options.by);
      const total = this.#totals.get(key) ?? { key, requests: 0, usage: {}, isPartial: false };
      const cost = costOf(event, this.#options.prices);
      this.#totals.set(key, {
        key,
        requests: total.requests + (event.requests ?? 1),
        usage: addUsage(total.usage, event.usage),
        isPartial: total.isPartial || cost === undefined,
        ...((total.cost !== undefined || cost !== undefined) && {
          cost: (total.cost ?? 0) + (cost ?? 0),
        }),
      });
    }
  }

  /** Sorted by `key`. */
  result(): readonly UsageTotal[] {
    return [...this.#totals.values()].toSorted((left, right) => (left.key < right.key ? -1 : 1));
  }
}

/** The sum of totals. */
export function sumTotals(totals: readonly UsageTotal[]): UsageTotal {
  const cost = totals.reduce((sum, total) => sum + (total.cost ?? 0), 0);
  return {
    key: "",
    requests: totals.reduce((sum, { requests }) => sum + requests, 0),
    usage: totals.reduce<Usage>((sum, { usage }) => addUsage(sum, usage), {}),
    isPartial: totals.some(({ isPartial }) => isPartial),
    ...(totals.some((total) => total.cost !== undefined) && { cost }),
  };
}

/** No event is older than its conversation, or newer than its last event. */
function mayBeWithin(
  { createdAt, lastEventAt }: ConversationSummary,
  { since, until }: UsagePeriod,
): boolean {
  const last = lastEventAt && timestampToMilliseconds(lastEventAt);
  if (since !== undefined && last !== undefined && last < since.getTime()) return false;
  const first = timestampToMilliseconds(createdAt);
  return until === undefined || first < until.getTime();
}

function isWithin({ timestamp }: TokenUsage, { since, until }: UsagePeriod): boolean {
  const time = timestampToMilliseconds(timestamp);
  return (
    (since === undefined || since.getTime() <= time) &&
    (until === undefined || time < until.getTime())
  );
}

function keyOf(event: TokenUsage, id: ConversationId, by: UsageGroup = "model"): string {
  if (by === "conversation") return id;
  if (by === "model") return event.model;
  const time = new Date(timestampToMilliseconds(event.timestamp));
  const parts = [time.getFullYear(), time.getMonth() + 1, time.getDate()];
  return parts.map((part) => String(part).padStart(2, "0")).join("-");
}

const MILLION = 1_000_000;

/** From the given price, or else the provider's report. Undefined without either. */
function costOf(
  { model, usage, timestamp, requests = 1 }: TokenUsage,
  prices: Prices | undefined,
): number | undefined {
  const price = prices?.of(model, {
    at: new Date(timestampToMilliseconds(timestamp)),
    input: (usage.input ?? 0) / requests,
    reportedCost: usage.cost,
  });
  if (price !== undefined) return priced(usage, price);
  return prices?.currency === "USD" ? usage.cost : undefined;
}

function priced(usage: Usage, price: TokenPrice): number {
  const { input = 0, cachedInput = 0, cacheWrites = 0, output = 0 } = usage;
  const { input: perInput = 0, output: perOutput = 0 } = price;
  const { cachedInput: perCached = perInput, cacheWrites: perWrite = perInput } = price;
  const fresh = Math.max(0, input - cachedInput - cacheWrites);
  const cost =
    fresh * perInput + cachedInput * perCached + cacheWrites * perWrite + output * perOutput;
  return cost / MILLION;
}
