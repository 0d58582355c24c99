/** The workspaces of one tenant in a database, for programs that work with all of them: over the same connections. */
import { assertVersion } from "./schema.ts";
import type { ConversationStore } from "../port.ts";
import { type Connections, openConnections, PostgresStore } from "./postgres-store.ts";
import type { PostgresStoreOptions } from "./store-options.ts";

export type TenantOptions = Omit<PostgresStoreOptions, "workspace">;

export class Tenant {
  readonly #options: TenantOptions;
  readonly #connections: Connections;
  readonly #opened = new Map<string, PostgresStore>();

  /** Throws `invalid_store`. Nothing connects before it is used. */
  constructor(options: TenantOptions) {
    this.#options = options;
    this.#connections = openConnections(options.url);
  }

  /** The names of those that something was stored in. Throws `store_unreachable`, `store_not_migrated`, `store_too_new`. */
  async list(): Promise<readonly string[]> {
    const { database } = this.#connections;
    await assertVersion(database);
    const rows = await database.query<{ readonly name: string }>({
      text: `select name from jp.workspaces where tenant = $1 order by name collate "C"`,
      values: [this.#options.tenant ?? "default"],
    });
    return rows.map(({ name }) => name);
  }

  /** The conversations of one. It need not exist yet. */
  open(workspace: string): ConversationStore {
    const known = this.#opened.get(workspace);
    if (known !== undefined) return known;
    const connections = this.#connections;
    const store = new PostgresStore({ ...this.#options, workspace, connections });
    this.#opened.set(workspace, store);
    return store;
  }

  /** Ends the connections, also of the stores. */
  async close(): Promise<void> {
    for (const store of this.#opened.values()) await store.close();
    await this.#connections.database.close();
  }
}
