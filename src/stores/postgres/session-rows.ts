/** The sessions of a tenant's desks, looked up by key. */
import type { EndedSessions, SessionRow, SessionTable } from "../workspace-port.ts";
import type { Database } from "./database.ts";

interface StoredRow {
  readonly who: string;
  readonly started_at: string;
  readonly used_at: string;
}

export class SessionRows implements SessionTable {
  readonly #database: Database;
  readonly #tenant: string;

  constructor(database: Database, tenant: string) {
    this.#database = database;
    this.#tenant = tenant;
  }

  async find(key: string): Promise<SessionRow | undefined> {
    const [row] = await this.#database.query<StoredRow>({
      name: "jp_session",
      text: "select who, started_at, used_at from jp.desk_sessions where tenant = $1 and key = $2",
      values: [this.#tenant, key],
    });
    if (row === undefined) return undefined;
    const { who, started_at: startedAt, used_at: usedAt } = row;
    return { key, who, startedAt: Number(startedAt), usedAt: Number(usedAt) };
  }

  async start({ key, who, startedAt, usedAt }: SessionRow, ended: EndedSessions): Promise<void> {
    await this.#database.transaction(async (queries) => {
      await queries.query({
        text: `delete from jp.desk_sessions
          where tenant = $1 and (key = any($2::text[]) or started_at < $3 or used_at < $4)`,
        values: [this.#tenant, [key, ...ended.keys], ended.startedBefore, ended.usedBefore],
      });
      await queries.query({
        text: `delete from jp.desk_sessions where tenant = $1 and key in (
          select key from jp.desk_sessions where tenant = $1 and who = $2 order by used_at desc, key offset $3)`,
        values: [this.#tenant, who, ended.kept],
      });
      await queries.query({
        text: `insert into jp.desk_sessions (tenant, key, who, started_at, used_at) values ($1, $2, $3, $4, $5)
          on conflict (tenant, key) do update set who = $3, started_at = $4, used_at = $5`,
        values: [this.#tenant, key, who, startedAt, usedAt],
      });
    });
  }

  async use(key: string, { now, before }: { readonly now: number; readonly before: number }) {
    await this.#database.query({
      name: "jp_session_use",
      text: "update jp.desk_sessions set used_at = $3 where tenant = $1 and key = $2 and used_at <= $4",
      values: [this.#tenant, key, now, before],
    });
  }

  async end(key: string): Promise<void> {
    await this.#database.query({
      text: "delete from jp.desk_sessions where tenant = $1 and key = $2",
      values: [this.#tenant, key],
    });
  }
}
