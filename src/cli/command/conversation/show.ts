/** `jp conversation show` and `path`: details of a conversation without its content. */
import { existsSync } from "node:fs";
import {
  type KnownPrices,
  loadPrices,
  type PartialConfig,
} from "../../../settings/config/index.ts";
import {
  type Compaction,
  describeCompaction,
  describeTurns,
  InquiryLog,
  StreamEntry,
  type Timestamp,
  timestampToMilliseconds,
  TurnCounter,
  usageToJson,
} from "../../../record/conversation/index.ts";
import {
  describeUsage,
  inquiryState,
  matchesInquiryFilter,
  relativeTime,
  summaryToJson,
} from "../../../surfaces/render/index.ts";
import { sumTotals, type UsageTotal, UsageTotals } from "../../../assemble/index.ts";
import type { WorkspaceSummary } from "../../../stores/index.ts";
import { JpError, jsonLine, type JsonObject, neutralize } from "../../../util/index.ts";
import { type CommandContext, printFields } from "../../context.ts";
import {
  lastActivity,
  readEntries,
  resolveTargetForReading,
  resolveTargets,
} from "../../conversations.ts";
import type { Call } from "../../define.ts";
import { labelText } from "../../labels.ts";
import { effectiveConfig } from "../../load-config.ts";
import { describePriceSources, sourcesToJson } from "../../price-sources.ts";
import type { FORMAT_OPTIONS } from "../../options.ts";
import type { PATH } from "./options.ts";

export async function showConversations({
  args,
  options,
  context,
}: Call<typeof FORMAT_OPTIONS>): Promise<void> {
  const targets =
    args.length === 0
      ? [await resolveTargetForReading(context, undefined)]
      : await resolveTargets(context, args);
  // A broken config must not hide a conversation.
  const config = await effectiveConfig(context, {}).catch((): PartialConfig => ({}));
  for (const [index, target] of targets.entries()) {
    const prices = await loadPrices(config);
    const counts = await countEvents(target, prices, context);
    if (options.format === "json") {
      context.output.print(jsonLine({ ...summaryToJson(target), ...countsToJson(counts, prices) }));
      continue;
    }
    if (index > 0) context.output.print("");
    const fields = { ...describeSummary(target, context), ...describeCounts(counts) };
    printFields({ ...fields, ...describeExtras(counts, prices) }, context.output);
  }
}

interface Counts {
  readonly turns: number;
  readonly events: number;
  readonly tool_calls: number;
  /** By outcome. */
  readonly inquiries: Readonly<Record<string, number>>;
  /** Permissions, deliveries and calls in doubt, by outcome. */
  readonly decisions: Readonly<Record<string, number>>;
  readonly compactions: readonly Compaction[];
  readonly usage: UsageTotal;
}

/** Reads the record once, without keeping it in memory. */
async function countEvents(
  summary: WorkspaceSummary,
  prices: KnownPrices,
  { workspace, output }: CommandContext,
): Promise<Counts> {
  const totals = new UsageTotals({ prices });
  const compactions: Compaction[] = [];
  const counter = new TurnCounter();
  const log = new InquiryLog();
  const inquiries: Record<string, number> = {};
  const decisions: Record<string, number> = {};
  const count = (logged: ReturnType<InquiryLog["end"]>) => {
    for (const inquiry of logged) {
      if (!matchesInquiryFilter(inquiry, {})) continue;
      const counts = inquiry.kind === "question" ? inquiries : decisions;
      const state = inquiryState(inquiry);
      counts[state] = (counts[state] ?? 0) + 1;
    }
  };
  let [turns, events, calls] = [0, 0, 0];
  for await (const entries of readEntries(summary.id, { workspace, output })) {
    totals.add(summary, entries);
    for (const entry of entries) {
      const { eventType } = entry;
      if (eventType === undefined) {
        const { content } = entry;
        if (content.kind === "compaction") {
          const { earlier: _earlier, ...compaction } = content.compaction; // Only for readers of the record.
          compactions.push(compaction);
        }
        continue;
      }
      turns = counter.next(eventType) + 1;
      events += 1;
      if (eventType === "tool_call_request") calls += 1;
    }
    count(log.read(entries));
  }
  count(log.end());
  const usage = sumTotals(totals.result());
  return { turns, events, tool_calls: calls, inquiries, decisions, compactions, usage };
}

function countsToJson(counts: Counts, prices: KnownPrices): JsonObject {
  const { currency } = prices;
  const { compactions, usage, inquiries, decisions, ...numbers } = counts;
  const { cost: _reported, ...tokens } = usageToJson(usage.usage);
  const { cost, isPartial, requests } = usage;
  const priced = cost !== undefined && { cost, currency, ...(isPartial && { is_partial: true }) };
  return {
    ...numbers,
    inquiries: { ...inquiries },
    decisions: { ...decisions },
    ...(compactions.length > 0 && {
      compactions: compactions.map((one) => StreamEntry.fromCompaction(one).raw),
    }),
    ...(requests > 0 && { usage: { requests, ...tokens, ...priced, ...sourcesToJson(prices) } }),
  };
}

/** Numbered, because `jp conversation compact --reset` takes the number. */
function describeExtras({ compactions, usage }: Counts, prices: KnownPrices) {
  const listed = compactions.map(
    (one, index) => `${index + 1}: ${describeTurns(one)} (${describeCompaction(one)})`,
  );
  return {
    ...(listed.length > 0 && { Compactions: listed.join("; ") }),
    ...(usage.requests > 0 && {
      Tokens: describeUsage(usage.usage, usage, prices.currency),
      Prices: describePriceSources(prices),
    }),
  };
}

const STORED = {
  workspace: "in the workspace",
  local: "outside the workspace, for you alone",
  both: "in the workspace and for you alone",
} as const satisfies Record<WorkspaceSummary["place"], string>;

function describeSummary(
  summary: WorkspaceSummary,
  { clock, workspace, database }: CommandContext,
) {
  const { id, createdAt, metadata, isArchived, place, problem } = summary;
  const ago = (time: Timestamp | undefined) => {
    if (time === undefined) return undefined;
    const then = timestampToMilliseconds(time);
    return `${localTime(new Date(then))} (${relativeTime(then, clock.now().getTime())})`;
  };
  const labels = Object.entries(metadata?.labels ?? {})
    .map(([key, value]) => labelText(key, value))
    .join(", ");
  return {
    ID: id,
    Title: metadata?.title,
    Problem: problem,
    Started: ago(createdAt),
    "Last event": ago(lastActivity(summary)),
    "Last used": ago(metadata?.lastActivatedAt),
    Pinned: ago(metadata?.pinnedAt),
    Expires: ago(metadata?.expiresAt),
    Archived: isArchived ? (ago(metadata?.archivedAt) ?? "yes") : undefined,
    Labels: labels === "" ? undefined : labels,
    Stored: database === undefined ? STORED[place] : "in a database",
    [database === undefined ? "Folder" : "Database"]: workspace.files.nameOf(id, "folder"),
  };
}

/** In the local time zone, or that of `TZ`: `2027-01-15 09:00:19 +01:00`. */
function localTime(date: Date): string {
  const minutes = -date.getTimezoneOffset();
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join("-");
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":");
  return `${day} ${time} ${minutes < 0 ? "-" : "+"}${two(minutes / 60)}:${two(minutes % 60)}`;
}

function two(value: number): string {
  return String(Math.trunc(Math.abs(value))).padStart(2, "0");
}

function describeCounts({ turns, events, tool_calls: calls, inquiries, decisions }: Counts) {
  const describe = (states: Counts["inquiries"]) =>
    Object.entries(states).map(([state, count]) => `${count} ${state}`);
  const [questions, decided] = [describe(inquiries), describe(decisions)];
  return {
    Turns: String(turns),
    Events: String(events),
    "Tool calls": String(calls),
    Questions: questions.length === 0 ? "none" : questions.join(", "),
    Decisions: decided.length === 0 ? undefined : decided.join(", "),
  };
}

export const PACKED_HINT =
  "In older conversations, the base config is the first element of the events file.";

export async function printPath({ args, options, context }: Call<typeof PATH>): Promise<void> {
  const { id } = await resolveTargetForReading(context, args[0]);
  const paths = context.workspace.files.paths(id);
  const files = (["events", "metadata", "baseConfig"] as const).filter((name) => options[name]);
  const wanted = files.length === 0 ? [paths.folder] : files.map((name) => paths[name]);
  const missing = wanted.find((file) => !existsSync(file));
  if (missing !== undefined) {
    throw new JpError("no_such_file", `${missing} does not exist.`, { hint: PACKED_HINT });
  }
  const { output } = context;
  // Programs need the exact name.
  for (const file of wanted) output.print(output.isTerminal ? neutralize(file) : file);
}
