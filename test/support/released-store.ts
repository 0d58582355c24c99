/** Stores as a release has made them. The SQL beside is that of the release, and never changes. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { onTestFinished } from "vitest";
import { Database, type Queries } from "../../src/stores/postgres/database.ts";
import { emptyDatabase } from "./postgres.ts";

const FOLDER = path.join(import.meta.dirname, "released-store");

/** The script of `jp store roles` that belonged to versions 1 and 2 of the tables. It granted whole tables. */
export const RELEASED_ROLES = read("roles.sql");

/** Creates the tables of this version in an empty database. */
export async function createReleased(queries: Queries, version: 1 | 2): Promise<void> {
  await queries.query({ text: "create schema jp" });
  await queries.query({ text: read("migration-1.sql") });
  if (version === 2) await queries.query({ text: read("migration-2.sql") });
  await queries.query({
    text: `create table jp.schema_version (version integer not null);
      insert into jp.schema_version values (${version})`,
  });
}

function read(name: string): string {
  return readFileSync(path.join(FOLDER, name), "utf8");
}

/** A database of its own, until the test has ended. */
export async function openReleased(version: 1 | 2) {
  const url = await emptyDatabase();
  const database = new Database(url);
  onTestFinished(() => database.close());
  await createReleased(database, version);
  return { url, database };
}

/** Two tenants, each with two workspaces. Their numbers have gaps, as after removals. */
const FILL = `
  insert into jp.workspaces (tenant, name) select 'gone', 'w' || n from generate_series(1, 6) n;
  delete from jp.workspaces;
  insert into jp.workspaces (tenant, name, last_id) values
    ('acme', 'site', 7), ('evil', 'site', 8), ('acme', 'app', 9), ('evil', 'app', 10);
  insert into jp.conversations (workspace, tenant, id, created_at, metadata, length, open_turn, is_own_turn)
    select w.key, w.tenant, 'jp-c' || (17760000000 + n), '2026-01-01 00:00:00.0', '{}', $EVENTS, 0, true
    from jp.workspaces w, generate_series(1, $CONVERSATIONS) n;
  insert into jp.events (conversation, tenant, seq, entry)
    select c.key, c.tenant, n - 1, '{"type":"chat_response","timestamp":"2026-01-01 00:00:00.0","message":"'
      || repeat(md5(c.key || '.' || n), 8) || '"}'
    from jp.conversations c, generate_series(1, $EVENTS) n;
  insert into jp.chain (conversation, tenant, seq, line) select key, tenant, 0, '{}' from jp.conversations;
  insert into jp.files (conversation, tenant, name, content) select key, tenant, 'notes', 'x' from jp.conversations;
  insert into jp.offers (key, conversation, tenant, offered)
    select gen_random_uuid(), key, tenant, '{}' from jp.conversations;
  insert into jp.people (tenant, name, person) select tenant, 'p' || n, '{}'
    from (values ('acme'), ('evil')) as t (tenant), generate_series(1, 20) n;
  insert into jp.limits (tenant, turns) values ('acme', 4);
  insert into jp.turn_starts (tenant) values ('acme');
  insert into jp.tenant_roles values ('someone', 'acme')`;

/** Of each: 4 times as many conversations. */
export async function fill(
  database: Database,
  conversations: number,
  events: number,
): Promise<void> {
  const text = FILL.replaceAll("$EVENTS", String(events)).replaceAll(
    "$CONVERSATIONS",
    String(conversations),
  );
  await database.query({ text, timeoutMs: 600_000 });
}

interface TableRow {
  readonly table: string;
  readonly columns: string;
}

/** The tables of the store, with the columns that they have now. */
export async function tablesOf(database: Database): Promise<readonly TableRow[]> {
  return database.query<{ readonly table: string; readonly columns: string }>({
    text: `select c.relname as table, string_agg(quote_ident(a.attname), ', ' order by a.attnum) as columns
      from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      where c.relnamespace = 'jp'::regnamespace and c.relkind = 'r' and c.relname <> 'schema_version'
      group by c.relname order by c.relname`,
  });
}

/** How many rows each table has, and the sum of their hashes over these columns. */
export async function digestsOf(database: Database, tables: readonly TableRow[]) {
  const digests: unknown[] = [];
  for (const { table, columns } of tables) {
    const [row] = await database.query({
      text: `select count(*), sum(hashtextextended(row(${columns})::text, 0)) as sum from jp.${table}`,
      timeoutMs: 600_000,
    });
    digests.push({ table, ...row });
  }
  return digests;
}

/** Keys of the rows of tenants whose first column is not the tenant. */
export const OTHER_KEYS = `
  select conrelid::regclass::text as table, conname as name from pg_constraint
  where connamespace = 'jp'::regnamespace and contype in ('p', 'u', 'f', 'x')
    and conrelid <> 'jp.tenant_roles'::regclass
    and 'tenant' <> (select attname from pg_attribute where attrelid = conrelid and attnum = conkey[1])
  union
  select indrelid::regclass::text, indexrelid::regclass::text
  from pg_index join pg_class on pg_class.oid = indrelid
  where relnamespace = 'jp'::regnamespace and indisunique and indrelid <> 'jp.tenant_roles'::regclass
    and indkey[0] is distinct from (
      select attnum from pg_attribute where attrelid = indrelid and attname = 'tenant')`;
