/**
 * Keeps clients that open connections and send nothing from locking out the others. A connection is waiting until it
 * has sent a complete request. The number of waiting connections is limited: a new one closes the oldest. A burst of
 * clients that connect at once closes none: their requests are read a little later.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../../util/index.ts";

export interface ConnectionLimits {
  readonly connections: number;
  /** Waiting connections per address. */
  readonly waitingPerAddress: number;
}

/** How long a new connection is safe from being closed for others from its address. */
const GRACE_MS = 1000;

interface Waiting {
  readonly socket: Socket;
  readonly since: number;
}

/** Can be shared by several servers. */
export class Connections {
  readonly #limits: ConnectionLimits;
  /** Keyed by address and port, which also identify the connection below TLS. Longest waiting first. */
  readonly #waiting = new Map<string, Waiting>();
  readonly #perAddress = new Map<string, number>();
  readonly #sockets = new Map<string, Socket>();

  readonly #clock: Clock;

  constructor(limits: ConnectionLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  watch(server: Server): void {
    server.on("connection", (socket: Socket) => this.#add(socket));
    server.on("request", (request: IncomingMessage, response: ServerResponse) =>
      this.#onRequest(request, response),
    );
  }

  #add(socket: Socket): void {
    const { remoteAddress: address, remotePort } = socket;
    if (address === undefined) return void socket.destroy(); // Already closed.
    const key = `${address} ${remotePort}`;
    this.#sockets.set(key, socket);
    this.#wait(key, socket);
    socket.once("close", () => {
      this.#sockets.delete(key);
      this.#stopWaiting(key);
    });
    this.#closeOldestOf(address);
    const [oldest] = this.#waiting.keys();
    if (this.#sockets.size > this.#limits.connections && oldest !== undefined) this.#close(oldest);
  }

  #onRequest(request: IncomingMessage, response: ServerResponse): void {
    const key = keyOf(request);
    const socket = this.#sockets.get(key);
    if (socket === undefined) return;
    if (hasBody(request)) request.once("end", () => this.#stopWaiting(key));
    else this.#stopWaiting(key);
    response.once("close", () => {
      if (!socket.destroyed) this.#wait(key, socket);
    });
  }

  #wait(key: string, socket: Socket): void {
    this.#stopWaiting(key);
    this.#waiting.set(key, { socket, since: this.#now() });
    const address = addressOf(key);
    this.#perAddress.set(address, (this.#perAddress.get(address) ?? 0) + 1);
  }

  #stopWaiting(key: string): void {
    if (!this.#waiting.delete(key)) return;
    const address = addressOf(key);
    const count = (this.#perAddress.get(address) ?? 0) - 1;
    if (count > 0) this.#perAddress.set(address, count);
    else this.#perAddress.delete(address);
  }

  #closeOldestOf(address: string): void {
    const end = this.#now() - GRACE_MS;
    for (const [key, { since }] of this.#waiting) {
      if ((this.#perAddress.get(address) ?? 0) <= this.#limits.waitingPerAddress || since > end) {
        return;
      }
      if (addressOf(key) === address) this.#close(key);
    }
  }

  #close(key: string): void {
    const socket = this.#waiting.get(key)?.socket;
    this.#stopWaiting(key);
    socket?.destroy();
  }

  #now(): number {
    return this.#clock.now().getTime();
  }
}

function keyOf({ socket }: IncomingMessage): string {
  return `${socket.remoteAddress} ${socket.remotePort}`;
}

function addressOf(key: string): string {
  return key.slice(0, key.indexOf(" "));
}

function hasBody({ headers }: IncomingMessage): boolean {
  const { "content-length": length = "0", "transfer-encoding": encoding } = headers;
  return encoding !== undefined || length !== "0";
}
