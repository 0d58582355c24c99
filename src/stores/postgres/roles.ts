/** The SQL of roles with exactly the rights that jp needs in a database. An administrator runs it: jp itself never does. */
import { StorageError } from "../storage-error.ts";

/** Roles to grant to a login, by what its person or program does. */
export type RoleKind = "reader" | "writer" | "desk" | "worker";

/** A login for one tenant, or for all of them (`*`). */
export interface TenantRole {
  readonly role: string;
  readonly tenant: string;
  readonly kind: RoleKind;
}

/** The roles of all kinds. Safe to run again. */
export function groupRolesScript(): string {
  return `${GROUPS}
grant usage on schema jp to jp_reader, jp_writer;
grant select on jp.schema_version, jp.tenant_roles, jp.workspaces, jp.conversations, jp.events,
  jp.chain, jp.files, jp.offers, jp.limits, jp.people to jp_reader, jp_writer;

-- The command line, and programs that embed jp. The server numbers the rows: no login chooses a key, or moves a row.
revoke insert, update on jp.workspaces, jp.conversations, jp.people, jp.people_log from jp_writer, jp_desk;
${grantColumns("jp.workspaces", WORKSPACE_COLUMNS, "tenant, name")}
${grantColumns("jp.conversations", CONVERSATION_COLUMNS, "workspace, tenant, id, created_at, folder")}
grant delete on jp.conversations to jp_writer;
grant insert, update, delete on jp.offers to jp_writer;
grant insert, delete on jp.events, jp.files to jp_writer;
grant insert on jp.chain to jp_writer;
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
const WORKSPACE_COLUMNS = "last_id";
const CONVERSATION_COLUMNS = `metadata, labels, base_config, is_archived, length, bytes, last_event_at, open_turn,
  ready_at, queue, failures, is_own_turn, turn_key, turn_signature, epoch, lease_owner, lease_holder, lease_until,
  is_taken, changed`;

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

/** Needs the roles of `groupRolesScript`. Safe to run again. Throws `invalid_role`. */
export function tenantRoleScript({ role, tenant, kind }: TenantRole): string {
  if (!ROLE_NAME.test(role)) {
    throw new StorageError("invalid_role", "The name of a role has small letters, digits and _.", {
      commandHint: "Name one: jp store roles --tenant … --role acme",
    });
  }
  return `-- A login of one tenant. Run it like the script of \`jp store roles\`, after that one.
-- Set a password afterwards (\\password ${role}), unless the server knows the login in another way.

begin;

do $$ begin
  if not exists (select from pg_roles where rolname = '${role}') then
    create role ${role} login;
  end if;
end $$;
grant jp_${kind} to ${role};
insert into jp.tenant_roles (role, tenant) values ('${role}', ${literal(tenant)})
on conflict do nothing;

commit;
`;
}

/** Safe for every setting of how the server treats backslashes. */
function literal(text: string): string {
  const quoted = text.replaceAll("'", "''");
  return text.includes("\\") ? `E'${quoted.replaceAll("\\", "\\\\")}'` : `'${quoted}'`;
}
