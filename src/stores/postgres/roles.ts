/** The SQL of roles with exactly the rights that jp needs in a database. An administrator runs it: jp itself never does. */
import { StorageError } from "../storage-error.ts";

/** Roles to grant to a login, by what its person or program does. */
export type RoleKind = "reader" | "writer" | "desk" | "worker";

/** A login for one tenant, or for all of them (`*`). */
export interface TenantRole {
  /** By default, `jp_` and the tenant, or `jp_all`. */
  readonly role?: string;
  readonly tenant: string;
  readonly kind: RoleKind;
}

/** The roles of all kinds. Safe to run again. */
export function groupRolesScript(): string {
  return `${GROUPS}
grant usage on schema jp to jp_reader, jp_writer;
grant select on jp.schema_version, jp.tenant_roles, jp.workspaces, jp.conversations, jp.events,
  jp.chain, jp.files, jp.offers, jp.pending, jp.limits, jp.people to jp_reader, jp_writer;

-- The command line, and programs that embed jp. The server numbers the rows: no login chooses a key, or moves a row.
revoke insert, update on jp.workspaces, jp.conversations, jp.people, jp.people_log from jp_writer, jp_desk;
${grantColumns("jp.workspaces", WORKSPACE_COLUMNS, "tenant, name")}
${grantColumns("jp.conversations", CONVERSATION_COLUMNS, "workspace, tenant, id, created_at, folder")}
grant delete on jp.conversations to jp_writer;
grant insert, update, delete on jp.offers to jp_writer;
grant insert, delete on jp.events, jp.files to jp_writer;
grant insert on jp.chain to jp_writer;
grant insert, delete, update (asked_at, kind) on jp.pending to jp_writer;
-- To count against the limits of the tenant, not to change them.
grant update (lock) on jp.limits to jp_writer;
grant select, insert, delete on jp.turn_starts to jp_writer;

-- The desk, and those who manage people: whoever can write here says who may decide.
grant insert (tenant, name, person), update (person), delete on jp.people to jp_desk;
grant select, insert (tenant, person_id, what, entry) on jp.people_log to jp_desk;
grant select, insert, update, delete on jp.desk_sessions to jp_desk;

commit;
`;
}

/** Columns that a writer sets when it inserts a row, and changes later. */
const WORKSPACE_COLUMNS = "last_id, store_id";
const CONVERSATION_COLUMNS = `metadata, labels, base_config, is_archived, length, bytes, last_event_at, open_turn,
  ready_at, queue, failures, is_own_turn, turn_key, turn_signature, turn_counter, epoch, lease_owner, lease_holder,
  lease_until, is_taken, changed, pending_length`;

/** `fixed`: columns that a writer sets only when it inserts the row. */
function grantColumns(table: string, columns: string, fixed: string): string {
  return `grant insert (${fixed}, ${columns}), update (${columns}) on ${table} to jp_writer;`;
}

const GROUPS = `-- Roles for conversations in PostgreSQL. Run it in the database, as the owner of its tables who may also
-- create roles, after each \`jp store migrate\` that has changed something:
--   jp store roles | psql -v ON_ERROR_STOP=1 "dbname=… host=…"

begin;

do $$
declare
  name text;
begin
  foreach name in array array['jp_reader', 'jp_writer', 'jp_desk', 'jp_worker'] loop
    if not exists (select from pg_roles where rolname = name) then
      execute format('create role %I nologin', name);
    end if;
  end loop;
end $$;
grant jp_writer to jp_desk, jp_worker;
`;

/** A role name that needs no quotes. */
const ROLE_NAME = /^(?!pg_)[a-z_][a-z0-9_]{0,62}$/;

/** jp's own roles, which logins are members of. */
const KINDS = ["reader", "writer", "desk", "worker"] as const satisfies readonly RoleKind[];
const OWN_ROLES = KINDS.map((kind) => `jp_${kind}`);
const ALL_TENANTS_ROLE = "jp_all";

/**
 * What a login may use of the server. jp gives up on a statement after 15 seconds, so nothing that it waits for is
 * ended early. One process has 11 connections at most: this is enough for three desks, or five workers.
 */
const SERVER_LIMITS = [
  "set statement_timeout = '20s'",
  "set lock_timeout = '16s'",
  "set idle_in_transaction_session_timeout = '30s'",
];
const MAX_CONNECTIONS: Readonly<Record<RoleKind, number>> = {
  reader: 12,
  writer: 36,
  desk: 36,
  worker: 60,
};

/** Needs the roles of `groupRolesScript`. Safe to run again. Throws `invalid_role`. */
export function tenantRoleScript({ tenant, kind, ...named }: TenantRole): string {
  const { role = tenant === "*" ? ALL_TENANTS_ROLE : `jp_${tenant}` } = named;
  assertRoleName(role, tenant);
  return `-- A login of one tenant. Run it like the script of \`jp store roles\`, after that one.
-- Set a password afterwards (\\password ${role}), unless the server knows the login in another way.

begin;

set local jp.tenant = ${literal(tenant)};
do $$ begin
  if not exists (select from pg_roles where rolname = '${role}') then
    create role ${role} login;
  end if;
end $$;
${refusalsOf(role, kind)}
grant jp_${kind} to ${role};
insert into jp.tenant_roles (role, tenant) values ('${role}', current_setting('jp.tenant'))
on conflict do nothing;

-- What it may use of the server. The login can change the time-outs for itself, but not the number of connections.
${SERVER_LIMITS.map((limit) => `alter role ${role} ${limit};`).join("\n")}
alter role ${role} connection limit ${MAX_CONNECTIONS[kind]};

commit;
`;
}

/** Throws `invalid_role`. */
function assertRoleName(role: string, tenant: string): void {
  const commandHint = "Name one: jp store roles --tenant … --role acme";
  if (!ROLE_NAME.test(role)) {
    const message = "The name of a role has small letters, digits and _.";
    throw new StorageError("invalid_role", message, { commandHint });
  }
  if (OWN_ROLES.includes(role)) {
    const message = `${role} is one of jp's own roles: every login with it would serve the tenant.`;
    throw new StorageError("invalid_role", message, { commandHint });
  }
  if (role === ALL_TENANTS_ROLE && tenant !== "*") {
    const message = `${role} is the login of all tenants.`;
    throw new StorageError("invalid_role", message, { commandHint });
  }
}

/** Ends the transaction if the login would do more than its tenant and kind allow. The locked table keeps it so. */
function refusalsOf(role: string, kind: RoleKind): string {
  return `do $$
declare
  served constant text := current_setting('jp.tenant');
  other text;
begin
  lock table jp.tenant_roles in share row exclusive mode;
  if '${role}' in (${quotedList(OWN_ROLES)})
    or ('${role}' = '${ALL_TENANTS_ROLE}' and served <> '*') then
    raise exception '${role} is a role of jp itself, and not the login of a tenant';
  end if;
  if not (select rolcanlogin from pg_roles where rolname = '${role}') then
    raise exception '${role} is not a login';
  end if;
  if exists (
    select from pg_roles r where r.rolname = '${role}' and (r.rolsuper or r.rolbypassrls
      or pg_has_role(r.oid, (select relowner from pg_class where oid = 'jp.conversations'::regclass), 'member'))
  ) then
    raise exception '${role} is the owner of the tables, or not bound by their policies';
  end if;
  select t.tenant into other from jp.tenant_roles t join pg_roles r on r.rolname = t.role
  where t.tenant <> served and not r.rolsuper
    and (pg_has_role('${role}', r.oid, 'member') or pg_has_role(r.oid, '${role}', 'member')) limit 1;
  if found then
    raise exception '${role} serves another tenant already: %', other;
  end if;
  select g.rolname into other from pg_auth_members m join pg_roles g on g.oid = m.roleid
  where m.member = '${role}'::regrole and g.rolname in (${quotedList(OWN_ROLES)}) and g.rolname <> 'jp_${kind}' limit 1;
  if found then
    raise exception '${role} has % already: revoke that first, or name another login', other;
  end if;
end $$;`;
}

function quotedList(names: readonly string[]): string {
  return names.map((name) => `'${name}'`).join(", ");
}

/** Safe for every setting of how the server treats backslashes. */
function literal(text: string): string {
  const quoted = text.replaceAll("'", "''");
  return text.includes("\\") ? `E'${quoted.replaceAll("\\", "\\\\")}'` : `'${quoted}'`;
}
