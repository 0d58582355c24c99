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
  
  alter table jp.people_log enable row level security;
  create policy tenant on jp.people_log using (
    tenant = any (array(select r.tenant from jp.tenant_roles r where r.role = current_user))
    or exists (select from jp.tenant_roles r where r.role = current_user and r.tenant = '*')
  );
