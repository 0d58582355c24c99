/** Limits of a tenant in a shared database. Statements check them only if the tenant has any. */
import type { Database } from "./database.ts";
import { FULL_STATE, TOO_MANY_TURNS_STATE } from "./refusals.ts";

/** Absent means unlimited. */
export interface TenantLimits {
  /** How many of its turns may run in workers at once. */
  readonly turns?: number;
  /** The maximum size of its events and of the files of models, in bytes. */
  readonly bytes?: number;
  /** How many turns it may start per minute. */
  readonly requests?: number;
}

/** The limits of one tenant. */
export interface LimitedTenant extends TenantLimits {
  readonly tenant: string;
}

/**
 * They run with the rights of the caller, so that a tenant can use up only its own limits. Each statement in them sees
 * everything committed before it: after taking the lock, the counts of others are visible.
 */
export const LIMIT_FUNCTIONS = `
  -- Whether a worker may take a conversation.
  create or replace function jp.may_take(of_tenant text, taken bigint) returns boolean
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
  create or replace function jp.grow(of_tenant text, added bigint, starts integer) returns bigint
  language plpgsql set search_path = pg_catalog, pg_temp as $$
  declare
    most bigint;
  begin
    select l.bytes into most from jp.limits l where l.tenant = of_tenant;
    if added > 0 and most is not null and added + (
      select coalesce(sum(c.bytes), 0) from jp.conversations c where c.tenant = of_tenant
    ) > most then
      raise exception 'the store of the tenant is full' using errcode = '${FULL_STATE}', detail = most::text;
    end if;
    if starts > 0 then
      select l.requests into most from jp.limits l
      where l.tenant = of_tenant and l.requests is not null for no key update;
      if found then
        delete from jp.turn_starts t
        where t.tenant = of_tenant and t.started_at <= clock_timestamp() - interval '1 minute';
        if starts + (select count(*) from jp.turn_starts t where t.tenant = of_tenant) > most then
          raise exception 'the tenant has started too many turns'
            using errcode = '${TOO_MANY_TURNS_STATE}', detail = most::text;
        end if;
        insert into jp.turn_starts (tenant) select of_tenant from generate_series(1, starts);
      end if;
    end if;
    return added;
  end $$;
`;

/** SQL for the number of added bytes, which the server refuses beyond the limits. All parameters are expressions. */
export function grownSql(tenant: string, bytes: string, starts: string): string {
  return `case when exists (select from jp.limits l where l.tenant = ${tenant})
    then jp.grow(${tenant}, ${bytes}::bigint, ${starts}::integer) else ${bytes}::bigint end`;
}

/** SQL that is true if no other turn of the tenant may run now. Only for polling; `jp.may_take` decides. */
export function isBusySql(tenant: string): string {
  return `exists (select from jp.limits l where l.tenant = ${tenant} and l.turns <= (
    select count(*) from jp.conversations t
    where t.tenant = ${tenant} and t.is_taken and t.lease_until > clock_timestamp()))`;
}

interface LimitsRow {
  readonly tenant: string;
  readonly turns: number | null;
  readonly bytes: string | null;
  readonly requests: number | null;
}

/** The limits of all tenants that have any. */
export async function readLimits(database: Database): Promise<readonly LimitedTenant[]> {
  const rows = await database.query<LimitsRow>({
    text: "select tenant, turns, bytes, requests from jp.limits order by tenant",
  });
  return rows.map(({ tenant, turns, bytes, requests }) => ({
    tenant,
    ...(turns !== null && { turns }),
    ...(bytes !== null && { bytes: Number(bytes) }),
    ...(requests !== null && { requests }),
  }));
}

/** Replaces the limits of a tenant. */
export async function writeLimits(
  database: Database,
  { tenant, turns, bytes, requests }: LimitedTenant,
): Promise<void> {
  if (turns === undefined && bytes === undefined && requests === undefined) {
    await database.query({ text: "delete from jp.limits where tenant = $1", values: [tenant] });
    return;
  }
  await database.query({
    text: `insert into jp.limits (tenant, turns, bytes, requests) values ($1, $2, $3, $4)
      on conflict (tenant) do update
      set turns = excluded.turns, bytes = excluded.bytes, requests = excluded.requests`,
    values: [tenant, turns ?? null, bytes ?? null, requests ?? null],
  });
}
