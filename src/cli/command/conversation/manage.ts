/** `jp conversation use`: the active conversation of this terminal. */
import { createInterface } from "node:readline/promises";
import {
  type ConversationId,
  type StreamEntry,
  timestampFromDate,
  TurnCounter,
} from "../../../conversation/index.ts";
import { oneLine } from "../../../render/index.ts";
import type { ConversationSummary } from "../../../storage/index.ts";
import { isCodedError } from "../../../util/index.ts";
import type { CommandContext } from "../../context.ts";
import {
  resolveTarget,
  resolveTargets,
  type TurnFlags,
  type TurnRange,
  turnRange,
} from "../../conversations.ts";
import type { Call } from "../../define.ts";
import { ExitStatus, INTERRUPTED, usageError } from "../../exit-status.ts";
import type { Host } from "../../host.ts";

export async function useConversation({ words, context }: Call<object>): Promise<void> {
  const { workspace, output } = context;
  const target = await resolveTarget(context, words[0] ?? "previous");
  if (target.isArchived) {
    await workspace.conversations.unarchive(target.id);
    output.notice(`${target.id} was archived; it is back now.`);
  }
  await workspace.session.activate(target.id);
  await touch(target.id, context);
  output.notice(
    `${target.id} is active in this terminal: ${oneLine(target.metadata?.title ?? "(no title)")}`,
  );
}

/** Notes the time, unless somebody is writing to it at the moment: then it is in use anyway. */
async function touch(
  id: Parameters<CommandContext["workspace"]["conversations"]["open"]>[0],
  { workspace, clock }: CommandContext,
): Promise<void> {
  try {
    await using writer = await workspace.conversations.open(id);
    const lastActivatedAt = timestampFromDate(clock.now());
    await writer.updateMetadata((metadata) => ({ ...metadata, lastActivatedAt }));
  } catch (error) {
    if (!isCodedError(error) || error.code !== "conversation_locked") throw error;
  }
}

export interface ForkFlags extends TurnFlags {
  readonly title?: string;
  readonly activate?: boolean;
}

export async function forkConversation({
  words,
  options,
  context,
}: Call<ForkFlags>): Promise<void> {
  const { workspace, output } = context;
  const { id } = await resolveTarget(context, words[0]);
  const { title } = options;
  const count = await countTurns(id, context);
  const range = turnRange(options, count);
  const isWhole = range.from === 0 && range.to === count - 1;
  const copy = await workspace.conversations.fork(id, {
    ...(title !== undefined && { title }),
    ...(!isWhole && { keep: keepTurns(range) }),
  });
  if (options.activate === true) await workspace.session.activate(copy);
  output.print(copy);
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

/** Config stays as it is; compactions name turns by number, and the numbers are others now. */
function keepTurns({ from, to }: TurnRange): (entry: StreamEntry) => boolean {
  const counter = new TurnCounter();
  return (entry) => {
    const { eventType } = entry;
    if (eventType === undefined) return entry.content.kind !== "compaction";
    const turn = counter.next(eventType);
    return from <= turn && turn <= to;
  };
}

export interface RemoveFlags {
  readonly yes?: boolean;
}

export async function removeConversations({
  words,
  options,
  context,
}: Call<RemoveFlags>): Promise<void> {
  const targets = await resolveTargets(context, words);
  for (const target of targets) {
    if (options.yes !== true && !(await confirm(target, context.host))) {
      context.output.notice(`${target.id} was kept.`);
      throw new ExitStatus(1);
    }
    await context.workspace.conversations.remove(target.id);
    context.output.notice(`${target.id} is deleted.`);
  }
}

/** Only what a person types counts: nothing is deleted because nobody was there to object. */
async function confirm({ id, metadata }: ConversationSummary, host: Host): Promise<boolean> {
  if (host.stdin.isTTY !== true) {
    throw usageError("There is no terminal to ask on.", "Say --yes to delete without being asked.");
  }
  const terminal = createInterface({ input: host.stdin, output: host.stderr });
  try {
    const title = oneLine(metadata?.title ?? "no title");
    const answer = await terminal.question(`Delete ${id} (${title}) for good? [y/N] `);
    return /^y(es)?$/i.test(answer.trim());
  } catch (error) {
    if (!(error instanceof Error) || error.name !== "AbortError") throw error;
    host.stderr.write("\n");
    if (error.message.includes("Ctrl+C")) throw new ExitStatus(INTERRUPTED);
    return false;
  } finally {
    terminal.close();
  }
}

export async function archiveConversations({ words, context }: Call<object>): Promise<void> {
  for (const { id, isArchived } of await resolveTargets(context, words)) {
    if (!isArchived) await context.workspace.conversations.archive(id);
    context.output.notice(isArchived ? `${id} is archived already.` : `${id} is archived.`);
  }
}

export async function unarchiveConversations({ words, context }: Call<object>): Promise<void> {
  for (const { id, isArchived } of await resolveTargets(context, words)) {
    if (isArchived) await context.workspace.conversations.unarchive(id);
    context.output.notice(isArchived ? `${id} is back.` : `${id} is not archived.`);
  }
}
