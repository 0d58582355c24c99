/** `jp conversation use`, `fork`, `rm`, `archive` and `unarchive`. */
import {
  type ConversationId,
  keepTurns,
  timestampFromDate,
  TurnCounter,
} from "../../../record/conversation/index.ts";
import type { ConversationSummary } from "../../../stores/index.ts";
import { isJpError, loadModule, oneLine } from "../../../util/index.ts";
import { machineOf, openProviders, warnWithheld } from "../../../assemble/index.ts";
import { compactByFlag, type CompactFlag, rulesOf } from "../../compact.ts";
import { confirmDeletion } from "../../confirm.ts";
import type { CommandContext } from "../../context.ts";
import { resolveTarget, resolveTargets, turnRange } from "../../conversations.ts";
import type { Call } from "../../define.ts";
import { ExitStatus } from "../../exit-status.ts";
import type { Host } from "../../host.ts";
import { withLabels } from "../../labels.ts";
import { trustedConfig } from "../../trust.ts";
import type { FORK, REMOVE } from "./options.ts";

export async function useConversation({ args, context }: Call): Promise<void> {
  const { workspace, output } = context;
  const { id, metadata, isArchived } = await resolveTarget(context, args[0] ?? "previous");
  if (isArchived) {
    await workspace.conversations.unarchive(id);
    output.notice(`Restored ${id} from the archive.`);
  }
  await workspace.session.activate(id);
  await updateLastActivated(id, context);
  output.notice(`Active in this terminal: ${id}  ${oneLine(metadata?.title ?? "(no title)")}`);
}

/** Skipped while another process writes to the conversation, which updates its activity anyway. */
async function updateLastActivated(
  id: ConversationId,
  { workspace, clock }: CommandContext,
): Promise<void> {
  try {
    await using writer = await workspace.conversations.open(id);
    const lastActivatedAt = timestampFromDate(clock.now());
    await writer.updateMetadata((metadata) => ({ ...metadata, lastActivatedAt }));
  } catch (error) {
    if (!isJpError(error) || error.code !== "conversation_locked") throw error;
  }
}

export async function forkConversation({
  args,
  options,
  context,
}: Call<typeof FORK>): Promise<void> {
  const { workspace, output } = context;
  const { id } = await resolveTarget(context, args[0]);
  const { title } = options;
  rulesOf(options, []); // Throws for an invalid rule before copying.
  const count = await countTurns(id, context);
  const range = turnRange(options, count);
  const isWhole = range.from === 0 && range.to === count - 1;
  const copy = await workspace.conversations.fork(id, {
    ...(title !== undefined && { title }),
    ...(!isWhole && { keep: keepTurns(range) }),
  });
  const { label = [], resetLabels = false } = options;
  if (label.length > 0 || resetLabels) {
    await using writer = await workspace.conversations.open(copy);
    await writer.updateMetadata(({ labels = {}, ...rest }) =>
      withLabels(resetLabels ? rest : { ...rest, labels }, label),
    );
  }
  if (options.activate === true) await workspace.session.activate(copy);
  output.print(copy);
  if (options.compact !== undefined) await compactCopy(copy, options, context);
}

async function compactCopy(
  id: ConversationId,
  flag: CompactFlag,
  context: CommandContext,
): Promise<void> {
  await using conversation = await context.workspace.conversations.open(id);
  const trusted = await trustedConfig(context, { id, conversation }, {});
  warnWithheld(trusted, context);
  const { config } = trusted;
  const providers = openProviders(machineOf(context), config);
  const undo = `jp conversation compact ${id} --reset`;
  await compactByFlag(conversation, flag, { config, providers, context, undo });
}

async function countTurns(id: ConversationId, { workspace }: CommandContext): Promise<number> {
  const counter = new TurnCounter();
  let turns = 0;
  for await (const { entries } of workspace.conversations.scan(id)) {
    for (const { eventType } of entries) {
      if (eventType !== undefined) turns = counter.next(eventType) + 1;
    }
  }
  return turns;
}

export async function removeConversations({
  args,
  options,
  context,
}: Call<typeof REMOVE>): Promise<void> {
  const targets = await resolveTargets(context, args);
  for (const target of targets) {
    if (options.yes !== true && !(await confirmRemoval(target, context.host))) {
      context.output.notice(`Kept ${target.id}.`);
      throw new ExitStatus(1);
    }
    await context.workspace.conversations.remove(target.id);
    const { removeDrafts } = await loadModule(() => import("../session/drafts.ts"));
    removeDrafts(context, target.id);
    context.output.notice(`Deleted ${target.id}.`);
  }
}

function confirmRemoval({ id, metadata }: ConversationSummary, host: Host): Promise<boolean> {
  const title = oneLine(metadata?.title ?? "no title");
  return confirmDeletion(`Delete ${id} (${title}) permanently?`, host);
}

export async function archiveConversations({ args, context }: Call): Promise<void> {
  for (const { id, isArchived } of await resolveTargets(context, args)) {
    if (!isArchived) await context.workspace.conversations.archive(id);
    context.output.notice(isArchived ? `${id} is already archived.` : `Archived ${id}.`);
  }
}

export async function unarchiveConversations({ args, context }: Call): Promise<void> {
  for (const { id, isArchived } of await resolveTargets(context, args)) {
    if (isArchived) await context.workspace.conversations.unarchive(id);
    context.output.notice(isArchived ? `Restored ${id}.` : `${id} is not archived.`);
  }
}
