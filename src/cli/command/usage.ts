/** `jp usage`: the cost of requests to models. */
import { type KnownPrices, loadPrices, type PartialConfig } from "../../settings/config/index.ts";
import { type ConversationId, usageToJson } from "../../record/conversation/index.ts";
import { renderUsage, wrapProse } from "../../surfaces/render/index.ts";
import {
  readUsage,
  sumTotals,
  type UsageGroup,
  type UsageTotal,
  UsageTotals,
} from "../../assemble/index.ts";
import { conversationNotFoundError, type ListOptions } from "../../stores/index.ts";
import { jsonLine, messageOf, oneLine } from "../../util/index.ts";
import { type CommandContext, warn } from "../context.ts";
import { parseTime, readEntries } from "../conversations.ts";
import type { Call } from "../define.ts";
import { effectiveConfig } from "../load-config.ts";
import { describeSources, sourcesToJson } from "../price-sources.ts";
import { type FoundWorkspace, openEverywhere } from "./pending.ts";
import type { USAGE } from "./options.ts";
import type { FlagsOf } from "../options.ts";

export async function showUsage({ options, context }: Call<typeof USAGE>): Promise<void> {
  const { by } = options;
  const now = context.clock.now();
  const since = options.from === undefined ? undefined : parseTime(options.from, now);
  const until = options.until === undefined ? undefined : parseTime(options.until, now);
  const prices = await loadPrices(await effectiveConfig(context, options));
  const titles = new Map<string, string>();
  const totals: UsageTotal[] = [];
  const onProblem = (problem: string) => warn(problem, context.output);
  const { all = false } = options;
  const everywhere = all ? await openEverywhere(context, onProblem) : undefined;
  for (const workspace of everywhere?.workspaces ?? [context.workspace]) {
    try {
      const isDistinct = context.database !== undefined;
      const store = unseenOf(workspace, titles, isDistinct);
      totals.push(...(await readUsage(store, { by, since, until, prices })));
    } catch (error) {
      if (!all) throw error;
      onProblem(`${workspace.root}: ${messageOf(error)}`); // The others still count.
    }
  }
  const merged = [...Map.groupBy(totals, ({ key }) => key)]
    .map(([key, parts]) => ({ ...sumTotals(parts), key }))
    .toSorted((left, right) => (left.key < right.key ? -1 : 1));
  print(merged, { options, context, titles, prices });
}

/**
 * Lists each conversation once, although clones of a workspace share them, and notes its title. A database has each
 * workspace once, so equal IDs there belong to different conversations.
 */
function unseenOf(
  { conversations }: FoundWorkspace,
  titles: Map<string, string>,
  isDistinct: boolean,
) {
  return {
    list: async (options: ListOptions) => {
      const summaries = await conversations.list(options);
      const unseen = summaries.filter(({ id }) => isDistinct || !titles.has(id));
      for (const { id, metadata } of unseen) titles.set(id, metadata?.title ?? "");
      return unseen;
    },
    scan: (id: ConversationId) => conversations.scan(id),
  };
}

/** Prints the cost of one conversation, by model. */
export async function showConversationUsage(
  id: ConversationId,
  config: PartialConfig,
  context: CommandContext,
): Promise<void> {
  const summary = await context.workspace.conversations.find(id);
  if (summary === undefined) throw conversationNotFoundError(id);
  const prices = await loadPrices(config);
  const totals = new UsageTotals({ prices });
  for await (const entries of readEntries(id, context)) totals.add(summary, entries);
  print(totals.result(), {
    options: { by: "model", format: "text" },
    context,
    titles: new Map(),
    prices,
  });
}

interface Shown {
  readonly options: Pick<FlagsOf<typeof USAGE>, "by" | "format">;
  readonly context: CommandContext;
  readonly titles: ReadonlyMap<string, string>;
  readonly prices: KnownPrices;
}

function print(totals: readonly UsageTotal[], { options, context, titles, prices }: Shown): void {
  const { output } = context;
  const currency = oneLine(prices.currency);
  const { by } = options;
  if (options.format === "json") {
    for (const total of totals) output.print(jsonLine(totalToJson(total, by, prices)));
    return;
  }
  if (totals.length === 0) return output.notice("No usage recorded.");
  const rows = totals.map(({ key, ...rest }) => {
    const title = titles.get(key) ?? "";
    return { ...rest, name: oneLine(title === "" ? key : `${key} ${title}`) };
  });
  const { key: _key, ...sum } = sumTotals(totals);
  const all = totals.length === 1 ? rows : [...rows, { ...sum, name: "total" }];
  const { paint, lineWidth: width } = output;
  for (const line of renderUsage(all, { title: by.toUpperCase(), currency, paint, width })) {
    output.print(line);
  }
  for (const line of describeSources(prices)) {
    for (const row of wrapProse(line, output.noticeWidth)) output.notice(row);
  }
}

function totalToJson(total: UsageTotal, by: UsageGroup, prices: KnownPrices) {
  const { currency } = prices;
  const { key, requests, usage, cost, isPartial } = total;
  const { cost: _reported, ...counts } = usageToJson(usage);
  return {
    [by]: key,
    requests,
    ...counts,
    ...(cost !== undefined && {
      cost: roundCost(cost),
      currency,
      ...(isPartial && { is_partial: true }),
    }),
    ...(by === "model" && sourcesToJson(prices, key)),
  };
}

/** Sums of fractions end in noise such as 0.17219999999999983. */
function roundCost(cost: number): number {
  return Number(cost.toFixed(9));
}
