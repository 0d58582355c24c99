-- Roles for conversations in PostgreSQL. Run it in the database, as the owner of its tables who may also
-- create roles, after each `jp store migrate` that has changed something:
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

grant usage on schema jp to jp_reader, jp_writer;
grant select on jp.schema_version, jp.tenant_roles, jp.workspaces, jp.conversations, jp.events,
  jp.chain, jp.files, jp.offers, jp.limits, jp.people to jp_reader, jp_writer;

-- The command line, and programs that embed jp.
grant insert, update on jp.workspaces to jp_writer;
grant insert, update, delete on jp.conversations, jp.offers to jp_writer;
grant insert, delete on jp.events, jp.files to jp_writer;
grant insert on jp.chain to jp_writer;
-- To count against the limits of the tenant, not to change them.
grant update (lock) on jp.limits to jp_writer;
grant select, insert, delete on jp.turn_starts to jp_writer;

-- The desk, and those who manage people: whoever can write here says who may decide.
grant insert, update, delete on jp.people to jp_desk;
grant select, insert on jp.people_log to jp_desk;
grant select, insert, update, delete on jp.desk_sessions to jp_desk;

-- The queue of pg-boss, if jp store migrate has made it.
do $$ begin
  if to_regclass('jp_queue.job') is null then
    return;
  end if;
  grant usage on schema jp_queue to jp_writer;
  -- To wake workers up, not to see whom others wake.
  grant select on jp_queue.version, jp_queue.queue to jp_writer;
  grant insert, select (id, start_after) on jp_queue.job, jp_queue.job_common to jp_writer;
  -- jp worker. pg-boss runs SQL that it finds in these tables: give this role to your own machines only.
  grant select, insert, update, delete on all tables in schema jp_queue to jp_worker;
  revoke insert, update, delete on jp_queue.bam, jp_queue.version from jp_worker;
  grant update on jp_queue.version to jp_worker;
end $$;

commit;
