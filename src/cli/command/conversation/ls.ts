/** `jp conversation ls`. Reads each conversation's metadata and the end of its events, no more. */
import {
  conversationCreatedAt,
  type ConversationId,
  conversationIdToNumber,
  timestampToMilliseconds,
} from "../../../conversation/index.ts";
import { type Cell, jsonLine, oneLine, relativeTime, renderTable } from "../../../render/index.ts";
import type { ConversationSummary } from "../../../storage/index.ts";
import { lastActivity } from "../../activity.ts";
import type { CommandContext } from "../../compose.ts";
import type { Call } from "../../define.ts";

export interface ListFlags {
  readonly archived?: boolean;
  readonly local?: boolean;
  readonly limit?: number;
  readonly sort?: "activity" | "created" | "title";
  readonly reverse?: boolean;
  readonly format?: "text" | "json";
}

export async function listConversations({ options, context }: Call<ListFlags>): Promise<void> {
  const { workspace, output } = context;
  const which = options.archived === true ? "archived" : "live";
  const all = await workspace.conversations.list({ which });
  const wanted = options.local === true ? all.filter(({ place }) => place === "local") : all;
  const sorted = sort(wanted, options);
  const shown =
    options.limit === undefined ? sorted : sorted.slice(-options.limit || sorted.length);
  if (options.format === "json") {
    for (const summary of shown) output.print(jsonLine(summaryToJson(summary)));
    return;
  }
  if (shown.length === 0) {
    output.notice(
      which === "live" ? "There are no conversations here yet." : "Nothing is archived.",
    );
    return;
  }
  const [active] = await workspace.session.history();
  printTable(shown, active, context);
  const hidden = sorted.length - shown.length;
  if (hidden > 0) output.notice(`(${hidden} more; leave --limit out to see them)`);
}

function printTable(
  summaries: readonly ConversationSummary[],
  active: ConversationId | undefined,
  { output, clock }: CommandContext,
): void {
  const now = clock.now().getTime();
  const hasLocal = summaries.some(({ place }) => place === "local");
  const rows = summaries.map((summary): Cell[] => {
    const isActive = summary.id === active;
    const activity = timestampToMilliseconds(lastActivity(summary));
    return [
      { text: isActive ? "*" : summary.metadata?.pinnedAt ? "^" : "", style: "green" },
      { text: summary.id, style: isActive ? "green" : "cyan" },
      { text: relativeTime(activity, now), style: "dim" },
      ...(hasLocal ? [placeCell(summary)] : []),
      titleCell(summary),
    ];
  });
  const columns = [
    { title: "" },
    { title: "ID" },
    { title: "ACTIVITY" },
    ...(hasLocal ? [{ title: "PLACE" }] : []),
    { title: "TITLE", shrinks: true },
  ];
  const width = output.isTerminal ? output.width : undefined;
  for (const line of renderTable({ columns, rows, paint: output.paint, width })) output.print(line);
}

function placeCell({ place }: ConversationSummary): Cell {
  return { text: place === "local" ? "local" : "", style: "dim" };
}

function titleCell({ metadata, problem }: ConversationSummary): Cell {
  if (problem !== undefined) return { text: `(${oneLine(problem)})`, style: "red" };
  const title = metadata?.title;
  return title === undefined ? { text: "(no title)", style: "dim" } : { text: oneLine(title) };
}

const SORT_KEYS = {
  activity: (summary: ConversationSummary) => timestampToMilliseconds(lastActivity(summary)),
  created: (summary: ConversationSummary) => conversationIdToNumber(summary.id),
  title: (summary: ConversationSummary) => summary.metadata?.title?.toLowerCase() ?? "",
};

function sort(summaries: readonly ConversationSummary[], { sort: by, reverse }: ListFlags) {
  const keyed = summaries.map((summary) => ({
    summary,
    key: SORT_KEYS[by ?? "activity"](summary),
  }));
  const sorted = keyed
    .toSorted((left, right) => (left.key < right.key ? -1 : left.key > right.key ? 1 : 0))
    .map(({ summary }) => summary);
  return reverse === true ? sorted.toReversed() : sorted;
}

export function summaryToJson(summary: ConversationSummary) {
  const { id, metadata, place, isArchived, lastEventAt, problem } = summary;
  return {
    id,
    title: metadata?.title,
    created_at: conversationCreatedAt(id),
    last_activated_at: metadata?.lastActivatedAt,
    last_event_at: lastEventAt,
    pinned_at: metadata?.pinnedAt,
    archived: isArchived,
    place,
    labels: metadata?.labels,
    problem,
  };
}
