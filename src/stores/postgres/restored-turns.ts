/**
 * Turns of a tenant that are older than what this machine has seen. After a backup was restored, the user accepts them:
 * this machine signs each again, with a counter above all that it has seen. So the states that were let go do not count
 * here later either, and the machines that accept its key go on without being asked again.
 */
import type { ConversationId } from "../../record/conversation/index.ts";
import { systemClock } from "../../util/index.ts";
import { listSeen, noteSeen, type SeenState } from "../fs/seen-states.ts";
import type { SteppedBackTurn } from "../workspace-port.ts";
import type { Database, Queries } from "./database.ts";
import { notifySql } from "./listening.ts";
import type { PostgresStoreOptions } from "./store-options.ts";
import {
  COLUMNS,
  type ConversationRow,
  counterOf,
  idOf,
  type ReadRecord,
  WorkspaceRows,
} from "./workspace-rows.ts";

/** How many conversations are looked up at once. */
const PIECE = 1000;

/** `workspaces`: the names of those that the tenant has. Throws `read_failed` and what the database throws. */
export async function findSteppedBack(
  database: Database,
  options: PostgresStoreOptions,
  workspaces: readonly string[],
): Promise<readonly SteppedBackTurn[]> {
  let seen: Map<string, SeenState[]> | undefined;
  const found: SteppedBackTurn[] = [];
  for (const workspace of workspaces) {
    const rows = new WorkspaceRows(database, { ...options, workspace });
    await rows.findKey();
    if (rows.seenFolder === undefined) return [];
    seen ??= Map.groupBy(listSeen(rows.seenFolder), ({ store }) => store);
    const states = newestOf(seen.get(rows.name) ?? []);
    for (const row of await candidates(rows, states)) {
      const state = states.get(row.id);
      const record = await rows.readRecord(row);
      if (record.steppedBack === undefined || state === undefined) continue;
      found.push({ workspace, conversation: idOf(row), counter: counterOf(row), seen: state });
    }
  }
  return found;
}

function newestOf(states: readonly SeenState[]): ReadonlyMap<string, SeenState> {
  // The newest of a conversation comes last.
  return new Map(states.map((state) => [state.conversation, state]));
}

/** Rows that may be older: those with a smaller counter, and open turns with the same one, which may be other ones. */
async function candidates(
  rows: WorkspaceRows,
  states: ReadonlyMap<string, SeenState>,
): Promise<readonly ConversationRow[]> {
  const ids = [...states.keys()];
  const found: ConversationRow[] = [];
  for (let from = 0; from < ids.length; from += PIECE) {
    const some = await rows.select("c.id = any($3) and c.is_own_turn order by c.id", [
      ids.slice(from, from + PIECE),
    ]);
    for (const row of some) {
      const ahead = (states.get(row.id)?.counter ?? 0) - counterOf(row);
      if (ahead > 0 || (ahead === 0 && row.open_turn !== null)) found.push(row);
    }
  }
  return found;
}

/** Returns false if someone has it open, or it is no longer older. Throws like `findSteppedBack`, and system errors. */
export async function acceptSteppedBack(
  database: Database,
  options: PostgresStoreOptions,
  { workspace, conversation, by }: AcceptedTurn,
): Promise<boolean> {
  const rows = new WorkspaceRows(database, { ...options, workspace });
  const key = await rows.findKey();
  return database.transaction(async (queries) => {
    const [row] = await queries.query<ConversationRow>({
      text: `select ${COLUMNS} from jp.conversations c
        where c.tenant = $1 and c.workspace = $2 and c.id = $3 for update`,
      values: [rows.tenant, key ?? null, conversation],
    });
    if (row === undefined || row.is_live) return false;
    const record = rows.recordOf(row, await rows.readEntries(row, { queries }));
    return signAgain(queries, rows, { row, record, by });
  });
}

interface AcceptedTurn {
  readonly workspace: string;
  readonly conversation: ConversationId;
  /** The OS user. */
  readonly by: string;
}

async function signAgain(
  queries: Queries,
  rows: WorkspaceRows,
  { row, record, by }: { row: ConversationRow; record: ReadRecord; by: string },
): Promise<boolean> {
  const { signer, seenFolder, name: store, tenant } = rows;
  const seen = rows.findSeen(row.id);
  const { digest, length } = record.turn;
  const isBehind = record.steppedBack !== undefined && seen !== undefined && digest !== undefined;
  if (!isBehind || signer === undefined || seenFolder === undefined) return false;
  const counter = record.counter + 1;
  const restored = { counter: seen.counter, length: seen.length, digest: seen.digest, by };
  const at = systemClock.now().toISOString();
  // Before anything is written to the database, so that nothing is let go without a trace.
  noteSeen(seenFolder, { store, conversation: row.id, counter, length, digest, at, restored });
  const signature = signer.sign(digest, counter);
  const written = await queries.query({
    text: `with held as (
        update jp.conversations set turn_key = $3, turn_signature = $4, turn_counter = $5,
          epoch = epoch + 1, lease_owner = null, changed = pg_current_xact_id()
        where tenant = $1 and key = $2 returning workspace, id
      ) select ${notifySql("changed", "workspace", "id")} from held`,
    values: [tenant, row.key, signature.key, signature.signature, signature.counter],
  });
  return written.length > 0;
}
