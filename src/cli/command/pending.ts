/** `jp inquiry ls --pending`: lists pending decisions, in this workspace or in all. */
import { whyNotHere } from "../person-here.ts";
import { realpathSync } from "node:fs";
import {
  type ConversationId,
  isForSome,
  type Timestamp,
  timestampToMilliseconds,
} from "../../record/conversation/index.ts";
import {
  decisionToJson,
  describeChoices,
  describePending,
  describeSubject,
  describeVotes,
  relativeTime,
  wrapCode,
} from "../../surfaces/render/index.ts";
import {
  directoryOf,
  findWorkspace,
  listPending,
  type PendingDecision,
} from "../../assemble/index.ts";
import {
  type ConversationStore,
  knownWorkspaces,
  openWorkspace,
  type Tenant,
  type Workspace,
} from "../../stores/index.ts";
import { isJpError, jsonLine, messageOf, oneLine, shellWord } from "../../util/index.ts";
import { type CommandContext, warn } from "../context.ts";
import { resolveTargets } from "../conversations.ts";
import type { Call } from "../define.ts";
import { ExitStatus } from "../exit-status.ts";
import { trustedConfig } from "../trust.ts";
import type { LIST_INQUIRIES } from "./options.ts";

/** A pending decision and its workspace. */
interface PendingRow extends PendingDecision {
  readonly workspace: string;
}

export async function printPending({
  options,
  context,
}: Call<typeof LIST_INQUIRIES>): Promise<void> {
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
    for (const row of shown) output.print(jsonLine(decisionToJson(row, row)));
  } else {
    for (const row of shown) {
      for (const line of pendingLines(row, context, isMine(row))) output.print(line);
      if (isEverywhere) output.print(`    in ${oneLine(row.workspace)}`);
    }
    if (shown.length === 0 && isWhole) output.notice("Nothing is waiting.");
  }
  if (!isWhole) throw new ExitStatus(1);
}

/** Whether the person at this terminal may decide. Reads no people if anyone may decide everything. */
async function createIsMine(
  rows: readonly PendingRow[],
  context: CommandContext,
): Promise<(row: PendingRow) => boolean> {
  if (!rows.some(isForSome)) return () => true;
  const { config } = await trustedConfig(context, {});
  const here = { userName: config.user?.name, directory: await directoryOf(context, config) };
  return (row) => whyNotHere(row, here) === undefined;
}

type OnProblem = (problem: string, conversation?: ConversationId) => void;

async function listIn(
  { root, conversations }: FoundWorkspace,
  onProblem: OnProblem,
): Promise<readonly PendingRow[]> {
  const pending = await listPending(conversations, { onProblem });
  return pending.map((item) => ({ ...item, workspace: root }));
}

/**
 * Pending decisions in all workspaces that this user has worked in, oldest first. Reports and skips unreadable
 * workspaces.
 */
export async function listEverywhere(
  context: CommandContext,
  onProblem: OnProblem,
): Promise<readonly PendingRow[]> {
  const rows: PendingRow[] = [];
  const everywhere = await openEverywhere(context, onProblem);
  for (const workspace of everywhere.workspaces) {
    try {
      rows.push(...(await listIn(workspace, onProblem)));
    } catch (error) {
      onProblem(`${workspace.root}: ${messageOf(error)}`);
    }
  }
  return rows.toSorted((left, right) => (left.askedAt < right.askedAt ? -1 : 1));
}

/**
 * How to reach a decision that is pending in another workspace; undefined otherwise. Also takes the start of an ID.
 */
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
  const where =
    context.database === undefined
      ? `jp --workspace ${shellWord(workspace)}`
      : `JP_CFG_STORAGE_WORKSPACE=${shellWord(workspace)} jp`;
  const there = `${where} inquiry ${command} ${shellWord(wanted)}`;
  return `It is waiting in another workspace. To ${command} it: ${there}`;
}

/** A workspace's conversations. With a database, the workspace need not be on this machine. */
export interface FoundWorkspace {
  /** Its path, or its name in the database. */
  readonly root: string;
  readonly conversations: ConversationStore;
}

/** Workspaces that stay open while the command runs. */
export interface Everywhere {
  readonly workspaces: readonly FoundWorkspace[];
  /** The workspaces created since the last look. */
  readonly findNew: () => Promise<readonly FoundWorkspace[]>;
}

/**
 * This workspace, if there is one, and all others that this user has worked in; with a database, all of the tenant's.
 * Throws what opening a database throws.
 */
export async function openEverywhere(
  context: CommandContext,
  onProblem: (problem: string) => void,
): Promise<Everywhere> {
  const tenant = await context.findTenant();
  if (tenant !== undefined) return openStored(context, tenant, onProblem);
  return {
    workspaces: openKnown(context, onProblem),
    findNew: async () => [],
  };
}

/** The current workspace goes by its path, as everywhere else. If the database refuses it, the others are listed. */
async function openStored(
  context: CommandContext,
  tenant: Tenant,
  onProblem: (problem: string) => void,
): Promise<Everywhere> {
  const checkout = await findUsable(context, onProblem);
  const seen = new Set<string>();
  const findNew = async () => {
    const names = (await tenant.list()).filter((name) => !seen.has(name));
    // Another process may have stored the first conversation of this workspace meanwhile.
    const own = names.length === 0 ? undefined : await findStoredName(context, checkout);
    for (const name of names) seen.add(name);
    return names
      .filter((name) => name !== own)
      .map((name) => ({ root: name, conversations: tenant.open(name) }));
  };
  return {
    workspaces: [...(checkout === undefined ? [] : [checkout]), ...(await findNew())],
    findNew,
  };
}

async function findUsable(
  context: CommandContext,
  onProblem: (problem: string) => void,
): Promise<Workspace | undefined> {
  const checkout = findCheckout(context);
  try {
    await findStoredName(context, checkout);
    return checkout;
  } catch (error) {
    if (!isJpError(error) || !REFUSALS.has(error.code)) throw error;
    onProblem(`${checkout?.root}: ${error.message}`);
    return undefined;
  }
}

const REFUSALS = new Set(["workspace_claimed", "other_workspace"]);

/** Its name in the database. Undefined until something is stored. Throws `workspace_claimed`, `other_workspace`. */
export async function findStoredName(
  { database }: Pick<CommandContext, "database">,
  workspace: Workspace | undefined,
): Promise<string | undefined> {
  if (database?.workspace !== undefined) return database.workspace;
  return (await workspace?.claims?.findStored())?.name;
}

/** The workspace that jp is in. Undefined in any other folder. */
export function findCheckout(context: CommandContext): Workspace | undefined {
  const workspace = findWorkspace(context);
  return workspace?.isPlainFolder === true ? undefined : workspace;
}

/** If two paths lead to one workspace, only the first has its local conversations. */
function openKnown(
  context: CommandContext,
  onProblem: (problem: string) => void,
): readonly Workspace[] {
  const { cwd, environment, clock } = context;
  const { pid } = context.host;
  const found = new Map<string, Workspace>();
  const roots = new Set<string>();
  for (const from of new Set([cwd, ...knownWorkspaces(environment)])) {
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
  const choices = row.kind === "question" ? describeChoices(row.question) : [];
  return [
    describePending(row),
    ...[...describeSubject(row), ...choices].flatMap((line) => wrapCode(`    ${line}`, lineWidth)),
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
