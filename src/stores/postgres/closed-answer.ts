/**
 * Answers a question of a conversation that no one has open, in one transaction and without a lease: others that want
 * one wait for it.
 */
import {
  type ConversationId,
  lastTurnEntries,
  type OfferedAnswer,
  type OwnRun,
  StreamEntry,
} from "../../record/conversation/index.ts";
import { planAnswer } from "../answering.ts";
import type { AnswerResult } from "../port.ts";
import { archivedError, conversationNotFoundError } from "../storage-error.ts";
import type { Queries } from "./database.ts";
import type { StoreParts } from "./postgres-writer.ts";
import { appendRows, growthOf, toStored } from "./row-changes.ts";
import { WakeUpError } from "./wake-ups.ts";
import { COLUMNS, type ConversationRow, readEntries } from "./workspace-rows.ts";

interface GivenAnswer {
  readonly workspace: string | undefined;
  readonly id: ConversationId;
  readonly offered: OfferedAnswer;
  /** It may be on record already. */
  readonly isRepeated: boolean;
  /** Sends no wake-up: the queue rejects them. */
  readonly isSilent?: boolean;
}

/** Undefined if someone has it open. Throws `conversation_not_found`, `conversation_archived`. */
export async function answerClosed(
  parts: StoreParts,
  id: ConversationId,
  offered: OfferedAnswer,
): Promise<AnswerResult | undefined> {
  const { rows, chains, wakeUps } = parts;
  const given = { workspace: await rows.findKeyFor(id), id, offered };
  await wakeUps.prepare();
  const answered = await rows.database
    .transaction((queries, isRepeated) => answerRow(queries, parts, { ...given, isRepeated }))
    .catch((error: unknown) => {
      if (!(error instanceof WakeUpError)) throw error;
      const silent = { ...given, isRepeated: true, isSilent: true };
      return rows.database.transaction((queries) => answerRow(queries, parts, silent));
    });
  // Only after the commit: a head that no chain has would look like a truncated chain.
  if (answered?.end !== undefined) await chains.noteHead({ id, ...answered.end });
  return answered?.result;
}

async function answerRow(
  queries: Queries,
  { rows, chains, wakeUps }: StoreParts,
  { workspace, id, offered, isRepeated, isSilent = false }: GivenAnswer,
): Promise<{ readonly result: AnswerResult; readonly end?: OwnRun } | undefined> {
  const [row] = await queries.query<ConversationRow>({
    name: "jp_answer",
    text: `select ${COLUMNS} from jp.conversations c where c.workspace = $1 and c.id = $2 for update`,
    values: [workspace ?? null, id],
  });
  if (row === undefined) throw conversationNotFoundError(id);
  if (row.is_archived) throw archivedError(id);
  if (row.is_live) return undefined;
  const { key, epoch, length, open_turn: start } = row;
  const from = start ?? 0;
  const { entries, turn, isOwnTurn } = rows.recordOf(
    row,
    await readEntries(queries, row, { from }),
    from,
  );
  const { event, result } = planAnswer(entries, offered, isRepeated);
  if (event === undefined) return { result };
  const added = toStored(StreamEntry.fromEvent(event));
  const chain = await chains.open(queries, { key, id }, lastTurnEntries(entries));
  const growth = {
    ...growthOf(turn.with([added]), [added], { isOwnTurn, signer: rows.signer }),
    links: chain.add([added.entry]),
  };
  await appendRows(queries, { key, tenant: rows.tenant, epoch, length, fences: true }, growth);
  const { readyAt: at } = growth;
  const isWoken = at !== undefined && workspace !== undefined && isOwnTurn && !isSilent;
  if (isWoken) await wakeUps.add(queries, { workspace, queue: row.queue, id, at });
  return { result, end: chain.end };
}
