/** The workspaces of one tenant in a database over shared connections, for programs that work with all of them. */
import { loadModule } from "../../util/index.ts";
import type { SteppedBackTurn, Tenant } from "../workspace-port.ts";
import { PeopleRows } from "./people-rows.ts";
import { assertVersion } from "./schema.ts";
import { SessionRows } from "./session-rows.ts";
import { type Connections, openConnections } from "./channel.ts";
import { PostgresStore } from "./postgres-store.ts";
import { DEFAULT_TENANT, type TenantOptions } from "./store-options.ts";

export class PostgresTenant implements Tenant {
  readonly #options: TenantOptions;
  readonly #connections: Connections;
  readonly #opened = new Map<string, PostgresStore>();
  readonly people: PeopleRows;
  readonly sessions: SessionRows;

  /** Throws `invalid_store`. Connects on first use. */
  constructor(options: TenantOptions) {
    this.#options = options;
    this.#connections = openConnections(options.url, options.connecting);
    this.people = new PeopleRows(this.#connections, this.#tenant);
    this.sessions = new SessionRows(this.#connections.database, this.#tenant);
  }

  async list(): Promise<readonly string[]> {
    const { database } = this.#connections;
    await assertVersion(database);
    const rows = await database.query<{ readonly name: string }>({
      text: `select name from jp.workspaces where tenant = $1 order by name collate "C"`,
      values: [this.#tenant],
    });
    return rows.map(({ name }) => name);
  }

  open(workspace: string): PostgresStore {
    const known = this.#opened.get(workspace);
    if (known !== undefined) return known;
    const store = new PostgresStore({ ...this.#options, workspace }, this.#connections);
    this.#opened.set(workspace, store);
    return store;
  }

  async findSteppedBack(): Promise<readonly SteppedBackTurn[]> {
    const { findSteppedBack } = await loadModule(() => import("./restored-turns.ts"));
    return findSteppedBack(this.#connections.database, this.#options, await this.list());
  }

  async acceptSteppedBack(turn: SteppedBackTurn, by: string): Promise<boolean> {
    const { acceptSteppedBack } = await loadModule(() => import("./restored-turns.ts"));
    return acceptSteppedBack(this.#connections.database, this.#options, { ...turn, by });
  }

  async close(): Promise<void> {
    await this.people.close();
    for (const store of this.#opened.values()) await store.close();
    await this.#connections.database.close();
  }

  get #tenant(): string {
    return this.#options.tenant ?? DEFAULT_TENANT;
  }
}
