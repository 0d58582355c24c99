/** Passes on connections to a PostgreSQL server, so that a test can do something between two messages. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import path from "node:path";

/**
 * With other text of the same length, that is passed on. With false, the connection is lost instead; if `unanswered`, once the server has replied; if `killed`, after the last words
 * of a server that is killed.
 */
type Passing = boolean | "unanswered" | "killed" | (string & {});

const LAST_WORDS = [
  "SFATAL",
  "C57P01",
  "Mterminating connection due to unexpected postmaster exit",
  "",
];

function lastWords(): Buffer {
  const fields = Buffer.from(LAST_WORDS.map((field) => `${field}\0`).join(""));
  const head = Buffer.from("E....");
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}

export class Relay implements AsyncDisposable {
  readonly url: string;
  readonly #server: Server;
  readonly #sockets: ReadonlySet<Socket>;

  private constructor(url: string, server: Server, sockets: ReadonlySet<Socket>) {
    this.url = url;
    this.#server = server;
    this.#sockets = sockets;
  }

  /**
   * `onMessage` gets each message of the client with its number, from 1; `listen` is called for each connection, and its
   * result gets what the server sends.
   */
  static async start(
    url: string,
    onMessage: (message: number, text: string) => Passing | Promise<Passing>,
    listen?: () => (data: Buffer) => void,
  ): Promise<Relay> {
    const sockets = new Set<Socket>();
    let messages = 0;
    const server = createServer((client) => {
      const upstream = connect(targetOf(url));
      for (const socket of [client, upstream]) sockets.add(socket);
      const hear = listen?.();
      let isUnanswered = false;
      let passing = Promise.resolve();
      const pass = async (
        before: Promise<void>,
        passed: Passing | Promise<Passing>,
        data: Buffer,
      ) => {
        await before;
        const how = await passed;
        isUnanswered = how === "unanswered";
        if (how === false) client.destroy();
        else if (how === "killed") client.end(lastWords());
        else upstream.write(typeof how === "string" && !isUnanswered ? Buffer.from(how) : data);
      };
      client.on("data", (data) => {
        messages += 1;
        const passed = onMessage(messages, String(data));
        passing = pass(passing, passed, data);
      });
      upstream.on("data", (data) => {
        hear?.(data);
        if (isUnanswered) client.destroy();
        else client.write(data);
      });
      const end = () => {
        client.destroy();
        upstream.destroy();
      };
      for (const socket of [client, upstream]) socket.on("close", end).on("error", end);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = new URL(url);
    address.hostname = "127.0.0.1";
    address.port = String((server.address() as AddressInfo).port); // It listens on a port.
    address.searchParams.delete("host");
    return new Relay(address.href, server, sockets);
  }

  /** Cuts all connections. New ones are accepted. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, "close");
  }
}

function targetOf(url: string) {
  const { hostname, port, searchParams } = new URL(url);
  const folder = searchParams.get("host");
  const number = port === "" ? 5432 : Number(port);
  return folder === null
    ? { host: hostname, port: number }
    : { path: path.join(folder, `.s.PGSQL.${number}`) };
}
