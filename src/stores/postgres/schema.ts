/**
 * The tables of a store in PostgreSQL, and their migrations. Each migration runs once, in order, in a transaction.
 * Never change a released one: add another.
 */
import { monotonicMs, systemErrorCode } from "../../util/index.ts";
import { StorageError } from "../storage-error.ts";
import type { Database, Queries } from "./database.ts";
import { LIMIT_FUNCTIONS } from "./limits.ts";
import { IS_OTHER, IS_START } from "./marks.ts";
import { PENDING_TABLE } from "./pending-rows.ts";

/** Each has a column `tenant`. */
const TENANT_TABLES =
  "workspaces conversations events chain files offers limits turn_starts people desk_sessions".split(
    " ",
  );

/** Those of version 1 that later versions change. Conversations come first, as in jp's own statements. */
const LOCKED_TABLES = "conversations workspaces events chain files offers people".split(" ");

/**
 * Separates tenants by login, which a client that can only run SQL cannot choose. Each table has the tenant in its
 * rows, because a policy that reads another table would do so for each row, or read all of that table for a single one.
 */
function separate(table: string): string {
  return `
  alter table jp.${table} enable row level security;
  create policy tenant on jp.${table} using (
    tenant = any (array(select r.tenant from jp.tenant_roles r where r.role = current_user))
    or exists (select from jp.tenant_roles r where r.role = current_user and r.tenant = '*')
  );`;
}

/**
 * The id in the file `.jp/.store-id` of a workspace's clones. Null for a workspace that goes by its name alone. A login
 * that could change it would have one workspace's turns continue in another.
 */
const STORE_ID = `
  alter table jp.workspaces add column store_id text, add unique (tenant, store_id);
  create function jp.keep_store_id() returns trigger language plpgsql as $$ begin
    if new.store_id is distinct from old.store_id and old.store_id is not null then
      raise exception 'the store id of a workspace never changes';
    end if;
    return new;
  end $$;
  create trigger keep_store_id before update of store_id on jp.workspaces
    for each row execute function jp.keep_store_id();`;

const MIGRATIONS: readonly string[] = [
  `
  create table jp.workspaces (
    key bigint generated always as identity,
    tenant text not null,
    name text not null,
    -- The last id of a conversation, in tenths of a second since the epoch.
    last_id bigint not null default 0,
    primary key (key, tenant),
    unique (tenant, name)
  );

  create table jp.conversations (
    key bigint generated always as identity,
    workspace bigint not null,
    tenant text not null,
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
    -- Of its events.
    bytes bigint not null default 0,
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
    -- By a worker.
    is_taken boolean not null default false,
    changed xid8 not null default pg_current_xact_id(),
    primary key (key, tenant),
    unique (workspace, id),
    foreign key (workspace, tenant) references jp.workspaces (key, tenant) on delete cascade
  ) with (fillfactor = 70);
  create index on jp.conversations (workspace, created_at, id);
  create index on jp.conversations (workspace, changed);
  create index on jp.conversations (workspace, key) where open_turn is not null;
  create index on jp.conversations (workspace, queue, ready_at) where ready_at is not null;
  create index on jp.conversations (tenant) where is_taken;

  create table jp.events (
    conversation bigint not null,
    tenant text not null,
    seq integer not null,
    entry text not null,
    primary key (conversation, seq),
    foreign key (conversation, tenant) references jp.conversations (key, tenant) on delete cascade
  );

  -- The chain of its decisions, line by line.
  create table jp.chain (
    conversation bigint not null,
    tenant text not null,
    seq integer not null,
    line text not null,
    primary key (conversation, seq),
    foreign key (conversation, tenant) references jp.conversations (key, tenant) on delete cascade
  );

  -- Files of a conversation that was copied from files, if they are more than the rows say.
  create table jp.files (
    conversation bigint not null,
    tenant text not null,
    name text not null,
    content bytea not null,
    primary key (conversation, name),
    foreign key (conversation, tenant) references jp.conversations (key, tenant) on delete cascade
  );

  create table jp.offers (
    key uuid primary key,
    conversation bigint not null,
    tenant text not null,
    offered text not null,
    -- offered, claimed or refused. It is gone once the record shows what became of it.
    state text not null default 'offered',
    refusal text,
    made_at timestamptz not null default clock_timestamp(),
    foreign key (conversation, tenant) references jp.conversations (key, tenant) on delete cascade
  );
  create index on jp.offers (conversation);

  -- Which tenants a login serves; * is all. The owner of the tables serves all without it.
  create table jp.tenant_roles (
    role name not null,
    tenant text not null,
    primary key (role, tenant)
  );
  alter table jp.tenant_roles enable row level security;
  create policy own on jp.tenant_roles using (role = current_user);

  -- What a tenant may use. Null is without a limit.
  create table jp.limits (
    tenant text primary key,
    -- That run at once in workers.
    turns integer,
    -- Of its events.
    bytes bigint,
    -- New turns in a minute.
    requests integer,
    -- Whoever locks a row has to be allowed to change something in it.
    lock boolean
  );

  -- Of the last minute, of tenants with a limit.
  create table jp.turn_starts (
    tenant text not null references jp.limits (tenant) on delete cascade,
    started_at timestamptz not null default clock_timestamp()
  );
  create index on jp.turn_starts (tenant, started_at);

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
  ${TENANT_TABLES.map(separate).join("")}
  `,
  `
  -- Changes to people. Rows are kept, so that the id of someone who was removed is never given to anyone else.
  create table jp.people_log (
    key bigint generated always as identity primary key,
    tenant text not null,
    person_id text not null,
    -- A code, such as person_removed.
    what text not null,
    -- JSON.
    entry text not null
  );
  create index on jp.people_log (tenant, person_id);
  ${separate("people_log")}
  `,
  `
  -- The tenant comes first in every key, so that no row of one tenant can stand in the way of another's.
  alter table jp.events drop constraint events_conversation_tenant_fkey, drop constraint events_pkey;
  alter table jp.chain drop constraint chain_conversation_tenant_fkey, drop constraint chain_pkey;
  alter table jp.files drop constraint files_conversation_tenant_fkey, drop constraint files_pkey;
  alter table jp.offers drop constraint offers_conversation_tenant_fkey, drop constraint offers_pkey;
  alter table jp.conversations drop constraint conversations_workspace_tenant_fkey,
    drop constraint conversations_pkey, drop constraint conversations_workspace_id_key;
  alter table jp.workspaces drop constraint workspaces_pkey;
  alter table jp.people drop constraint people_pkey;
  alter table jp.people_log drop constraint people_log_pkey;
  alter table jp.people add primary key (tenant, key);
  alter table jp.people_log add primary key (tenant, key);
  alter table jp.workspaces add primary key (tenant, key);
  alter table jp.conversations add primary key (tenant, key), add unique (tenant, workspace, id),
    add foreign key (tenant, workspace) references jp.workspaces (tenant, key) on delete cascade;
  ${["events", "chain"].map((table) => keepWithin(table, "conversation, seq")).join("")}
  ${keepWithin("files", "conversation, name")}
  ${keepWithin("offers", "key")}

  drop index jp.conversations_workspace_created_at_id_idx, jp.conversations_workspace_changed_idx,
    jp.conversations_workspace_key_idx, jp.conversations_workspace_queue_ready_at_idx,
    jp.offers_conversation_idx;
  create index on jp.conversations (tenant, workspace, created_at, id);
  create index on jp.conversations (tenant, workspace, changed);
  create index on jp.conversations (tenant, workspace, key) where open_turn is not null;
  create index on jp.conversations (tenant, workspace, queue, ready_at) where ready_at is not null;
  create index on jp.offers (tenant, conversation);
  ${LIMIT_FUNCTIONS}
  ${STORE_ID}

  -- Where turns start, and what a reader of the last turn has to know of earlier ones.
  create index events_starts on jp.events (tenant, conversation, seq) where ${IS_START};
  create index events_others on jp.events (tenant, conversation, seq) where ${IS_OTHER};

  -- Grows with each signed append, and is signed with the turn. Null if no version of jp that counts has signed one.
  alter table jp.conversations add column turn_counter bigint;
  ${PENDING_TABLE}
  ${separate("pending")}
  `,
];

/** Keys of a table with rows that belong to a conversation. */
function keepWithin(table: string, key: string): string {
  return `
  alter table jp.${table} add primary key (tenant, ${key}),
    add foreign key (tenant, conversation) references jp.conversations (tenant, key) on delete cascade;`;
}

/** The version of the tables that this version of jp reads and writes. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/** Only one migration runs at a time. */
export const MIGRATION_LOCK = 0x6a70;

/** The schema of pg-boss, which workers of earlier versions use. */
const OLD_QUEUE = "jp_queue";
/** A worker of an earlier version may be using it. */
const DROP_TIMEOUT = "10s";

export async function hasOldQueue(queries: Queries): Promise<boolean> {
  const [row] = await queries.query<{ readonly found: string | null }>({
    text: `select to_regclass('${OLD_QUEUE}.version') as found`,
  });
  return row?.found != null;
}

/** Removes it with the rights that were granted on it. It has only hints. Returns whether it was there. */
export async function dropOldQueue(database: Database): Promise<boolean> {
  return database.transaction(async (queries) => {
    if (!(await hasOldQueue(queries))) return false;
    await queries.query({ text: `set local lock_timeout = '${DROP_TIMEOUT}'` });
    await queries.query({ text: `drop schema ${OLD_QUEUE} cascade` });
    return true;
  });
}

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

/** What `migrate` has done. */
interface Migrated {
  /** The previous version. 0 if there were no tables. */
  readonly from: number;
  /** How long others could neither read nor write. */
  readonly lockedMs: number;
}

/** Longer than any migration: a limit of the connection would end one that has to read many rows. */
const MIGRATION_MS = 24 * 3600 * 1000;

/** Creates the tables, or migrates them to this version. Throws `store_too_new`, `store_busy`. */
export async function migrate(database: Database): Promise<Migrated> {
  let lockedAt: number | undefined;
  const from = await database.transaction(async (queries) => {
    lockedAt = undefined;
    await queries.query({ text: "set local statement_timeout = 0" });
    await queries.query({
      text: `select pg_advisory_xact_lock(${MIGRATION_LOCK})`,
      timeoutMs: MIGRATION_MS,
    });
    const before = (await findVersion(queries)) ?? 0;
    if (before > SCHEMA_VERSION) throw tooNewError(before);
    if (before === 0) {
      await queries.query({ text: "create schema if not exists jp" });
      await queries.query({ text: "create table jp.schema_version (version integer not null)" });
      await queries.query({ text: "insert into jp.schema_version values (0)" });
    } else if (before < SCHEMA_VERSION) {
      await lockTables(queries);
      lockedAt = monotonicMs();
    }
    for (const text of MIGRATIONS.slice(before)) {
      await queries.query({ text, timeoutMs: MIGRATION_MS });
    }
    // A backup may come from a server with higher transaction ids: its changes would always seem new.
    await queries.query({
      text: "update jp.conversations set changed = default where changed > pg_current_xact_id()",
      timeoutMs: MIGRATION_MS,
    });
    await queries.query({
      text: "update jp.schema_version set version = $1",
      values: [SCHEMA_VERSION],
    });
    return before;
  });
  return { from, lockedMs: lockedAt === undefined ? 0 : monotonicMs() - lockedAt };
}

/** How long to wait for the tables. Meanwhile, everyone else waits behind this. */
const LOCK_SECONDS = 10;
/** The server's code for a lock that was not free in time. */
const NOT_FREE_STATE = "55P03";

/**
 * Locks all tables that migrations change before the first change, so that the lock has one beginning. In the order of
 * jp's own statements, which could otherwise wait for this one while this one waits for them.
 */
async function lockTables(queries: Queries): Promise<void> {
  const tables = LOCKED_TABLES.map((table) => `jp.${table}`).join(", ");
  try {
    await queries.query({ text: `set local lock_timeout = '${LOCK_SECONDS}s'` });
    await queries.query({ text: `lock table ${tables} in access exclusive mode` });
    await queries.query({ text: "set local lock_timeout = 0" });
  } catch (cause) {
    if (systemErrorCode(cause) !== NOT_FREE_STATE) throw cause;
    throw new StorageError(
      "store_busy",
      `The tables of the store were in use for ${LOCK_SECONDS} seconds. Nothing was changed.`,
      {
        cause,
        hint: "Stop workers, desks and sessions, and end transactions that others have left open. Then try again.",
      },
    );
  }
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
