/**
 * The list of pending decisions: a row for the place of each, so that a page of them can be read without the turns of
 * the others. The record alone says what is pending. The rows of a conversation count only if they were written with
 * the last entry of its record (`pending_length` is set); otherwise its turn has to be read.
 */
import type { PendingPlace } from "../../record/conversation/index.ts";
import type { TurnState } from "./turn-state.ts";

/** Part of a migration. */
export const PENDING_TABLE = `
  -- Where pending decisions stand in the list of all of them.
  create table jp.pending (
    tenant text not null,
    workspace bigint not null,
    conversation bigint not null,
    -- The conversation's.
    id text not null collate "C",
    asked_at text not null collate "C",
    -- Where the turn asks, counted in entries from its start.
    place integer not null,
    kind text not null,
    primary key (tenant, conversation, place),
    foreign key (tenant, conversation) references jp.conversations (tenant, key) on delete cascade
  );
  create index on jp.pending (tenant, workspace, asked_at, id, place);

  -- The length of the record that the rows of jp.pending were written for. Null if only the record says what is pending.
  alter table jp.conversations add column pending_length integer;
  create index on jp.conversations (tenant, workspace)
    where open_turn is not null and pending_length is null;

  -- Earlier versions of jp change records without these rows, also to others of the same length.
  create function jp.forget_pending() returns trigger
  language plpgsql set search_path = pg_catalog, pg_temp as $$
  begin
    new.pending_length = null;
    return new;
  end $$;
  create trigger forget_pending before update of length on jp.conversations for each row
    when (new.length <> old.length and new.pending_length = old.pending_length)
    execute function jp.forget_pending();
`;

/** SQL of a common table expression that writes the rows of a conversation. `first` is the number of their first parameter. */
export function listedSql(conversation: string, first: number): string {
  return `listed as (
        insert into jp.pending (tenant, workspace, conversation, id, place, asked_at, kind)
        select of.tenant, of.workspace, of.key, of.id, added.place, added.asked_at, added.kind
        from ${conversation} as of,
          unnest($${first}::int[], $${first + 1}::text[], $${first + 2}::text[]) as added (place, asked_at, kind)
        on conflict (tenant, conversation, place) do update set asked_at = excluded.asked_at, kind = excluded.kind
      )`;
}

/** Whether the rows count from now on, and the values of `listedSql`, which are null if the rows stay. */
export function listedValues({
  places,
  listed,
}: Pick<TurnState, "places"> & { readonly listed?: readonly PendingPlace[] }): readonly unknown[] {
  return [
    places !== undefined,
    listed?.map(({ order }) => order) ?? null,
    listed?.map(({ askedAt }) => askedAt) ?? null,
    listed?.map(({ kind }) => kind) ?? null,
  ];
}
