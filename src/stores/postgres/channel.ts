/** A connection that receives the notifications of a database on one of its channels, for any number of listeners. */
import { Database, type ReferencedClient } from "./database.ts";
import type { Connecting } from "./store-options.ts";

/** The channel that all stores of a database listen to. */
export const CHANNEL = "jp";

/** The connections to one database. */
export interface Connections {
  readonly database: Database;
  readonly channel: Channel;
}

/** Throws `invalid_store`. Connects on first use. */
export function openConnections(url: string, connecting?: Connecting): Connections {
  const database = new Database(url, connecting);
  return { database, channel: new Channel(database) };
}

/** Must not throw. */
export interface ChannelListener {
  readonly onNotice: (payload: string) => void;
  /** Notices arrive from now on. Earlier ones may have been missed. */
  readonly onConnected: () => void;
}

/** Connected while there are listeners. */
export class Channel {
  readonly #database: Database;
  readonly #name: string;
  readonly #listeners = new Set<ChannelListener>();
  #client: ReferencedClient | undefined;
  #isConnecting = false;

  constructor(database: Database, name = CHANNEL) {
    this.#database = database;
    this.#name = name;
  }

  get isConnected(): boolean {
    return this.#client !== undefined;
  }

  /** Adding the same listener twice has no effect. */
  add(listener: ChannelListener): void {
    this.#listeners.add(listener);
    if (this.isConnected) listener.onConnected();
    else this.connect();
  }

  /** Removing the last listener closes the connection. */
  async remove(listener: ChannelListener): Promise<void> {
    this.#listeners.delete(listener);
    if (this.#listeners.size > 0) return;
    const client = this.#client;
    this.#client = undefined;
    client?.ref(); // Otherwise the process could exit before the caller continues.
    await client?.end().catch(() => undefined);
  }

  /** Does nothing if connected. If it fails, call it again. */
  connect(): void {
    if (!this.isConnected && !this.#isConnecting) void this.#connect();
  }

  async #connect(): Promise<void> {
    this.#isConnecting = true;
    try {
      const client = await this.#database.connect();
      client.on("notification", ({ payload = "" }) => {
        for (const { onNotice } of this.#listeners) onNotice(payload);
      });
      client.on("end", () => {
        if (this.#client !== client) return;
        this.#client = undefined;
        this.connect();
      });
      await client.query(`listen "${this.#name}"`);
      if (this.#listeners.size === 0 || this.#database.isClosed) return await client.end();
      this.#client = client;
      for (const { onConnected } of this.#listeners) onConnected();
    } catch {
      // The next poll tries again.
    } finally {
      this.#isConnecting = false;
    }
  }
}
