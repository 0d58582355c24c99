/** Two tenants in a database, of whom one runs random SQL, and what the other one would notice. */
import type { Client } from "pg";
import { onTestFinished } from "vitest";
import { migrateStore } from "../../src/index.ts";
import { openPeople, type People } from "../../src/settings/people/index.ts";
import { answerBy, REST, WAITING } from "../../src/stores/open-question.fixture.ts";
import { Database } from "../../src/stores/postgres/database.ts";
import { writeLimits } from "../../src/stores/postgres/limits.ts";
import { PostgresStore } from "../../src/stores/postgres/postgres-store.ts";
import { groupRolesScript, tenantRoleScript } from "../../src/stores/postgres/roles.ts";
import { PostgresTenant } from "../../src/stores/postgres/tenant.ts";
import { emptyDatabase } from "../support/postgres.ts";
import { Random } from "../torture/random.ts";
import { RandomSql, type SqlTable, type SqlWorld } from "./random-sql.ts";

/** In the texts of the other tenant's rows. No statement has it. */
const CANARY = "canary";
/** The number in its rows. */
const CANARY_NUMBER = "777000777";

/** How many statements one connection runs before all is looked at. */
const BATCH = 100;
const KINDS = ["reader", "writer", "desk"] as const;

/** Rows of both tenants in all tables. Those of acme have canaries. */
const FILL = `
  insert into jp.workspaces (tenant, name, last_id)
    select t, 'w' || n || c, case c when '' then 1 else ${CANARY_NUMBER} end from tenants, generate_series(1, 3) n;
  insert into jp.conversations (workspace, tenant, id, created_at, metadata, labels, base_config, folder, length, bytes,
      last_event_at, open_turn, ready_at, queue, is_own_turn, turn_key, turn_signature, lease_owner, lease_holder)
    select w.key, w.tenant, 'jp-c' || (17760000000 + n), c || n, '{"c": "' || c || '"}', jsonb_build_object('c', c), c, c,
      2, 9, c, 0, 1, c, true, c, c, c, c
    from jp.workspaces w join tenants on t = w.tenant, generate_series(1, 3) n where w.name like 'w%';
  insert into jp.events (conversation, tenant, seq, entry)
    select c.key, c.tenant, n, tenants.c || n from jp.conversations c join tenants on t = c.tenant, generate_series(0, 1) n;
  insert into jp.chain (conversation, tenant, seq, line) select conversation, tenant, seq, entry from jp.events join tenants on t = tenant;
  insert into jp.files (conversation, tenant, name, content)
    select conversation, tenant, entry, convert_to(entry, 'UTF8') from jp.events join tenants on t = tenant;
  insert into jp.offers (key, conversation, tenant, offered, refusal)
    select gen_random_uuid(), conversation, tenant, entry, entry from jp.events join tenants on t = tenant;
  insert into jp.people_log (tenant, person_id, what, entry) select t, c || n, c, c from tenants, generate_series(1, 3) n;
  insert into jp.desk_sessions (tenant, key, who, started_at, used_at)
    select t, c || n, c, 1, 1 from tenants, generate_series(1, 3) n;
  insert into jp.turn_starts (tenant) select t from tenants join jp.limits on tenant = t;`;

/** A connection of a login, and everything that the server tells it. */
interface Session {
  readonly client: Client;
  readonly heard: string[];
}

export class SqlAttack {
  readonly #owner: Database;
  readonly #url: string;
  readonly #sql: RandomSql;
  readonly #roles: readonly string[];
  readonly #store: PostgresStore;
  readonly #people: People;
  readonly #tables: readonly SqlTable[];
  /** How many statements the server did not refuse. */
  succeeded = 0;

  private constructor(parts: {
    readonly owner: Database;
    readonly url: string;
    readonly sql: RandomSql;
    readonly roles: readonly string[];
    readonly store: PostgresStore;
    readonly people: People;
    readonly tables: readonly SqlTable[];
  }) {
    this.#owner = parts.owner;
    this.#url = parts.url;
    this.#sql = parts.sql;
    this.#roles = parts.roles;
    this.#store = parts.store;
    this.#people = parts.people;
    this.#tables = parts.tables;
  }

  /** `opening` is SQL by the owner, to see that an opening is found. */
  static async start(seed: number, opening?: string): Promise<SqlAttack> {
    const url = await emptyDatabase();
    await migrateStore(url);
    const owner = new Database(url);
    const id = crypto.randomUUID().replaceAll("-", "");
    await owner.query({ text: groupRolesScript() });
    const roleOf = (name: string) => `${name}_${id}`;
    for (const kind of KINDS) {
      await owner.query({ text: tenantRoleScript({ role: roleOf(kind), tenant: "evil", kind }) });
    }
    await owner.query({
      text: tenantRoleScript({ role: roleOf("acme"), tenant: "acme", kind: "desk" }),
    });
    const address = new URL(url);
    address.username = roleOf("acme");
    const place = { url: address.href, tenant: "acme", pid: process.pid };
    const store = new PostgresStore({ ...place, workspace: "site" });
    const tenant = new PostgresTenant(place);
    onTestFinished(async () => {
      for (const each of [store, tenant, owner]) await each.close();
    });
    for (const name of ["acme", "evil"]) {
      await writeLimits(owner, { tenant: name, turns: 100, bytes: 1e9, requests: 1e6 });
    }
    await fill(owner, ["acme", "evil"]);
    await (await store.create({ title: CANARY })).release();
    await owner.query({ text: "analyze" });
    if (opening !== undefined) await owner.query({ text: opening });
    const tables = await tablesOf(owner);
    const roles = [
      ...KINDS.map(roleOf),
      roleOf("acme"),
      "jp_reader",
      "jp_writer",
      "jp_desk",
      "jp_worker",
      "app",
      "none",
    ];
    const world: SqlWorld = { tables, values: await valuesOf(owner), roles };
    return new SqlAttack({
      owner,
      url,
      sql: new RandomSql(new Random(seed), world),
      roles: ["reader", "writer", "writer", "desk", "desk", "desk"].map(roleOf),
      store,
      people: openPeople(tenant.people),
      tables,
    });
  }

  /** Returns what the other tenant has noticed, and after which statement. Stops at the first. */
  async run(statements: number): Promise<readonly string[]> {
    for (let done = 0; done < statements; done += BATCH) {
      const found = await this.#runBatch(Math.min(BATCH, statements - done));
      if (found.length > 0) return found;
    }
    return [];
  }

  async #runBatch(count: number): Promise<readonly string[]> {
    await fill(this.#owner, ["evil"]);
    const before = await this.#dump();
    const session = await this.#connect(this.#sql.pick(this.#roles));
    const tried: string[] = [];
    try {
      for (let index = 0; index < count; index += 1) {
        const text = this.#sql.statement();
        tried.push(text);
        const read = await this.#try(session, text);
        if (read !== undefined) return [`${text}\nhas read: ${read.slice(0, 500)}`];
      }
      const changed = await this.#findChange(before);
      // While the session still holds what it has locked.
      const refused = await this.#useAsAcme();
      const between = await this.#dump();
      await tell(session.client, "commit");
      const late = await this.#findChange(between);
      const noticed = changed ?? refused ?? late;
      return noticed === undefined ? [] : [noticed, ...tried];
    } finally {
      await session.client.end();
    }
  }

  /** Returns what it has told of the other tenant. */
  async #try({ client, heard }: Session, text: string): Promise<string | undefined> {
    // With most settings that it tries, it would see even less.
    if (this.#sql.chance(0.2)) await tell(client, "reset all; reset role");
    const said = await tell(client, text);
    if (!said.startsWith("error")) this.succeeded += 1;
    else if (this.#sql.chance(0.7)) await tell(client, "rollback");
    return [said, ...heard.splice(0)].find(hasCanary);
  }

  async #findChange(before: readonly string[]): Promise<string | undefined> {
    const after = await this.#dump();
    const changed = before.find((table, index) => table !== after[index]);
    return changed && `changed: ${changed.slice(0, 500)}`;
  }

  async #connect(role: string): Promise<Session> {
    const address = new URL(this.#url);
    address.username = role;
    const database = new Database(address.href);
    const client = await database.connect();
    client.ref();
    const heard: string[] = [];
    client.on("notice", (notice) => heard.push(textOf(notice)));
    client.on("notification", (notification) => heard.push(textOf(notification)));
    // Part of `pg`, but not of its types.
    const { connection } = client as unknown as {
      readonly connection: {
        on(name: "copyData", listener: (message: { chunk: Buffer }) => void): void;
      };
    };
    connection.on("copyData", ({ chunk }) => heard.push(chunk.toString("utf8")));
    return { client, heard };
  }

  /** All rows of acme, by table. */
  async #dump(): Promise<readonly string[]> {
    const dumps: string[] = [];
    for (const { name, columns } of this.#tables) {
      const owned =
        name === "tenant_roles" || !columns.some((column) => column.name === "tenant")
          ? "true"
          : "tenant = 'acme'";
      const [row] = await this.#owner.query<{ readonly all: string | null }>({
        text: `select string_agg(t::text, chr(10) order by t::text) as all from jp.${name} t where ${owned}`,
      });
      dumps.push(`${name}: ${row?.all ?? ""}`);
    }
    return dumps;
  }

  /** Each kind of write that acme makes. Returns the first refusal. */
  async #useAsAcme(): Promise<string | undefined> {
    try {
      const writer = await this.#store.create({ title: CANARY });
      await writer.append(...WAITING);
      await writer.updateMetadata((metadata) => ({ ...metadata, title: `${CANARY} 2` }));
      await writer.release();
      const result = await this.#store.answer(writer.id, answerBy("Ana"));
      if (result.type !== "recorded") return `acme's answer: ${result.type}`;
      const next = await this.#store.open(writer.id);
      await next.append(...REST.slice(1));
      await next.release();
      const copy = await this.#store.fork(writer.id);
      await this.#store.archive(copy);
      await this.#store.unarchive(copy);
      const { entries } = (await this.#store.load(writer.id)).stream;
      if (entries.length !== WAITING.length + REST.length)
        return `acme has ${entries.length} entries`;
      for (const id of [copy, writer.id]) await this.#store.remove(id);
      await this.#people.add(`${CANARY} ${crypto.randomUUID()}`, ["see"]);
      return undefined;
    } catch (error) {
      return `acme was refused: ${textOf(error)}`;
    }
  }
}

/** The answer of the server, or its error. */
async function tell(client: Client, text: string): Promise<string> {
  try {
    return textOf(await client.query(text));
  } catch (error) {
    return `error ${textOf(error)}`;
  }
}

/** Everything in it, bytes as text. */
function textOf(value: unknown): string {
  // What an error says is not among its entries.
  const shown =
    value instanceof Error
      ? { ...Object.fromEntries(Object.entries(value)), message: value.message }
      : value;
  return JSON.stringify(shown, (key, part: unknown) => {
    // Of results: how to parse them.
    if (key === "_types" || key === "_parsers" || key === "query") return undefined;
    if (
      typeof part === "object" &&
      part !== null &&
      "type" in part &&
      part.type === "Buffer" &&
      "data" in part &&
      Array.isArray(part.data)
    ) {
      return Buffer.from(part.data as number[]).toString("latin1");
    }
    return part;
  });
}

function hasCanary(text: string): boolean {
  const hex = Buffer.from(CANARY).toString("hex");
  return text.includes(CANARY) || text.includes(CANARY_NUMBER) || text.includes(hex);
}

async function fill(owner: Database, tenants: readonly string[]): Promise<void> {
  const rows = tenants.map((name) => `('${name}', '${name === "acme" ? CANARY : ""}')`).join(", ");
  await owner.query({
    text: `delete from jp.workspaces where tenant = 'evil';
      ${["people_log", "desk_sessions", "people", "turn_starts"].map((table) => `delete from jp.${table} where tenant = 'evil';`).join("")}
      create temp table tenants on commit drop as select * from (values ${rows}) as given (t, c);
      ${FILL}`,
  });
}

async function tablesOf(owner: Database): Promise<readonly SqlTable[]> {
  const rows = await owner.query<{ readonly name: string; readonly columns: SqlTable["columns"] }>({
    text: `select c.relname as name,
        json_agg(json_build_object('name', a.attname, 'type', a.atttypid::regtype) order by a.attnum) as columns
      from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      where c.relnamespace = 'jp'::regnamespace and c.relkind = 'r' group by c.relname order by c.relname`,
  });
  return rows;
}

/** The last one that the login can see. */
function own(column: string, table: string): string {
  return `(select max(${column}) from jp.${table})`;
}

/** Expressions worth trying: what names or numbers rows of both tenants, and what does not exist yet. */
async function valuesOf(owner: Database): Promise<SqlWorld["values"]> {
  const keys = await owner.query<{ readonly key: string }>({
    text: `select key from jp.workspaces union select key from jp.conversations union select key from jp.people_log
      union select max(key) + n from jp.conversations, generate_series(1, 200) n group by n`,
  });
  const offers = await owner.query<{ readonly key: string }>({ text: "select key from jp.offers" });
  const next = ["workspaces", "conversations", "people", "people_log"].flatMap((table) =>
    [0, 1, 2, 3].map((more) => `${own("key", table)} + ${more}`),
  );
  const texts = "default * site w1 jp-c17760000001 x {} offered".split(" ");
  const tenants = ["'acme'", "'evil'"].flatMap((tenant) => Array.from({ length: 5 }, () => tenant));
  return new Map<string, readonly string[]>([
    ["tenant text", ["'evil'"]],
    ["key bigint", next],
    ["workspace bigint", [own("key", "workspaces")]],
    ["conversation bigint", [own("key", "conversations")]],
    ["bigint", [...keys.map(({ key }) => key), ...next, "-1", "0"]],
    ["integer", ["0", "1", "2", "99", "-1", "2147483647"]],
    [
      "text",
      [...tenants, ...texts.map((text) => `'${text}'`), "current_user", own("name", "workspaces")],
    ],
    ["uuid", [...offers.map(({ key }) => `'${key}'`), "gen_random_uuid()"]],
    ["boolean", ["true", "false"]],
    ["jsonb", [`'{}'`, `'{"a": "b"}'`]],
    ["bytea", ["''", "'x'::bytea"]],
    ["timestamp with time zone", ["now()", "clock_timestamp()", "'infinity'"]],
    ["xid8", ["pg_current_xact_id()", "'0'::xid8"]],
    ["name", ["current_user", "'app'"]],
  ]);
}
