/** A server over HTTP in this process, its official client, and its records. */
import { type Agent, request } from "node:http";
import { Readable } from "node:stream";
import {
  Client,
  type ElicitResult,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { onTestFinished } from "vitest";
import { noPrompter } from "../../src/core/agent/index.ts";
import { mergeConfig, parseConfigOrThrow, resolveTools } from "../../src/settings/config/index.ts";
import { type ConversationEvent, eventsOf } from "../../src/record/conversation/index.ts";
import { createAskUser, createTool } from "../../src/reach/executor/index.ts";
import { McpServers } from "../../src/reach/mcp/index.ts";
import {
  type HttpService,
  serveHttp,
  type ServeSetup,
} from "../../src/surfaces/serve-mcp/index.ts";
import { NO_TERMINAL } from "../../src/surfaces/terminal/index.ts";
import { FakeClock, MemoryConversationStore } from "../../src/testing/index.ts";
import type { JsonObject } from "../../src/util/index.ts";
import { transcript } from "../../src/record/conversation/transcript.fixture.ts";

export const TOKEN = "a token that is hard to guess";
export const MODERN = { versionNegotiation: { mode: { pin: "2026-07-28" } } } as const;
export const LEGACY = {} as const;
export const ERAS = [
  ["of 2025", LEGACY],
  ["of 2026", MODERN],
] as const;

export interface FormRequest {
  readonly message: string;
  readonly requestedSchema: JsonObject;
}

/** The user of a client. */
type Elicited = (form: FormRequest) => ElicitResult | Promise<ElicitResult>;

export interface ClientOptions {
  readonly name?: string;
  readonly era?: typeof MODERN | typeof LEGACY;
  /** Without it the client cannot show forms. */
  readonly elicit?: Elicited;
  readonly versions?: string[];
  /** Has the client's connections, which can be closed like those of a process that ends. */
  readonly agent?: Agent;
}

export class Served {
  readonly store: MemoryConversationStore;
  readonly clock: FakeClock;
  readonly service: HttpService;

  private constructor(parts: Pick<Served, "store" | "clock" | "service">) {
    this.store = parts.store;
    this.clock = parts.clock;
    this.service = parts.service;
  }

  static async start(changed: Partial<ServeSetup> = {}, askUser: JsonObject = {}): Promise<Served> {
    const clock = new FakeClock();
    const store = new MemoryConversationStore(clock);
    const setup: ServeSetup = {
      version: "0.0.0",
      conversations: store,
      newConversation: {},
      tools: { schemas: async () => [], find: async (name) => (await findAskUser(askUser))(name) },
      readInquiries: async function* () {},
      person: { ...noPrompter, unavailableBecause: NO_TERMINAL },
      clock,
      onProblem: () => undefined,
      ...changed,
    };
    const service = await serveHttp(setup, { port: 0, token: TOKEN });
    onTestFinished(() => service.close());
    return new Served({ store, clock, service });
  }

  async connect({ name = "tester", era = LEGACY, elicit, versions, agent }: ClientOptions = {}) {
    const client = new Client(
      { name, version: "1" },
      {
        capabilities: elicit === undefined ? {} : { elicitation: { form: {} } },
        ...(versions !== undefined && { supportedProtocolVersions: versions }),
        ...era,
      },
    );
    if (elicit !== undefined) {
      client.setRequestHandler("elicitation/create", async ({ params }) =>
        elicit(params as unknown as FormRequest),
      );
    }
    const headers = { authorization: `Bearer ${TOKEN}` };
    const transport = new StreamableHTTPClientTransport(new URL(this.service.url), {
      requestInit: { headers },
      ...(agent !== undefined && { fetch: fetchOver(agent) }),
    });
    await client.connect(transport);
    onTestFinished(() => client.close());
    return client;
  }

  /** The transcript of each conversation, by title. Call ids do not contain the conversation id. */
  async record(): Promise<Readonly<Record<string, readonly string[]>>> {
    const events = await this.events();
    return Object.fromEntries(
      events.map(([title, each]) => [
        title,
        transcript(each).map((line) => line.replace(/^call_[\w-]+?_(?=\d+\b)/, "call_")),
      ]),
    );
  }

  async events(): Promise<readonly (readonly [string, readonly ConversationEvent[]])[]> {
    const summaries = await this.store.list();
    return Promise.all(
      summaries.map(async ({ id, metadata }) => {
        const { stream } = await this.store.load(id);
        return [metadata?.title ?? "", [...eventsOf(stream.entries)]] as const;
      }),
    );
  }
}

/** As `fetch` does, over the connections of an agent. */
function fetchOver(agent: Agent) {
  return async (url: string | URL, { method, headers, body, signal }: RequestInit = {}) => {
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    const sent = request(url, {
      agent,
      method: method ?? "GET",
      headers: Object.fromEntries(new Headers(headers)),
      ...(signal && { signal }),
    });
    sent.once("error", reject);
    sent.once("response", (response) => {
      const { statusCode: status = 0, headersDistinct } = response;
      const own = Object.entries(headersDistinct).map(([key, [value = ""] = []]) => [key, value]);
      const stream = Readable.toWeb(response) as BodyInit; // The same type, by two names.
      resolve(new Response(stream, { status, headers: Object.fromEntries(own) }));
    });
    sent.end(body);
    return promise;
  };
}

/** The result that the model behind a client gets. */
export async function ask(client: Client, args: JsonObject): Promise<JsonObject> {
  const { content, isError } = await client.callTool({ name: "ask_user", arguments: { ...args } });
  const [first] = content;
  return {
    text: first?.type === "text" ? first.text : "",
    ...(isError === true && { isError }),
  };
}

async function findAskUser(own: JsonObject) {
  const shipped = createAskUser();
  const raw = { conversation: { tools: { ask_user: own } } };
  const config = mergeConfig(
    { conversation: { tools: { ask_user: shipped.config } } },
    parseConfigOrThrow("the test", raw),
  );
  const settings = resolveTools(config).get("ask_user");
  const servers = new McpServers(new Map(), {
    variables: {},
    cwd: ".",
    clientInfo: { name: "test", version: "0" },
  });
  const local = { workspaceRoot: ".", workspaceId: "", conversationId: "", variables: {} };
  const { signal } = new AbortController();
  return async (name: string) => {
    if (settings?.name !== name || !settings.isEnabled) return undefined;
    const tool = await createTool(settings, { shipped: [shipped], local, servers, signal });
    // As if `describe_tools` were enabled, which it is by default.
    return { ...tool, description: { ...tool.description, hasDetails: true }, settings };
  };
}
