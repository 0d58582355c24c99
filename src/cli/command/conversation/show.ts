/** `jp conversation show` and `path`: details of a conversation without its content. */
import { existsSync } from "node:fs";
import {
  conversationCreatedAt,
  InquiryLog,
  type Timestamp,
  timestampToMilliseconds,
  TurnCounter,
} from "../../../conversation/index.ts";
import {
  inquiryState,
  jsonLine,
  neutralize,
  relativeTime,
  summaryToJson,
} from "../../../render/index.ts";
import type { WorkspaceSummary } from "../../../storage/index.ts";
import { JpError } from "../../../util/index.ts";
import { type CommandContext, printFields } from "../../context.ts";
import {
  lastActivity,
  readEntries,
  resolveTargetForReading,
  resolveTargets,
} from "../../conversations.ts";
import type { Call } from "../../define.ts";

export interface ShowFlags {
  readonly format?: "text" | "json";
}

export async function showConversations({
  args,
  options,
  context,
}: Call<ShowFlags>): Promise<void> {
  const targets =
    args.length === 0
      ? [await resolveTargetForReading(context, undefined)]
      : await resolveTargets(context, args);
  for (const [index, target] of targets.entries()) {
    const counts = await countEvents(target, context);
    if (options.format === "json") {
      context.output.print(jsonLine({ ...summaryToJson(target), ...counts }));
      continue;
    }
    if (index > 0) context.output.print("");
    printFields({ ...describeSummary(target, context), ...describeCounts(counts) }, context.output);
  }
}

interface Counts {
  readonly turns: number;
  readonly events: number;
  readonly tool_calls: number;
  readonly inquiries: Readonly<Record<string, number>>;
}

/** Reads the record once, without keeping it in memory. */
async function countEvents(
  { id }: WorkspaceSummary,
  { workspace, output }: CommandContext,
): Promise<Counts> {
  const counter = new TurnCounter();
  const log = new InquiryLog();
  const inquiries: Record<string, number> = {};
  const count = (logged: ReturnType<InquiryLog["end"]>) => {
    for (const inquiry of logged) {
      const state = inquiryState(inquiry);
      inquiries[state] = (inquiries[state] ?? 0) + 1;
    }
  };
  let [turns, events, calls] = [0, 0, 0];
  for await (const entries of readEntries(id, { workspace, output })) {
    for (const { eventType } of entries) {
      if (eventType === undefined) continue;
      turns = counter.next(eventType) + 1;
      events += 1;
      if (eventType === "tool_call_request") calls += 1;
    }
    count(log.read(entries));
  }
  count(log.end());
  return { turns, events, tool_calls: calls, inquiries };
}

function describeSummary(summary: WorkspaceSummary, { clock, workspace }: CommandContext) {
  const { id, metadata, isArchived, place, problem } = summary;
  const ago = (time: Timestamp | undefined) =>
    time && `${time} UTC (${relativeTime(timestampToMilliseconds(time), clock.now().getTime())})`;
  const labels = Object.entries(metadata?.labels ?? {})
    .map(([key, value]) => (value === "" ? key : `${key}=${value}`))
    .join(", ");
  return {
    ID: id,
    Title: metadata?.title,
    Problem: problem,
    Started: ago(conversationCreatedAt(id)),
    "Last event": ago(lastActivity(summary)),
    "Last used": ago(metadata?.lastActivatedAt),
    Pinned: ago(metadata?.pinnedAt),
    Expires: ago(metadata?.expiresAt),
    Archived: isArchived ? (ago(metadata?.archivedAt) ?? "yes") : undefined,
    Labels: labels === "" ? undefined : labels,
    Stored: {
      workspace: "in the workspace",
      local: "outside the workspace, for you alone",
      both: "in the workspace and for you alone",
    }[place],
    Folder: workspace.files.paths(id).folder,
  };
}

function describeCounts({ turns, events, tool_calls: calls, inquiries }: Counts) {
  const questions = Object.entries(inquiries).map(([state, count]) => `${count} ${state}`);
  return {
    Turns: String(turns),
    Events: String(events),
    "Tool calls": String(calls),
    Questions: questions.length === 0 ? "none" : questions.join(", "),
  };
}

export interface FileFlags {
  readonly events?: boolean;
  readonly metadata?: boolean;
  readonly baseConfig?: boolean;
}

export const PACKED_HINT =
  "In older conversations, the base config is the first element of the events file.";

export async function printPath({ args, options, context }: Call<FileFlags>): Promise<void> {
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
