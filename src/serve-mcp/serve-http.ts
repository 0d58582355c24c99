/** A server for any number of clients on this machine that have its token. */
import { once } from "node:events";
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { CodedError, messageOf } from "../util/index.ts";
import { ClientRecord } from "./client-record.ts";
import { createServer } from "./create-server.ts";
import { findRefusal } from "./http-guard.ts";
import { OlderSessions } from "./older-sessions.ts";
import { QuestionDesk } from "./question-desk.ts";
import { loadSdk, type Sdk } from "./sdk.ts";
import type { ServeSetup } from "./setup.ts";
import { sendWebResponse, toWebRequest } from "./web-exchange.ts";

export interface HttpOptions {
  /** 0 for any that is free. */
  readonly port: number;
  readonly token: string;
}

export interface HttpService {
  readonly url: string;
  /** When it resolves, everything is on record and nobody is connected any more. */
  close(): Promise<void>;
}

const ADDRESS = "127.0.0.1";
const PATH = "/mcp";
/** For clients that do not read what they were sent. */
const GOODBYE_MS = 1000;

/** Throws `port_in_use`. */
export async function serveHttp(
  setup: ServeSetup,
  { port: wanted, token }: HttpOptions,
): Promise<HttpService> {
  const sdk = await loadSdk();
  const desk = new QuestionDesk(sdk, setup);
  const clients = createHandler(sdk, { setup, desk });
  const open = new Set<Promise<void>>();
  let port = wanted;
  const http = createHttpServer((request, response) => {
    const refusal = findRefusal(request.headers, { port, token });
    if (refusal !== undefined) return refuse(response, refusal.status, refusal.message);
    const [path] = request.url?.split("?") ?? [];
    if (path !== PATH) return refuse(response, 404, `There is nothing here but ${PATH}.`);
    const responding = respond(request, response);
    open.add(responding);
    void responding.finally(() => open.delete(responding));
  });
  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    try {
      const answer = await clients.handle(toWebRequest(request, response));
      await sendWebResponse(answer, response);
    } catch (error) {
      setup.onProblem(messageOf(error));
      if (!response.headersSent) refuse(response, 500, "Something unexpected happened.");
    }
  };
  http.listen(wanted, ADDRESS);
  await once(http, "listening").catch((error: unknown) => {
    throw cannotListen(error, wanted);
  });
  ({ port } = http.address() as AddressInfo); // It listens on a port.
  return {
    url: `http://${ADDRESS}:${port}${PATH}`,
    close: async () => {
      const closed = once(http, "close");
      http.close();
      await desk.close();
      await clients.close();
      const done = new AbortController();
      const patience = setup.clock.sleep(GOODBYE_MS, done.signal);
      await Promise.race([Promise.allSettled(open), patience]);
      done.abort();
      http.closeAllConnections();
      await closed;
    },
  };
}

interface Served {
  readonly setup: ServeSetup;
  readonly desk: QuestionDesk;
}

/** Clients of both kinds, told apart by their requests. */
function createHandler(sdk: Sdk, { setup, desk }: Served) {
  const older = new OlderSessions({ sdk, setup, desk });
  // These have no sessions: for the record, who has the same name is the same client.
  const records = new Map<string, ClientRecord>();
  const recordOf = ({ name }: { readonly name: string }) => {
    const record = records.get(name) ?? new ClientRecord(setup);
    records.set(name, record);
    return record;
  };
  const newer = sdk.createMcpHandler(
    ({ era }) => createServer({ sdk, setup, desk, era, recordOf }),
    // A person may take longer than a client waits for the first byte of a response.
    { legacy: "reject", responseMode: "sse" },
  );
  return {
    handle: async (request: Request): Promise<Response> =>
      (await sdk.isLegacyRequest(request)) ? older.handle(request) : newer.fetch(request),
    close: async () => {
      await Promise.all([older.close(), newer.close()]);
    },
  };
}

function refuse(response: ServerResponse, status: number, message: string): void {
  const headers = {
    "content-type": "text/plain; charset=utf-8",
    ...(status === 401 && { "www-authenticate": "Bearer" }),
  };
  response.writeHead(status, headers).end(`${message}\n`);
}

function cannotListen(error: unknown, port: number): unknown {
  const { code } = error as NodeJS.ErrnoException; // That is what listening throws.
  if (code !== "EADDRINUSE" && code !== "EACCES") return error;
  const why = code === "EACCES" ? "is not allowed" : "is in use";
  return new CodedError("port_in_use", `Port ${port} of ${ADDRESS} ${why}.`, {
    hint: "Give another one with --port, or none for any that is free.",
    cause: error,
  });
}
