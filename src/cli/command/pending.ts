/** `jp inquiry ls --pending`: what waits for a person, in this workspace or in all. */
import { realpathSync } from "node:fs";
import {
  type ConversationId,
  identify,
  isForSome,
  mayDecide,
  type Timestamp,
  timestampToMilliseconds,
} from "../../conversation/index.ts";
import {
  describePending,
  describeSubject,
  describeVotes,
  jsonLine,
  oneLine,
  type PendingRow,
  pendingToJson,
  relativeTime,
  shellWord,
  wrapCode,
} from "../../render/index.ts";
import { listPending } from "../../runtime/index.ts";
import { knownWorkspaces, openWorkspace, type Workspace } from "../../storage/index.ts";
import { isJpError, messageOf } from "../../util/index.ts";
import { type CommandContext, warn } from "../context.ts";
import { resolveTargets } from "../conversations.ts";
import type { Call } from "../define.ts";
import { directoryOf } from "../directory.ts";
import { ExitStatus } from "../exit-status.ts";
import { trustedConfig } from "../trust.ts";

export interface ListPendingFlags {
  readonly all?: boolean;
  readonly conversation?: readonly string[];
  /** Only what the person at this terminal may decide. */
  readonly mine?: boolean;
  readonly format?: "text" | "json";
}

export async function printPending({ options, context }: Call<ListPendingFlags>): Promise<void> {
  const { output } = context;
  const { all: isEverywhere = false } = options;
  const targets = options.conversation && (await resolveTargets(context, options.conversation));
  const isWanted = (id: ConversationId) => targets?.some((target) => target.id === id) ?? true;
  let isWhole = true;
  const onProblem = (problem: string, conversation?: ConversationId) => {
    if (conversation !== undefined && !isWanted(conversation)) return;
    isWhole = false;
    warn(problem, output);
  };
  const rows = isEverywhere
    ? await listEverywhere(context, onProblem)
    : await listIn(context.workspace, onProblem);
  const isMine = await createIsMine(rows, context);
  const shown = rows.filter(
    (row) => isWanted(row.conversation) && (options.mine !== true || isMine(row)),
  );
  if (options.format === "json") {
    for (const row of shown) {
      output.print(
        jsonLine({ ...pendingToJson(row), ...(isForSome(row) && { mine: isMine(row) }) }),
      );
    }
  } else {
    for (const row of shown) {
      for (const line of pendingLines(row, context, isMine(row))) output.print(line);
      if (isEverywhere) output.print(`    in ${oneLine(row.workspace)}`);
    }
    if (shown.length === 0 && isWhole) output.notice("Nothing is waiting.");
  }
  if (!isWhole) throw new ExitStatus(1);
}

/** Whether the person at this terminal may decide. Nothing is read if all of it is for anyone. */
async function createIsMine(
  rows: readonly PendingRow[],
  context: CommandContext,
): Promise<(row: PendingRow) => boolean> {
  if (!rows.some(isForSome)) return () => true;
  const { config } = await trustedConfig(context, {});
  const directory = directoryOf(context);
  const claimant = { channel: "cli", name: config.user?.name, auth: "os_user" } as const;
  return (row) => mayDecide(row, identify(row, claimant, directory));
}

type OnProblem = (problem: string, conversation?: ConversationId) => void;

async function listIn(
  { root, conversations }: Workspace,
  onProblem: OnProblem,
): Promise<readonly PendingRow[]> {
  const pending = await listPending(conversations, { onProblem });
  return pending.map((item) => ({ ...item, workspace: root }));
}

/** In all workspaces that this user has worked in, oldest first. One that cannot be read is left out, and told. */
export async function listEverywhere(
  context: CommandContext,
  onProblem: OnProblem,
): Promise<readonly PendingRow[]> {
  const rows: PendingRow[] = [];
  for (const workspace of openEverywhere(context, onProblem)) {
    try {
      rows.push(...(await listIn(workspace, onProblem)));
    } catch (error) {
      onProblem(`${workspace.root}: ${messageOf(error)}`);
    }
  }
  return rows.toSorted((left, right) => (left.askedAt < right.askedAt ? -1 : 1));
}

/** Undefined unless it waits in another workspace; otherwise how to reach it there. Takes the beginning of an ID too. */
export async function findElsewhere(
  wanted: string,
  command: "answer" | "show",
  context: CommandContext,
): Promise<string | undefined> {
  const rows = wanted === "" ? [] : await listEverywhere(context, () => undefined);
  const found = rows.filter(({ conversation, id }) =>
    [id, `${conversation}/${id}`].some((name) => name.startsWith(wanted)),
  );
  const [first] = found;
  if (first === undefined) return undefined;
  const { workspace } = first;
  if (found.some((row) => row.workspace !== workspace))
    return "It matches several in other workspaces. To list them: jp inquiry ls --pending --all";
  const there = `jp --workspace ${shellWord(workspace)} inquiry ${command} ${shellWord(wanted)}`;
  return `It is waiting in another workspace. To ${command} it: ${there}`;
}

/**
 * This workspace, if there is one, and all others that this user has worked in. Of two paths to one, only the first has
 * its local conversations.
 */
export function openEverywhere(
  context: CommandContext,
  onProblem: (problem: string) => void,
): readonly Workspace[] {
  // Those in files are no part of it.
  if (context.database !== undefined) return [context.workspace];
  const { cwd, environment, clock } = context;
  const { pid } = context.host;
  const found = new Map<string, Workspace>();
  const roots = new Set<string>();
  for (const from of [cwd, ...knownWorkspaces(environment)]) {
    try {
      const options = { from, environment, clock, pid, allowsPlainFolder: true };
      const workspace = openWorkspace(options);
      const isUnused = workspace.isPlainFolder && workspace.findUserFolder() === undefined;
      if (isUnused || found.has(workspace.root)) continue;
      // Several paths may lead to the same folder.
      const root = realpathSync(workspace.root);
      const isShared = roots.has(root);
      roots.add(root);
      found.set(
        workspace.root,
        isShared ? openWorkspace({ ...options, hasLocal: false }) : workspace,
      );
    } catch (error) {
      const isOutside = isJpError(error) && error.code === "no_workspace";
      if (!isOutside) onProblem(`${from}: ${messageOf(error)}`);
    }
  }
  return [...found.values()];
}

function pendingLines(
  row: PendingRow,
  { output, clock }: CommandContext,
  isMine: boolean,
): readonly string[] {
  const { paint, lineWidth } = output;
  const { askedAt, deadline } = row;
  const now = clock.now().getTime();
  const ago = relativeTime(timestampToMilliseconds(askedAt), now);
  const due = deadline === undefined ? "" : `, ${describeDeadline(deadline, now)}`;
  const id = `${row.conversation}/${oneLine(row.id)}`;
  return [
    describePending(row),
    ...describeSubject(row).flatMap((line) => wrapCode(`    ${line}`, lineWidth)),
    ...(row.votes === undefined ? [] : [`    So far: ${describeVotes(row.votes)}`]),
    `    ${paint("cyan", id)}${paint("dim", `, ${ago}${due}${isMine ? "" : ", not for you"}`)}`,
  ];
}

function describeDeadline(deadline: Timestamp, now: number): string {
  const end = timestampToMilliseconds(deadline);
  if (end <= now) return "overdue";
  const time = relativeTime(end, now);
  return time.startsWith("in ") ? `due ${time}` : "due in less than a minute";
}
