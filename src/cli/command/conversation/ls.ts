/**
 * `jp conversation ls`. Reads only the metadata and the last event of each conversation, and the last turn of
 * those that may not be complete.
 */
import {
  type ConversationId,
  timestampToMilliseconds,
} from "../../../record/conversation/index.ts";
import {
  type Cell,
  relativeTime,
  renderTable,
  nameState,
  summaryToJson,
} from "../../../surfaces/render/index.ts";
import type { WorkspaceSummary } from "../../../stores/index.ts";
import { jsonLine, oneLine } from "../../../util/index.ts";
import { lastActivity, selectionOf } from "../../conversations.ts";
import type { CommandContext } from "../../context.ts";
import type { Call } from "../../define.ts";
import type { LIST } from "./options.ts";

const EMPTY = { live: "No conversations yet.", archived: "No archived conversations." };
/** Narrower screens leave the space to titles. */
const MIN_WIDTH_FOR_TIMES = 50;

export async function listConversations({ options, context }: Call<typeof LIST>): Promise<void> {
  const { workspace, output } = context;
  const which = options.archived === true ? "archived" : "live";
  const all = await workspace.conversations.list({ which });
  const isSelected = selectionOf(options, context);
  const isLocal = ({ place }: WorkspaceSummary) => options.local !== true || place === "local";
  const wanted = all.filter((summary) => isSelected(summary) && isLocal(summary));
  const keyOf = SORT_KEYS[options.sort];
  const sorted = wanted.map((summary) => toListed(summary, keyOf)).toSorted(byKey);
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
  /** Milliseconds since the epoch. */
  readonly activity: number;
  readonly key: number | string;
}

const SORT_KEYS = {
  activity: (_summary: WorkspaceSummary, activity: number) => activity,
  created: ({ createdAt }: WorkspaceSummary) => timestampToMilliseconds(createdAt),
  title: ({ metadata }: WorkspaceSummary) => metadata?.title?.toLowerCase() ?? "",
};

function toListed(
  summary: WorkspaceSummary,
  keyOf: (summary: WorkspaceSummary, activity: number) => number | string,
): Listed {
  const activity = timestampToMilliseconds(lastActivity(summary));
  return { summary, activity, key: keyOf(summary, activity) };
}

function byKey(left: Listed, right: Listed): number {
  return left.key < right.key ? -1 : left.key > right.key ? 1 : 0;
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
  const rows = listed.map(({ summary, activity }) => {
    const isActive = summary.id === active;
    const row: Cell[] = [
      { text: isActive ? "*" : summary.metadata?.pinnedAt ? "^" : "", style: "green" },
      { text: summary.id, style: isActive ? "green" : "cyan" },
    ];
    if (hasTimes) row.push({ text: relativeTime(activity, now), style: "dim" });
    if (hasLocal) row.push(placeCell(summary));
    if (hasOpen) row.push(stateCell(summary));
    row.push(titleCell(summary));
    return row;
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
  return { text: oneLine(nameState(openTurn)), style: "yellow" };
}

function titleCell({ metadata, problem }: WorkspaceSummary): Cell {
  const title = oneLine(metadata?.title ?? "");
  if (problem !== undefined) return { text: `${title} (${oneLine(problem)})`.trim(), style: "red" };
  return title === "" ? { text: "(no title)", style: "dim" } : { text: title };
}
