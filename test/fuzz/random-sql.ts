/** Random SQL statements about the tables of a store, as someone with a login and bad intentions would run them. */
import type { Random } from "../torture/random.ts";

export interface SqlColumn {
  readonly name: string;
  readonly type: string;
}

export interface SqlTable {
  readonly name: string;
  readonly columns: readonly SqlColumn[];
}

/** The tables, and expressions worth trying by type, or by the name of a column: names and numbers of another tenant too. */
export interface SqlWorld {
  readonly tables: readonly SqlTable[];
  readonly values: ReadonlyMap<string, readonly string[]>;
  /** Roles that the login may try to become. */
  readonly roles: readonly string[];
}

type Draw = (sql: RandomSql) => string;

export class RandomSql {
  readonly #random: Random;
  readonly #world: SqlWorld;

  constructor(random: Random, world: SqlWorld) {
    this.#random = random;
    this.#world = world;
  }

  /** The next statement. */
  statement(): string {
    return this.pick(STATEMENTS)(this);
  }

  pick<Item>(items: readonly Item[]): Item {
    const item = items[Math.floor(this.#random.next() * items.length)];
    if (item === undefined) throw new Error("nothing to pick from");
    return item;
  }

  chance(share: number): boolean {
    return this.#random.next() < share;
  }

  /** One of them, or nothing. */
  maybe(...texts: readonly string[]): string {
    return this.chance(0.5) ? this.pick(texts) : "";
  }

  some<Item>(items: readonly Item[]): readonly Item[] {
    const chosen = items.filter(() => this.chance(0.4));
    return chosen.length === 0 ? [this.pick(items)] : chosen;
  }

  get table(): SqlTable {
    return this.pick(this.#world.tables);
  }

  get role(): string {
    return this.pick(this.#world.roles);
  }

  /** An expression of this type, mostly. */
  value(type: string): string {
    if (this.chance(0.03)) return this.pick(["null", "default"]);
    const known = this.#world.values.get(this.chance(0.03) ? "text" : type) ?? ["null"];
    return this.pick(known);
  }

  /** A value for a column of a row. More often one that the server does not refuse. */
  valueFor({ name, type }: SqlColumn): string {
    if (this.chance(0.4)) return this.value(type);
    return this.pick(this.#world.values.get(`${name} ${type}`) ?? [this.expression(type)]);
  }

  /** Like `value`, where `default` is no expression. */
  expression(type: string): string {
    const drawn = this.value(type);
    return drawn === "default" ? "null" : drawn;
  }

  condition({ name, columns }: SqlTable): string {
    if (this.chance(0.25)) return "true";
    if (this.chance(0.1)) return `pg_temp.leak(${name}::text)`;
    const { name: column, type } = this.pick(columns);
    const compared = this.pick(["=", "<>", "<", ">=", "is distinct from"]);
    return `${name}.${column} ${compared} ${this.expression(type)}`;
  }

  /** A query of one table or two. */
  query(): string {
    const from = this.table;
    const what = this.pick([
      `${from.name}.*`,
      `${from.name}::text`,
      `count(*), max(${this.pick(from.columns).name}::text)`,
      `string_agg(${this.pick(from.columns).name}::text, ',')`,
      `to_jsonb(${from.name})`,
      `${from.name}.tableoid, ${from.name}.ctid, ${from.name}.xmin, ${from.name}.*`,
    ]);
    return `select ${what} from jp.${from.name} ${this.joined(from)} where ${this.condition(from)}`;
  }

  joined(from: SqlTable): string {
    if (this.chance(0.7)) return "";
    const other = this.table;
    const kind = this.pick(["join", "left join", "full join", "right join"]);
    const on = this.pick([
      "true",
      `o.tenant = ${from.name}.tenant`,
      `o.tenant <> ${from.name}.tenant`,
    ]);
    return `${kind} jp.${other.name} o on ${on}`;
  }

  /** An insert into a table, with the columns of its key at times, and at times numbers of its own. */
  insert(): string {
    const { name, columns } = this.table;
    const hasKey = this.chance(0.35);
    const given = (this.chance(0.7) ? columns : this.some(columns)).filter(
      (column) => hasKey || column.name !== "key",
    );
    const names = given.map((column) => column.name).join(", ");
    const overriding = this.chance(hasKey ? 0.7 : 0.1)
      ? this.pick(["overriding system value", "overriding system value", "overriding user value"])
      : "";
    const row = () => `(${given.map((column) => this.valueFor(column)).join(", ")})`;
    const source = this.pick([
      `values ${row()}`,
      `values ${row()}, ${row()}`,
      `select ${given.map((column) => (this.chance(0.7) ? column.name : this.expression(column.type))).join(", ")} from jp.${name}`,
    ]);
    return `insert into jp.${name} (${names}) ${overriding} ${source} ${this.conflict(name, columns)}`;
  }

  /** Takes the numbers that come next. */
  reserve(): string {
    const { name, columns } = this.pick(
      this.#world.tables.filter((table) => table.columns[0]?.name === "key"),
    );
    const values = columns.map((column) =>
      column.name === "key"
        ? `(select max(key) from jp.${name}) + n`
        : column.type === "text" && column.name !== "tenant"
          ? "'x' || n"
          : this.valueFor(column),
    );
    return `insert into jp.${name} (${columns.map((column) => column.name).join(", ")}) overriding system value
      select ${values.join(", ")} from generate_series(1, 200) n on conflict do nothing`.replaceAll(
      "default",
      "null",
    );
  }

  conflict(name: string, columns: readonly SqlColumn[]): string {
    const target = this.pick([
      "(tenant, key)",
      "(tenant, name)",
      "(tenant, workspace, id)",
      "(tenant, conversation, seq)",
      "(tenant)",
      `(${this.pick(columns).name})`,
    ]);
    return this.maybe(
      "on conflict do nothing",
      `on conflict ${target} do nothing`,
      `on conflict ${target} do update set ${this.assignments(columns)}`,
      `on conflict ${target} do update set ${this.assignments(columns)} where jp.${name}.tenant is not null`,
    );
  }

  assignments(columns: readonly SqlColumn[]): string {
    const chosen = this.chance(0.5) ? [this.pick(columns)] : this.some(columns);
    return chosen.map((column) => `${column.name} = ${this.valueFor(column)}`).join(", ");
  }

  update(): string {
    const changed = this.table;
    const other = this.table;
    const from = this.chance(0.2) ? `from jp.${other.name} o` : "";
    return `update jp.${changed.name} set ${this.assignments(changed.columns)} ${from} where ${this.condition(changed)}`;
  }

  remove(): string {
    const removed = this.table;
    const using = this.chance(0.2) ? `using jp.${this.table.name} o` : "";
    return `delete from jp.${removed.name} ${using} where ${this.condition(removed)}`;
  }

  merge(): string {
    const { name, columns } = this.table;
    const names = columns.map((column) => column.name).join(", ");
    return `merge into jp.${name} using jp.${this.table.name} o on ${this.pick(["true", `o.tenant = ${name}.tenant`, "false"])}
      when matched then ${this.pick(["delete", `update set ${this.assignments(columns)}`])}
      when not matched then insert (${names}) ${this.maybe("overriding system value")} values (${columns.map(({ type }) => this.value(type)).join(", ")})`;
  }

  change(): string {
    const draw = this.pick([() => this.insert(), () => this.update(), () => this.remove()]);
    const text = draw();
    return `${text} ${this.maybe("returning *", "returning tenant, ctid, xmin")}`;
  }
}

const CHANGES: readonly Draw[] = Array.from({ length: 30 }, () => (sql: RandomSql) => sql.change());

const STATEMENTS: readonly Draw[] = [
  ...CHANGES,
  (sql) => sql.reserve(),
  (sql) => sql.reserve(),
  (sql) => sql.reserve(),
  (sql) => sql.query(),
  (sql) => sql.query(),
  (sql) => sql.query(),
  (sql) => `${sql.query()} union all ${sql.query()}`,
  (sql) =>
    `${sql.query()} for ${sql.pick(["update", "no key update", "share", "key share"])} ${sql.maybe("nowait", "skip locked")}`,
  (sql) => `with q as (${sql.query()}), c as (${sql.change()}) select * from q`,
  (sql) => `table jp.${sql.table.name}`,
  (sql) =>
    `explain (analyze, verbose, costs off, timing off, summary off) ${sql.pick([sql.query(), sql.change()])}`,
  (sql) => `explain ${sql.query()}`,
  (sql) => sql.merge(),
  (sql) => `copy jp.${sql.table.name} to stdout`,
  (sql) => `copy (${sql.query()}) to stdout`,
  (sql) => `copy jp.${sql.table.name} from stdin`,
  (sql) => `copy jp.${sql.table.name} to '/tmp/jp-fuzz'`,
  (sql) => `copy jp.${sql.table.name} from program 'true'`,
  // Cursors.
  (sql) =>
    `declare c${sql.pick([1, 2])} ${sql.maybe("scroll")} cursor ${sql.maybe("with hold")} for ${sql.query()}`,
  (sql) =>
    `fetch ${sql.pick(["all", "next", "first", "last", "backward all", "absolute 2"])} from c${sql.pick([1, 2])}`,
  (sql) => `move 1 from c${sql.pick([1, 2])}`,
  (sql) => `delete from jp.${sql.table.name} where current of c${sql.pick([1, 2])}`,
  (sql) => `close c${sql.pick([1, 2])}`,
  // Transactions.
  () => "begin",
  (sql) =>
    `begin isolation level ${sql.pick(["serializable", "repeatable read", "read committed"])}`,
  () => "commit",
  () => "rollback",
  () => "savepoint s",
  () => "rollback to s",
  () => "release s",
  () => "set constraints all deferred",
  // Another role, other settings.
  (sql) => `set ${sql.maybe("local", "session")} role ${sql.role}`,
  (sql) => `set session authorization ${sql.role}`,
  (sql) =>
    `select set_config('role', '${sql.role.replaceAll('"', "")}', ${sql.pick(["true", "false"])})`,
  () => "reset role",
  (sql) => `set row_security = ${sql.pick(["on", "off"])}`,
  (sql) => `set search_path = ${sql.pick(["jp", "pg_temp, jp, pg_catalog", "public"])}`,
  (sql) => `set session_replication_role = ${sql.pick(["replica", "origin"])}`,
  (sql) =>
    `set ${sql.pick(["enable_seqscan", "enable_indexscan", "plan_cache_mode", "jit", "debug_parallel_query"])} = ${sql.pick(["on", "off", "force_generic_plan"])}`,
  (sql) => `set jp.tenant = ${sql.expression("text")}`,
  () => "discard plans",
  // Functions.
  (sql) => `select jp.may_take(${sql.expression("text")}, ${sql.expression("bigint")})`,
  (sql) =>
    `select jp.grow(${sql.expression("text")}, ${sql.expression("bigint")}, ${sql.expression("integer")})`,
  (sql) => `select jp.grow(tenant, 1, 1), * from jp.${sql.table.name}`,
  (sql) => `select pg_notify('jp', ${sql.expression("text")})`,
  (sql) => `select nextval('jp.${sql.table.name}_key_seq'), lastval()`,
  (sql) => `select setval('jp.${sql.table.name}_key_seq', ${sql.expression("bigint")})`,
  (sql) => `select * from jp.${sql.table.name}_key_seq`,
  (sql) => `select query_to_xml('${sql.query().replaceAll("'", "''")}', true, true, '')`,
  (sql) => `select table_to_xml('jp.${sql.table.name}', true, true, '')`,
  () => "select schema_to_xml('jp', true, true, '')",
  (sql) =>
    `select * from ${sql.pick(["pg_stats", "pg_stat_activity", "pg_locks", "pg_cursors", "pg_prepared_statements", "pg_stat_user_tables", "pg_settings where name like 'jp.%'", "pg_stats_ext", "pg_statistic", "pg_authid", "pg_largeobject"])}`,
  (sql) => `select pg_read_file('${sql.pick(["PG_VERSION", "postgresql.conf"])}'), pg_ls_dir('.')`,
  (sql) => `select heap_page_items(get_raw_page('jp.${sql.table.name}', 0))`,
  () => "select lo_import('/etc/hostname'), lo_create(0)",
  (sql) =>
    `select pg_terminate_backend(pid), pg_cancel_backend(pid) from pg_stat_activity where usename <> current_user ${sql.maybe("limit 1")}`,
  // Functions of its own, which the server could call on rows that a policy hides.
  () =>
    `create or replace function pg_temp.leak(text) returns boolean language plpgsql cost 0.0000001 as
      $$ begin raise notice '%', $1; return true; end $$`,
  (sql) => `create or replace temp view v as ${sql.query()}`,
  () => "select * from pg_temp.v",
  (sql) =>
    `do $$ declare r record; begin for r in ${sql.query()} loop raise notice '%', r; end loop; ${sql.change()}; exception when others then raise notice '% %', sqlerrm, sqlstate; end $$`.replaceAll(
      / returning (\*|tenant, ctid, xmin)/g,
      "",
    ),
  (sql) => `prepare p${sql.pick([1, 2])} as ${sql.pick([sql.query(), sql.change()])}`,
  (sql) => `execute p${sql.pick([1, 2])}`,
  (sql) => `deallocate p${sql.pick([1, 2])}`,
  (sql) => `select into pg_temp.t${sql.pick([1, 2])} * from jp.${sql.table.name}`,
  (sql) => `create temp table if not exists w${sql.pick([1, 2])} as ${sql.query()}`,
  // The tables themselves.
  (sql) =>
    `alter table jp.${sql.table.name} ${sql.pick(["disable row level security", "no force row level security", "owner to current_user", "disable trigger all"])}`,
  (sql) => `drop policy tenant on jp.${sql.table.name}`,
  (sql) => `create policy mine on jp.${sql.table.name} using (true)`,
  (sql) => `alter policy tenant on jp.${sql.table.name} using (true)`,
  (sql) => `create rule r as on insert to jp.${sql.table.name} do also ${sql.query()}`,
  (sql) =>
    `create trigger t after insert on jp.${sql.table.name} for each row execute function pg_temp.leak()`,
  (sql) => `truncate jp.${sql.table.name} ${sql.maybe("cascade")}`,
  (sql) => `drop table jp.${sql.table.name} cascade`,
  (sql) => `grant all on jp.${sql.table.name} to current_user`,
  (sql) => `grant ${sql.role} to current_user`,
  (sql) =>
    `alter role current_user ${sql.pick(["bypassrls", "superuser", "connection limit 1000"])}`,
  (sql) => `create table jp.mine${sql.pick([1, 2])} (x int references jp.workspaces)`,
  (sql) =>
    `create temp table refs (tenant text, key bigint, foreign key (tenant, key) references jp.${sql.table.name} (tenant, key))`,
  (sql) => `create index on jp.${sql.table.name} (tenant)`,
  (sql) => `analyze jp.${sql.table.name}`,
  (sql) => `create statistics on tenant, key from jp.${sql.table.name}`,
  () => "listen jp",
];
