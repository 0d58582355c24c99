/** A server on loopback, for tests that load pages. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export async function servePages(
  answer: (path: string, response: ServerResponse, request: IncomingMessage) => void,
) {
  const server = createServer((request, response) => answer(request.url ?? "", response, request));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // It listens on a port.
  return {
    port,
    /** Includes the port. */
    host: `127.0.0.1:${port}`,
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
