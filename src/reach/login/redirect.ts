/** The redirect that ends a login: received on this machine, or pasted. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { isJpError, isSameSecret, listen } from "../../util/index.ts";

/** The authorization server's reply, which the browser brings along. */
export interface Redirect {
  readonly code?: string;
  readonly error?: string;
  readonly description?: string;
  readonly issuer?: string;
}

/** The address that the browser is sent to, and what arrives there. */
export interface RedirectListener {
  readonly url: string;
  /** The first redirect with this state. Others are refused, and do not end the wait. */
  receive(state: string): Promise<Redirect>;
  close(): void;
}

const HOST = "127.0.0.1";
const PATH = "/callback";

const HEADERS = {
  "content-type": "text/plain; charset=utf-8",
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
} as const;
const THANKS = "jp has what it needs. You can close this page, and go back to the terminal.\n";
const REFUSAL = "This is not the reply that jp waits for. Use the link that it has just printed.\n";

/** `port`: fixed, because the client was registered with it. `earlier`: the port of the last login, if it is free. */
export async function listenForRedirect({
  port,
  earlier = 0,
}: {
  readonly port?: number | undefined;
  readonly earlier?: number | undefined;
}): Promise<RedirectListener> {
  const server = createServer({ requestTimeout: 5000 });
  const used = await listen(server, { host: HOST, port: port ?? earlier }).catch(
    async (error: unknown) => {
      if (port !== undefined || earlier === 0 || !isJpError(error)) throw error;
      return listen(server, { host: HOST, port: 0 });
    },
  );
  const url = `http://${HOST}:${used}${PATH}`;
  return {
    url,
    receive: (state) =>
      new Promise((resolve) => {
        server.on("request", (request: IncomingMessage, response: ServerResponse) => {
          const redirect = accept(request, url, state);
          response.writeHead(redirect === undefined ? 400 : 200, {
            ...HEADERS,
            connection: "close",
          });
          response.end(redirect === undefined ? REFUSAL : THANKS);
          if (redirect !== undefined) resolve(redirect);
        });
      }),
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Another host name would be a web page that uses DNS to reach this port. */
function accept({ method, url = "", headers }: IncomingMessage, own: string, state: string) {
  if (method !== "GET" || headers.host !== new URL(own).host) return undefined;
  return parseRedirect(url, own, state);
}

/** Undefined if it is for another login, or no redirect at all. */
export function parseRedirect(text: string, own: string, state: string): Redirect | undefined {
  const url = URL.parse(text.trim(), own);
  if (url === null || `${url.origin}${url.pathname}` !== own) return undefined;
  const { searchParams: query } = url;
  if (!isSameSecret(query.get("state") ?? "", state)) return undefined;
  const [code, error, description, issuer] = ["code", "error", "error_description", "iss"].map(
    (name) => query.get(name) ?? undefined,
  );
  if (code === undefined && error === undefined) return undefined;
  return {
    ...(code !== undefined && { code }),
    ...(error !== undefined && { error }),
    ...(description !== undefined && { description }),
    ...(issuer !== undefined && { issuer }),
  };
}
