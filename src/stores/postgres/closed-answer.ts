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
import type { SignedState } from "../signed-state.ts";
import type { AnswerResult } from "../port.ts";
import { archivedError, conversationNotFoundError } from "../storage-error.ts";
import type { Queries } from "./database.ts";
import type { StoreParts } from "./postgres-writer.ts";
import { appendRows, growthOf, toStored } from "./row-changes.ts";
import { wakeUpPayload } from "./wake-ups.ts";
import { COLUMNS, type ConversationRow, type EndRow, isListed, joinEnd } from "./workspace-rows.ts";

interface GivenAnswer {
  readonly workspace: string | undefined;
  readonly id: ConversationId;
  readonly offered: OfferedAnswer;
  /** Whose connections were lost: one of them may have been committed. */
  readonly tries: TriedAnswer[];
}

interface ClosedAnswer {
  readonly result: AnswerResult;
  readonly end?: OwnRun | undefined;
  readonly signed?: SignedState | undefined;
}

/** What a transaction has written. */
interface TriedAnswer extends ClosedAnswer {
  readonly transaction: string;
  readonly key: string;
  readonly seq: number;
  readonly text: string;
}

/** A locked row, with the end of its record. */
interface AnsweredRow extends ConversationRow, EndRow {
  /** The transaction that locks it. */
  readonly transaction: string;
  /** False if the statement has waited for another to change the row, and has not seen the entries of that one. */
  readonly is_seen: boolean;
}

/** Undefined if someone has it open. Throws `conversation_not_found`, `conversation_archived`. */
export async function answerClosed(
  parts: StoreParts,
  id: ConversationId,
  offered: OfferedAnswer,
): Promise<AnswerResult | undefined> {
  const { rows, chains } = parts;
  const given = { workspace: await rows.findKeyFor(id), id, offered, tries: [] };
  const answered = await rows.database.transaction((queries) => answerRow(queries, parts, given));
  if (answered === undefined) return undefined;
  const { result, end, signed } = answered;
  // Only after the commit: a head that no chain has would look like a truncated chain, and a state like a step back.
  rows.noteSeen(id, signed);
  if (end !== undefined) await chains.noteHead({ id, ...end, turn: signed });
  return result;
}

async function answerRow(
  queries: Queries,
  { rows, chains }: StoreParts,
  { workspace, id, offered, tries }: GivenAnswer,
): Promise<ClosedAnswer | undefined> {
  const [row] = await queries.query<AnsweredRow>({
    name: "jp_answer",
    text: `select ${COLUMNS}, last.start, last.entries, pg_current_xact_id()::xid::text as transaction,
        c.changed = (select o.changed from jp.conversations o where o.tenant = $1 and o.key = c.key) as is_seen
      from jp.conversations c ${joinEnd("$1")}
      where c.tenant = $1 and c.workspace = $2 and c.id = $3 for update of c`,
    values: [rows.tenant, workspace ?? null, id],
  });
  const written = await findWritten(queries, rows.tenant, tries);
  if (written !== undefined) return written;
  if (row === undefined) throw conversationNotFoundError(id);
  if (row.is_archived) throw archivedError(id);
  if (row.is_live) return undefined;
  const { key, epoch, length, transaction } = row;
  const record = row.is_seen ? rows.toEnd(row, row, queries) : rows.readEnd(row, queries);
  const { entries, turn, isOwnTurn, counter } = await record;
  const { event, result } = planAnswer(entries, offered, false);
  if (event === undefined) return { result };
  const added = toStored(StreamEntry.fromEvent(event));
  const chain = await chains.open(queries, { key, id }, lastTurnEntries(entries));
  const growth = {
    ...growthOf(turn.with([added]), [added], {
      isOwnTurn,
      signer: rows.signer,
      counter,
      before: isListed(row) ? turn : undefined,
    }),
    links: chain.add([added.entry]),
  };
  const isWoken = growth.readyAt !== undefined && workspace !== undefined && isOwnTurn;
  const wakeUp = isWoken ? wakeUpPayload({ workspace, queue: row.queue, id }) : undefined;
  const { tenant } = rows;
  await appendRows(queries, { key, tenant, epoch, length, fences: true, wakeUp }, growth);
  const { signed } = growth;
  const { end } = chain;
  tries.push({ transaction, key, seq: length, text: added.text, result, end, signed });
  return { result, end, signed };
}

/** The entry shows which transaction wrote it: another process may have given the same answer. */
async function findWritten(
  queries: Queries,
  tenant: string,
  tries: readonly TriedAnswer[],
): Promise<ClosedAnswer | undefined> {
  for (const tried of tries) {
    const { key, seq, text, transaction } = tried;
    const rows = await queries.query({
      text: `select 1 from jp.events
        where tenant = $1 and conversation = $2 and seq = $3 and entry = $4 and xmin = $5::xid`,
      values: [tenant, key, seq, text, transaction],
    });
    if (rows.length > 0) return tried;
  }
  return undefined;
}
