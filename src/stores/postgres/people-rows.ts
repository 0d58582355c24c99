/**
 * The people of a tenant. Code that cannot wait reads them as last loaded. They are reloaded when the database reports
 * a change, and every two seconds in case it cannot.
 */
import { createHash } from "node:crypto";
import { monotonicMs, systemErrorCode } from "../../util/index.ts";
import type { PeopleChange, PeopleLogRow, PeopleTable, PersonRow } from "../workspace-port.ts";
import { CHANNEL, type ChannelListener, type Connections } from "./channel.ts";
import type { Queries } from "./database.ts";
import { assertVersion } from "./schema.ts";

/** The polling interval. */
const LOOK_MS = 2000;
/** Used with a hash of the tenant, and distinct from jp's migration lock. */
const PEOPLE_LOCK = 0x6a71;
/** A table or a schema does not exist. */
const MISSING_CODES = new Set(["42P01", "3F000"]);

type Change = Parameters<PeopleTable["change"]>[0];

interface Loaded {
  readonly people: readonly PersonRow[];
  readonly digest: string;
  /** When the statement was sent. */
  readonly at: number;
}

/** A row of the statement that loads them. The name is null if there are none, or if nothing has changed. */
interface LoadedRow {
  readonly digest: string;
  readonly name: string | null;
  readonly person: string | null;
}

export class PeopleRows implements PeopleTable {
  readonly #connections: Connections;
  readonly #tenant: string;
  readonly #hearing: ChannelListener;
  readonly #notice: string;
  #loaded: Loaded | undefined;
  #loading: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  /** Changes run in the order they were requested. */
  #lastChange: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #isHearing = false;
  #isClosed = false;

  constructor(connections: Connections, tenant: string) {
    this.#connections = connections;
    this.#tenant = tenant;
    // Hashed, because other tenants can receive it.
    this.#notice = `p${createHash("sha256").update(tenant).digest("hex")}`;
    const reload = () => void this.load().catch(() => undefined); // Tried again.
    this.#hearing = {
      onNotice: (payload) => {
        if (payload === this.#notice) reload();
      },
      onConnected: reload,
    };
  }

  read(): readonly PersonRow[] {
    if (this.#loaded === undefined) throw new Error("the people are read before they are loaded");
    return this.#loaded.people;
  }

  async load(maxAgeMs = 0): Promise<void> {
    const age = monotonicMs() - (this.#loaded?.at ?? Number.NEGATIVE_INFINITY);
    if (maxAgeMs > 0 && age <= maxAgeMs) return;
    // A running load may have started before the change that the caller knows of. All callers share the next one.
    this.#next ??= this.#loadNext();
    await this.#next;
  }

  change(change: Change): Promise<void> {
    const write = () => this.#change(change);
    const done = this.#lastChange.then(write, write);
    this.#lastChange = done;
    return done;
  }

  async readLog(personId?: string): Promise<readonly string[]> {
    const { database } = this.#connections;
    const rows = await this.#explain(
      database.query<{ readonly entry: string }>({
        text: `select entry from jp.people_log
          where tenant = $1 and person_id = coalesce($2, person_id) order by key`,
        values: [this.#tenant, personId ?? null],
      }),
    );
    return rows.map(({ entry }) => entry);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    this.#timer = undefined;
    if (this.#isHearing) await this.#connections.channel.remove(this.#hearing);
    this.#isHearing = false;
  }

  async #change(change: Change): Promise<void> {
    let changed: PeopleChange | undefined;
    await this.#explain(
      this.#connections.database.transaction(async (queries, isRepeated) => {
        await queries.query({
          text: "select pg_advisory_xact_lock($1, hashtext($2))",
          values: [PEOPLE_LOCK, this.#tenant],
        });
        const before = await this.#select(queries);
        // The first try was committed, and only its confirmation was lost.
        if (isRepeated && changed !== undefined && isSame(before, changed.people)) return;
        changed = change(before, await this.#selectRemoved(queries));
        if (changed !== undefined) await this.#write(queries, changed);
      }),
    );
    if (changed !== undefined) await this.load();
  }

  async #loadNext(): Promise<void> {
    await this.#loading?.catch(() => undefined);
    this.#next = undefined;
    this.#loading = this.#explain(this.#load());
    await this.#loading;
  }

  /** Fetches no people again if none have changed. */
  async #load(): Promise<void> {
    const at = monotonicMs();
    const { digest: known = "", people: before = [] } = this.#loaded ?? {};
    const rows = await this.#connections.database.query<LoadedRow>({
      name: "jp_people",
      text: `with people as (select key, name, person from jp.people where tenant = $1),
        known as (select encode(sha256(convert_to(coalesce(
          string_agg(format('%s %L %L', key, name, person), ',' order by key), ''), 'UTF8')), 'hex') as digest
          from people)
        select k.digest, p.name, p.person from known k
        left join people p on k.digest <> $2 order by p.key`,
      values: [this.#tenant, known],
    });
    const digest = rows[0]?.digest ?? "";
    const people = digest === known ? before : rows.flatMap(toPersonRow);
    this.#loaded = { people, digest, at };
    this.#keepFresh();
  }

  /** A command that ends before the first interval does not listen. */
  #keepFresh(): void {
    const { channel } = this.#connections;
    if (this.#isClosed) return;
    this.#timer ??= setInterval(() => {
      if (this.#isHearing) channel.connect();
      else channel.add(this.#hearing);
      this.#isHearing = true;
      void this.load(LOOK_MS / 2).catch(() => undefined);
    }, LOOK_MS).unref();
  }

  async #select(queries: Queries): Promise<readonly PersonRow[]> {
    return queries.query<PersonRow & Record<string, string>>({
      text: "select name, person from jp.people where tenant = $1 order by key",
      values: [this.#tenant],
    });
  }

  async #selectRemoved(queries: Queries): Promise<ReadonlySet<string>> {
    const rows = await queries.query<{ readonly person_id: string }>({
      text: "select person_id from jp.people_log where tenant = $1 and what = 'person_removed'",
      values: [this.#tenant],
    });
    return new Set(rows.map((row) => row.person_id));
  }

  async #write(queries: Queries, { people, entry }: PeopleChange): Promise<void> {
    const names = people.map(({ name }) => name);
    await queries.query({
      text: "delete from jp.people where tenant = $1 and name <> all($2::text[])",
      values: [this.#tenant, names],
    });
    await queries.query({
      text: `insert into jp.people as p (tenant, name, person)
        select $1, name, person from unnest($2::text[], $3::text[]) with ordinality as given (name, person, place)
        order by place
        on conflict (tenant, name) do update set person = excluded.person where p.person <> excluded.person`,
      values: [this.#tenant, names, people.map(({ person }) => person)],
    });
    if (entry !== undefined) await this.#log(queries, entry);
    await queries.query({ text: `select pg_notify('${CHANNEL}', $1)`, values: [this.#notice] });
  }

  async #log(queries: Queries, { personId, what, entry }: PeopleLogRow): Promise<void> {
    await queries.query({
      text: "insert into jp.people_log (tenant, person_id, what, entry) values ($1, $2, $3, $4)",
      values: [this.#tenant, personId, what, entry],
    });
  }

  /**
   * Throws `store_not_migrated`, `store_too_new` if that is why it fails. Checked only on failure, so that success
   * takes one statement.
   */
  async #explain<Value>(action: Promise<Value>): Promise<Value> {
    try {
      return await action;
    } catch (error) {
      if (MISSING_CODES.has(systemErrorCode(error) ?? "")) {
        await assertVersion(this.#connections.database);
      }
      throw error;
    }
  }
}

function toPersonRow({ name, person }: LoadedRow): readonly PersonRow[] {
  return name === null || person === null ? [] : [{ name, person }];
}

function isSame(left: readonly PersonRow[], right: readonly PersonRow[]): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}
