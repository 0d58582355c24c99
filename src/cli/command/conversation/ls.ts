/**
 * `jp conversation ls`. Reads only the metadata and the last event of each conversation, and the last turn of
 * those that may not be complete.
 */
import { type ConversationId, timestampToMilliseconds } from "../../../conversation/index.ts";
import {
  type Cell,
  describeState,
  jsonLine,
  oneLine,
  relativeTime,
  renderTable,
  summaryToJson,
} from "../../../render/index.ts";
import type { WorkspaceSummary } from "../../../storage/index.ts";
import { lastActivity, type SelectionFlags, selectionOf } from "../../conversations.ts";
import type { CommandContext } from "../../context.ts";
import type { Call } from "../../define.ts";

export interface ListFlags extends SelectionFlags {
  readonly archived?: boolean;
  readonly local?: boolean;
  readonly limit?: number;
  readonly sort?: "activity" | "created" | "title";
  readonly reverse?: boolean;
  readonly format?: "text" | "json";
}

const EMPTY = { live: "No conversations yet.", archived: "No archived conversations." };
/** On a narrower screen, the space goes to the titles. */
const MIN_WIDTH_FOR_TIMES = 50;

export async function listConversations({ options, context }: Call<ListFlags>): Promise<void> {
  const { workspace, output } = context;
  const which = options.archived === true ? "archived" : "live";
  const all = await workspace.conversations.list({ which });
  const isSelected = selectionOf(options, context);
  const wanted = all
    .filter(isSelected)
    .filter(({ place }) => options.local !== true || place === "local");
  const sorted = sort(wanted.map(withActivity), options.sort);
  const latest =
    options.limit === undefined ? sorted : sorted.slice(Math.max(0, sorted.length - options.limit));
  const shown = options.reverse === true ? latest.toReversed() : latest;
  if (options.format === "json") {
    for (const { summary } of shown) output.print(jsonLine(summaryToJson(summary)));
    return;
  }
  if (wanted.length === 0) {
    output.notice(all.length > 0 ? "No matching conversations." : EMPTY[which]);
    return;
  }
  const [active] = await workspace.session.history();
  printTable(shown, active, context);
  const hidden = sorted.length - shown.length;
  if (hidden > 0)
    output.notice(
      hidden === 1
        ? "(1 earlier conversation not shown)"
        : `(${hidden} earlier conversations not shown)`,
    );
}

interface Listed {
  readonly summary: WorkspaceSummary;
  /** In milliseconds since the epoch. */
  readonly activity: number;
}

function withActivity(summary: WorkspaceSummary): Listed {
  return { summary, activity: timestampToMilliseconds(lastActivity(summary)) };
}

function printTable(
  listed: readonly Listed[],
  active: ConversationId | undefined,
  { output, clock }: CommandContext,
): void {
  const now = clock.now().getTime();
  const hasTimes = output.lineWidth >= MIN_WIDTH_FOR_TIMES;
  const hasLocal = listed.some(({ summary }) => summary.place === "local");
  const hasOpen = hasTimes && listed.some(({ summary }) => summary.openTurn !== undefined);
  const rows = listed.map(({ summary, activity }): Cell[] => {
    const isActive = summary.id === active;
    return [
      { text: isActive ? "*" : summary.metadata?.pinnedAt ? "^" : "", style: "green" },
      { text: summary.id, style: isActive ? "green" : "cyan" },
      ...(hasTimes ? [{ text: relativeTime(activity, now), style: "dim" } as const] : []),
      ...(hasLocal ? [placeCell(summary)] : []),
      ...(hasOpen ? [stateCell(summary)] : []),
      titleCell(summary),
    ];
  });
  const columns = [
    { title: "" },
    { title: "ID" },
    ...(hasTimes ? [{ title: "ACTIVITY" }] : []),
    ...(hasLocal ? [{ title: "PLACE" }] : []),
    ...(hasOpen ? [{ title: "STATE" }] : []),
    { title: "TITLE", shrinks: true },
  ];
  const { paint, lineWidth: width } = output;
  for (const line of renderTable({ columns, rows, paint, width })) output.print(line);
}

function placeCell({ place }: WorkspaceSummary): Cell {
  return { text: place === "local" ? "local" : "", style: "dim" };
}

function stateCell({ openTurn }: WorkspaceSummary): Cell {
  if (openTurn === undefined) return { text: "" };
  return { text: oneLine(describeState(openTurn)), style: "yellow" };
}

function titleCell({ metadata, problem }: WorkspaceSummary): Cell {
  const title = oneLine(metadata?.title ?? "");
  if (problem !== undefined) return { text: `${title} (${oneLine(problem)})`.trim(), style: "red" };
  return title === "" ? { text: "(no title)", style: "dim" } : { text: title };
}

const SORT_KEYS = {
  activity: ({ activity }: Listed) => activity,
  created: ({ summary }: Listed) => timestampToMilliseconds(summary.createdAt),
  title: ({ summary }: Listed) => summary.metadata?.title?.toLowerCase() ?? "",
};

function sort(listed: readonly Listed[], by: ListFlags["sort"] = "activity"): readonly Listed[] {
  const keyed = listed.map((each) => ({ each, key: SORT_KEYS[by](each) }));
  return keyed
    .toSorted((left, right) => (left.key < right.key ? -1 : left.key > right.key ? 1 : 0))
    .map(({ each }) => each);
}
