/**
 * Clients of before 2026 over HTTP. They have a session: a question to such a client goes out with one
 * request and its answer comes in with another, so that both must find the same server.
 */
import { randomUUID } from "node:crypto";
import type { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import { createServer, type ServerParts } from "./create-server.ts";
import { ClientRecord } from "./client-record.ts";

interface OlderSession {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly record: ClientRecord;
}

/** Few clients say goodbye. */
const MOST_SESSIONS = 64;

export class OlderSessions {
  readonly #parts: Omit<ServerParts, "era" | "recordOf">;
  /** The one that was not used for the longest time comes first. */
  readonly #sessions = new Map<string, OlderSession>();

  constructor(parts: Omit<ServerParts, "era" | "recordOf">) {
    this.#parts = parts;
  }

  async handle(request: Request): Promise<Response> {
    const id = request.headers.get("mcp-session-id");
    const session = id === null ? await this.#open() : this.#use(id);
    if (session === undefined) return notFound();
    return session.transport.handleRequest(request);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map(({ transport }) => transport.close()));
  }

  /** It counts once its client has introduced itself; anything else is refused by the transport. */
  async #open(): Promise<OlderSession> {
    const { sdk, setup } = this.#parts;
    const record = new ClientRecord(setup);
    const transport = new sdk.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => this.#add(id, { transport, record }),
      onsessionclosed: (id) => {
        this.#sessions.delete(id);
      },
    });
    const server = createServer({ ...this.#parts, era: "legacy", recordOf: () => record });
    await server.connect(transport);
    return { transport, record };
  }

  #use(id: string): OlderSession | undefined {
    const session = this.#sessions.get(id);
    if (session === undefined) return undefined;
    this.#sessions.delete(id);
    this.#sessions.set(id, session);
    return session;
  }

  #add(id: string, session: OlderSession): void {
    this.#sessions.set(id, session);
    if (this.#sessions.size <= MOST_SESSIONS) return;
    const oldest = [...this.#sessions].find(([, { record }]) => !record.isInUse);
    if (oldest === undefined) return;
    this.#sessions.delete(oldest[0]);
    void oldest[1].transport.close();
  }
}

function notFound(): Response {
  const error = { code: -32_001, message: "Session not found" };
  return Response.json({ jsonrpc: "2.0", id: null, error }, { status: 404 });
}
