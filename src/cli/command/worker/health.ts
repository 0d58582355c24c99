/** Reports a worker's health over HTTP, for monitoring. Reveals nothing about conversations. */
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { JpError, messageOf } from "../../../util/index.ts";
import type { WorkerMetrics } from "./metrics.ts";

export interface Health extends AsyncDisposable {
  readonly url: string;
}

/** Throws `health_not_served`. */
export async function openHealth(
  address: { readonly host: string; readonly port: number },
  metrics: WorkerMetrics,
): Promise<Health> {
  const server = createServer((request, response) => void answer(request.url, response, metrics));
  server.headersTimeout = 5000;
  try {
    server.listen(address);
    await once(server, "listening");
  } catch (error) {
    throw new JpError(
      "health_not_served",
      `Cannot listen on ${address.host}, port ${address.port}: ${messageOf(error)}.`,
    );
  }
  return { url: urlOf(server), [Symbol.asyncDispose]: () => close(server) };
}

async function answer(
  path: string | undefined,
  response: ServerResponse,
  metrics: WorkerMetrics,
): Promise<void> {
  if (path === "/metrics") return send(response, 200, PROMETHEUS, await metrics.text());
  if (path !== "/healthz") return send(response, 404, "text/plain", "Not found.\n");
  const state = await metrics.read();
  const status = state.status === "ok" ? 200 : 503;
  return send(response, status, "application/json", `${JSON.stringify(state)}\n`);
}

const PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8";

// oxlint-disable-next-line max-params -- the parts of a response, in their order
function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { "content-type": type, "cache-control": "no-store" }).end(body);
}

function urlOf(server: Server): string {
  const { address, port, family } = server.address() as AddressInfo; // It listens on a port.
  return `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
}

async function close(server: Server): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
}
