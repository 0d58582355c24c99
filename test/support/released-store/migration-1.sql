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
  
  alter table jp.workspaces enable row level security;
  create policy tenant on jp.workspaces using (
    tenant = any (array(select r.tenant from jp.tenant_roles r where r.role = current_user))
    or exists (select from jp.tenant_roles r where r.role = current_user and r.tenant = '*')
  );
  alter table jp.conversations enable row level security;
  create policy tenant on jp.conversations using (
    tenant = any (array(select r.tenant from jp.tenant_roles r where r.role = current_user))
    or exists (select from jp.tenant_roles r where r.role = current_user and r.tenant = '*')
  );
  alter table jp.events enable row level security;
  create policy tenant on jp.events using (
    tenant = any (array(select r.tenant from jp.tenant_roles r where r.role = current_user))
    or exists (select from jp.tenant_roles r where r.role = current_user and r.tenant = '*')
  );
  alter table jp.chain enable row level security;
  create policy tenant on jp.chain using (
    tenant = any (array(select r.tenant from jp.tenant_roles r where r.role = current_user))
    or exists (select from jp.tenant_roles r where r.role = current_user and r.tenant = '*')
  );
  alter table jp.files enable row level security;
  create policy tenant on jp.files using (
    tenant = any (array(select r.tenant from jp.tenant_roles r where r.role = current_user))
    or exists (select from jp.tenant_roles r where r.role = current_user and r.tenant = '*')
  );
  alter table jp.offers enable row level security;
  create policy tenant on jp.offers using (
    tenant = any (array(select r.tenant from jp.tenant_roles r where r.role = current_user))
    or exists (select from jp.tenant_roles r where r.role = current_user and r.tenant = '*')
  );
  alter table jp.limits enable row level security;
  create policy tenant on jp.limits using (
    tenant = any (array(select r.tenant from jp.tenant_roles r where r.role = current_user))
    or exists (select from jp.tenant_roles r where r.role = current_user and r.tenant = '*')
  );
  alter table jp.turn_starts enable row level security;
  create policy tenant on jp.turn_starts using (
    tenant = any (array(select r.tenant from jp.tenant_roles r where r.role = current_user))
    or exists (select from jp.tenant_roles r where r.role = current_user and r.tenant = '*')
  );
  alter table jp.people enable row level security;
  create policy tenant on jp.people using (
    tenant = any (array(select r.tenant from jp.tenant_roles r where r.role = current_user))
    or exists (select from jp.tenant_roles r where r.role = current_user and r.tenant = '*')
  );
  alter table jp.desk_sessions enable row level security;
  create policy tenant on jp.desk_sessions using (
    tenant = any (array(select r.tenant from jp.tenant_roles r where r.role = current_user))
    or exists (select from jp.tenant_roles r where r.role = current_user and r.tenant = '*')
  );
  
  -- Whether a worker may take a conversation.
  create function jp.may_take(of_tenant text, taken bigint) returns boolean
  language plpgsql set search_path = pg_catalog, pg_temp as $$
  declare
    most integer;
  begin
    select l.turns into most from jp.limits l
    where l.tenant = of_tenant and l.turns is not null for no key update;
    if not found then
      return true;
    end if;
    return most > (
      select count(*) from jp.conversations c
      where c.tenant = of_tenant and c.is_taken and c.key <> taken
        and c.lease_until > clock_timestamp()
    );
  end $$;

  -- Returns the bytes, if they may be added.
  create function jp.grow(of_tenant text, added bigint, starts integer) returns bigint
  language plpgsql set search_path = pg_catalog, pg_temp as $$
  declare
    most bigint;
  begin
    select l.bytes into most from jp.limits l where l.tenant = of_tenant;
    if added > 0 and most is not null and added + (
      select coalesce(sum(c.bytes), 0)
      from jp.workspaces w join jp.conversations c on c.workspace = w.key where w.tenant = of_tenant
    ) > most then
      raise exception 'the store of the tenant is full' using errcode = 'JP001', detail = most::text;
    end if;
    if starts > 0 then
      select l.requests into most from jp.limits l
      where l.tenant = of_tenant and l.requests is not null for no key update;
      if found then
        delete from jp.turn_starts t
        where t.tenant = of_tenant and t.started_at <= clock_timestamp() - interval '1 minute';
        if starts + (select count(*) from jp.turn_starts t where t.tenant = of_tenant) > most then
          raise exception 'the tenant has started too many turns'
            using errcode = 'JP002', detail = most::text;
        end if;
        insert into jp.turn_starts (tenant) select of_tenant from generate_series(1, starts);
      end if;
    end if;
    return added;
  end $$;
