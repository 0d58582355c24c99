/**
 * Keeps clients that open connections and send nothing from locking out the others. A connection waits as long as no
 * whole request has come on it. Of those that wait, only so many are kept: the oldest is closed for a new one.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

export interface ConnectionLimits {
  readonly connections: number;
  /** Of one address: how many of them may wait for a request. */
  readonly waitingPerAddress: number;
}

/** May be shared by several servers. */
export class Connections {
  readonly #limits: ConnectionLimits;
  /** By address and port, which also identify the connection below TLS. The one that waits longest comes first. */
  readonly #waiting = new Map<string, Socket>();
  readonly #perAddress = new Map<string, number>();
  readonly #sockets = new Map<string, Socket>();

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  watch(server: Server): void {
    server.on("connection", (socket: Socket) => this.#add(socket));
    server.on("request", (request: IncomingMessage, response: ServerResponse) =>
      this.#onRequest(request, response),
    );
  }

  #add(socket: Socket): void {
    const { remoteAddress: address, remotePort } = socket;
    if (address === undefined) return void socket.destroy(); // It is gone already.
    const key = `${address} ${remotePort}`;
    this.#sockets.set(key, socket);
    this.#wait(key, socket);
    socket.once("close", () => {
      this.#sockets.delete(key);
      this.#stopWaiting(key);
    });
    const { connections, waitingPerAddress } = this.#limits;
    if ((this.#perAddress.get(address) ?? 0) > waitingPerAddress) this.#closeOldest(address);
    if (this.#sockets.size > connections) this.#closeOldest();
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
    this.#waiting.set(key, socket);
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

  #closeOldest(address?: string): void {
    for (const [key, socket] of this.#waiting) {
      if (address !== undefined && addressOf(key) !== address) continue;
      this.#stopWaiting(key);
      socket.destroy();
      return;
    }
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
