/** The one connection on which notifications of a database are heard, however many stores listen to them. */
import { Database, type ReferencedClient } from "./database.ts";

export const CHANNEL = "jp";

/** To one database. */
export interface Connections {
  readonly database: Database;
  readonly channel: Channel;
}

/** Throws `invalid_store`. Nothing connects before it is used. */
export function openConnections(url: string): Connections {
  const database = new Database(url);
  return { database, channel: new Channel(database) };
}

/** Must not throw. */
export interface ChannelListener {
  readonly onNotice: (payload: string) => void;
  /** From now on, notices are heard. Those before may have been missed. */
  readonly onConnected: () => void;
}

/** Connects while someone listens. */
export class Channel {
  readonly #database: Database;
  readonly #listeners = new Set<ChannelListener>();
  #client: ReferencedClient | undefined;
  #isConnecting = false;

  constructor(database: Database) {
    this.#database = database;
  }

  get isConnected(): boolean {
    return this.#client !== undefined;
  }

  /** The same listener can be added once. */
  add(listener: ChannelListener): void {
    this.#listeners.add(listener);
    if (this.isConnected) listener.onConnected();
    else this.connect();
  }

  /** The last one ends the connection. */
  async remove(listener: ChannelListener): Promise<void> {
    this.#listeners.delete(listener);
    if (this.#listeners.size > 0) return;
    const client = this.#client;
    this.#client = undefined;
    client?.ref(); // Otherwise the process could end before whoever waits for this goes on.
    await client?.end().catch(() => undefined);
  }

  /** Does nothing if it is connected. If it fails, it has to be called again. */
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
      await client.query(`listen ${CHANNEL}`);
      if (this.#listeners.size === 0 || this.#database.isClosed) return await client.end();
      this.#client = client;
      for (const { onConnected } of this.#listeners) onConnected();
    } catch {
      // Whoever looks meanwhile tries again.
    } finally {
      this.#isConnecting = false;
    }
  }
}
