/**
 * The tables of a store in PostgreSQL, and how older ones become these. Each migration runs once, in order, in a transaction.
 * Never change one that was released: add another.
 */
import { StorageError } from "../storage-error.ts";
import type { Database, Queries } from "./database.ts";

const MIGRATIONS: readonly string[] = [
  `
  create table jp.workspaces (
    key bigint generated always as identity primary key,
    tenant text not null,
    name text not null,
    -- The last id of a conversation, in tenths of a second since the epoch.
    last_id bigint not null default 0,
    unique (tenant, name)
  );

  create table jp.conversations (
    key bigint generated always as identity primary key,
    workspace bigint not null references jp.workspaces (key) on delete cascade,
    id text not null collate "C",
    created_at text not null collate "C",
    -- JSON is text: it comes back as it was written.
    metadata text not null,
    labels jsonb not null default '{}',
    base_config text,
    is_archived boolean not null default false,
    -- The name of its folder, if it was copied from files.
    folder text,
    length integer not null default 0,
    last_event_at text,
    -- Where the last turn starts, if it is not complete.
    open_turn integer,
    -- Since when, or from when on, it can go on, in milliseconds since the epoch. Null while it waits for someone.
    ready_at bigint,
    -- The workers that continue it.
    queue text not null default 'default',
    -- How often in a row it could not go on.
    failures integer not null default 0,
    is_own_turn boolean not null default false,
    -- The last writer's, over all of the last turn: see TurnKeys.
    turn_key text,
    turn_signature text,
    -- Grows with each writer. A writer of an earlier epoch writes nothing.
    epoch bigint not null default 0,
    lease_owner text,
    lease_holder text,
    lease_until timestamptz,
    changed xid8 not null default pg_current_xact_id(),
    unique (workspace, id)
  ) with (fillfactor = 70);
  create index on jp.conversations (workspace, created_at, id);
  create index on jp.conversations (workspace, changed);
  create index on jp.conversations (workspace, key) where open_turn is not null;
  create index on jp.conversations (workspace, queue, ready_at) where ready_at is not null;

  create table jp.events (
    conversation bigint not null references jp.conversations (key) on delete cascade,
    seq integer not null,
    entry text not null,
    primary key (conversation, seq)
  );

  -- The chain of its decisions, line by line.
  create table jp.chain (
    conversation bigint not null references jp.conversations (key) on delete cascade,
    seq integer not null,
    line text not null,
    primary key (conversation, seq)
  );

  -- Files of a conversation that was copied from files, if they are more than the rows say.
  create table jp.files (
    conversation bigint not null references jp.conversations (key) on delete cascade,
    name text not null,
    content bytea not null,
    primary key (conversation, name)
  );

  create table jp.offers (
    key uuid primary key,
    conversation bigint not null references jp.conversations (key) on delete cascade,
    offered text not null,
    -- offered, claimed or refused. It is gone once the record shows what became of it.
    state text not null default 'offered',
    refusal text,
    made_at timestamptz not null default clock_timestamp()
  );
  create index on jp.offers (conversation);

  -- Whom decisions can be for, and who may use the desk.
  create table jp.people (
    key bigint generated always as identity primary key,
    tenant text not null,
    name text not null,
    -- JSON, as in the file of a machine: with a hash of the token, not the token.
    person text not null,
    unique (tenant, name)
  );

  -- Who is logged in on the page of a desk. None of them is the owner of a desk, and nothing in them is secret.
  create table jp.desk_sessions (
    tenant text not null,
    -- A hash.
    key text not null,
    -- The hash of the person's token.
    who text not null,
    -- In milliseconds since the epoch.
    started_at bigint not null,
    used_at bigint not null,
    primary key (tenant, key)
  );
  create index on jp.desk_sessions (tenant, who);
  `,
];

/** The version of the tables that this version of jp reads and writes. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/** One at a time, whoever tries. */
const MIGRATION_LOCK = 0x6a70;

interface VersionRow {
  readonly version: number;
}

/** Undefined if there are no tables yet. Throws `store_unreachable`. */
export async function findVersion(queries: Queries): Promise<number | undefined> {
  const [table] = await queries.query<{ readonly found: string | null }>({
    text: "select to_regclass('jp.schema_version') as found",
  });
  if (table?.found == null) return undefined;
  const [row] = await queries.query<VersionRow>({ text: "select version from jp.schema_version" });
  return row?.version;
}

/** Creates the tables, or changes them to this version. Returns the version before. Throws `store_too_new`. */
export async function migrate(database: Database): Promise<number> {
  return database.transaction(async (queries) => {
    await queries.query({ text: `select pg_advisory_xact_lock(${MIGRATION_LOCK})` });
    const before = (await findVersion(queries)) ?? 0;
    if (before > SCHEMA_VERSION) throw tooNewError(before);
    if (before === 0) {
      await queries.query({ text: "create schema if not exists jp" });
      await queries.query({ text: "create table jp.schema_version (version integer not null)" });
      await queries.query({ text: "insert into jp.schema_version values (0)" });
    }
    for (const text of MIGRATIONS.slice(before)) await queries.query({ text });
    // A backup may come from a server that had counted further: its changes would always seem new.
    await queries.query({
      text: "update jp.conversations set changed = default where changed > pg_current_xact_id()",
    });
    await queries.query({
      text: "update jp.schema_version set version = $1",
      values: [SCHEMA_VERSION],
    });
    return before;
  });
}

/** Throws `store_not_migrated`, `store_too_new`. */
export async function assertVersion(queries: Queries): Promise<void> {
  const version = await findVersion(queries);
  if (version === SCHEMA_VERSION) return;
  if (version !== undefined && version > SCHEMA_VERSION) throw tooNewError(version);
  throw new StorageError(
    "store_not_migrated",
    version === undefined
      ? "The database has no store yet."
      : `The store has version ${version} of its tables, and this version of jp needs ${SCHEMA_VERSION}.`,
    {
      hint: "Call migrateStore first.",
      commandHint: "Run `jp store migrate`.",
    },
  );
}

function tooNewError(version: number): StorageError {
  return new StorageError(
    "store_too_new",
    `The store has version ${version} of its tables, and this version of jp knows ${SCHEMA_VERSION}.`,
    { hint: "Use the version of jp that has migrated it, or a newer one." },
  );
}
