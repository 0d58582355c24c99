/** Reads pages of the list of pending decisions, and adds what earlier versions of jp have left out of it. */
import {
  type DecisionKind,
  eventsOf,
  findConversationId,
  findPlaces,
  readTurnProgress,
  type Timestamp,
} from "../../record/conversation/index.ts";
import type { ListedPlace, PendingPage, PendingPageQuery, PendingTurn } from "../port.ts";
import type { Database } from "./database.ts";
import {
  type ConversationRow,
  idOf,
  VERSION_COLUMNS,
  type VersionRow,
  versionOf,
  WorkspaceRows,
} from "./workspace-rows.ts";

type PageRow = VersionRow & {
  readonly asked_at: string | null;
  readonly place: number;
  readonly kind: string;
};

/** See `ConversationStore.listPendingPage`. One statement: a turn that changes meanwhile is in one part or in the other. */
export async function readPendingPage(
  rows: WorkspaceRows,
  query: PendingPageQuery,
): Promise<PendingPage> {
  const { limit, after, id, kind, hasReady = false } = query;
  const workspace = await rows.findKey();
  if (workspace === undefined) return { places: [], unlisted: [] };
  const values: unknown[] = [rows.tenant, workspace, limit];
  const add = (value: unknown) => `$${values.push(value)}`;
  const isAfter = (at: NonNullable<typeof after>) =>
    at.id === undefined
      ? `p.asked_at > ${add(at.askedAt)}`
      : `(p.asked_at, p.id, p.place) > (${add(at.askedAt)}, ${add(at.id)}, ${add(at.order ?? 0)}::int)`;
  const isOfThis = id === undefined ? "true" : `c.id = ${add(id)}`;
  const found = await rows.database.query<PageRow>({
    text: `(
        select ${VERSION_COLUMNS}, p.asked_at, p.place, p.kind
        from jp.pending p join jp.conversations c on c.tenant = p.tenant and c.key = p.conversation
        where p.tenant = $1 and p.workspace = $2 and c.pending_length is not null
          and c.open_turn is not null and not c.is_archived and ${isOfThis}
          and ${after === undefined ? "true" : isAfter(after)}
          and ${kind === undefined ? "true" : `p.kind = ${add(kind)}`}
        order by p.asked_at, p.id, p.place limit $3
      ) union all (
        select ${VERSION_COLUMNS}, null, 0, ''
        from jp.conversations c
        where c.tenant = $1 and c.workspace = $2 and not c.is_archived and c.open_turn is not null
          and c.pending_length is null and ${isOfThis}
      )${
        hasReady
          ? ` union all (
        select ${VERSION_COLUMNS}, null, 0, ''
        from jp.conversations c
        where c.tenant = $1 and c.workspace = $2 and not c.is_archived and c.open_turn is not null
          and c.pending_length is not null and c.ready_at is not null and ${isOfThis}
          and not exists (select from jp.pending p where p.tenant = $1 and p.conversation = c.key)
      )`
          : ""
      }`,
    values,
  });
  const known = found.filter((row) => findConversationId(row.id) !== undefined);
  return {
    places: known.flatMap((row) => (row.asked_at === null ? [] : [toPlace(row, row.asked_at)])),
    unlisted: known.flatMap((row) => (row.asked_at === null ? [versionOf(row)] : [])),
  };
}

function toPlace(row: PageRow, askedAt: string): ListedPlace {
  return {
    id: idOf(row),
    order: row.place,
    askedAt: askedAt as Timestamp, // Written by a store, as is the kind.
    kind: row.kind as DecisionKind,
  };
}

/** Turns that are read at once. */
const BATCH = 500;

/**
 * Lists what is pending in turns that an earlier version of jp has written, in all workspaces. Safe to repeat, and while
 * others write. Only the owner of the tables sees all tenants.
 */
export async function listUnlisted(database: Database, url: string): Promise<void> {
  const workspaces = await database.query<{ readonly tenant: string; readonly name: string }>({
    text: "select tenant, name from jp.workspaces order by tenant, key",
  });
  for (const { tenant, name } of workspaces) {
    const rows = new WorkspaceRows(database, { url, tenant, workspace: name, pid: 0 });
    let last = "0";
    for (;;) {
      const batch = await rows.select(
        `c.open_turn is not null and c.pending_length is null and c.key > $3
          order by c.key limit $4`,
        [last, BATCH],
      );
      const end = batch.at(-1);
      if (end === undefined) break;
      await listTurns(rows, batch);
      last = end.key;
    }
    await database.query({
      text: `delete from jp.pending p using jp.conversations c
        where p.tenant = $1 and p.workspace = $2 and c.tenant = p.tenant and c.key = p.conversation
          and c.open_turn is null`,
      values: [tenant, await rows.findKey()],
    });
  }
}

/** Leaves out conversations that someone has changed since the row was read. */
async function listTurns(rows: WorkspaceRows, batch: readonly ConversationRow[]): Promise<void> {
  const turns = await rows.pendingTurns(batch, false);
  const known = batch.flatMap(({ key, changed }, index) => {
    const places = findPlacesIn(turns[index]);
    return places === undefined ? [] : [{ key, changed, places }];
  });
  const listed = known.flatMap(({ key, places }) => places.map((place) => ({ key, ...place })));
  await rows.database.query({
    text: `with held as (
        update jp.conversations c set pending_length = c.length
        from unnest($2::bigint[], $3::text[]) as known (key, changed)
        where c.tenant = $1 and c.key = known.key and c.changed = known.changed::xid8
        returning c.tenant, c.workspace, c.key, c.id
      ), added as (
        select * from unnest($4::bigint[], $5::int[], $6::text[], $7::text[]) as added (key, place, asked_at, kind)
      ), dropped as (
        delete from jp.pending p using held
        where p.tenant = held.tenant and p.conversation = held.key
          and not exists (select from added where added.key = held.key and added.place = p.place)
      )
      insert into jp.pending (tenant, workspace, conversation, id, place, asked_at, kind)
      select held.tenant, held.workspace, held.key, held.id, added.place, added.asked_at, added.kind
      from held join added on added.key = held.key
      on conflict (tenant, conversation, place) do update set asked_at = excluded.asked_at, kind = excluded.kind`,
    values: [
      rows.tenant,
      known.map(({ key }) => key),
      known.map(({ changed }) => changed),
      listed.map(({ key }) => key),
      listed.map(({ order }) => order),
      listed.map(({ askedAt }) => askedAt),
      listed.map(({ kind }) => kind),
    ],
  });
}

/** Undefined if only the record says what is pending, or not even that can be read. */
function findPlacesIn(turn: PendingTurn | undefined) {
  if (turn === undefined || turn.problem !== undefined) return undefined;
  return findPlaces(readTurnProgress(eventsOf(turn.entries)), turn.entries);
}
