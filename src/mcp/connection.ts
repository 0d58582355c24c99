/**
 * One connection to a server that has answered, until it ends. What its end means for the server is
 * not decided here.
 */
import type {
  CallToolRequestOptions,
  CallToolResult,
  Client,
  InputRequiredResult,
  JSONRPCRequest,
  Tool,
} from "@modelcontextprotocol/client";
import type { McpServerSettings } from "../config/index.ts";
import { type JsonObject, MAX_TIMER_MS } from "../util/index.ts";
import { isOverWithin } from "./is-over-within.ts";
import { toCallResult } from "./call-result.ts";
import { CallsUnderWay, type ServerQuestion } from "./calls-under-way.ts";
import { ELICITATION } from "./elicitation.ts";
import { isStreamLost } from "./http-transport.ts";
import { type InputResponse, toInputRequests } from "./input-request.ts";
import type { Link } from "./link.ts";
import { listTools, type RemoteTool } from "./list-tools.ts";
import { type Failure, listingFailed, reasonOf } from "./mcp-error.ts";
import { SAMPLING } from "./sampling.ts";
import type { Sdk } from "./sdk.ts";
import type { Leg, LegEnd } from "./server-call.ts";

export interface ConnectionOptions {
  readonly sdk: Sdk;
  readonly settings: McpServerSettings;
  readonly client: Client;
  readonly link: Link;
  /** Called when it cannot be used any more, before a call under way is rejected because of that. */
  readonly onEnd: (failure: Failure) => void;
  /** Called when nothing is left of it. */
  readonly onClosed: (connection: Connection) => void;
  /** Called for a question that no call can have asked. It is declined. */
  readonly onStray: (question: ServerQuestion) => void;
}

/** One request of a call. */
export interface LegRequest extends Leg {
  readonly tool: RemoteTool;
  readonly arguments: JsonObject;
}

/** With these a server of HTTP says that it does not know us, or not any more. */
const SESSION_GONE: ReadonlySet<number> = new Set([400, 404]);
const SUBSCRIBE_MS = 1000;
/** It is a line on a screen. */
const LONGEST_PROGRESS = 1000;
/** The code that the protocol has for a model's answer that is not to be had. */
const REJECTED = -1;

/** Thrown to calls that were under way when the connection ended. */
export class ConnectionLost extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.reason);
    this.failure = failure;
  }
}

export class Connection {
  readonly #sdk: Sdk;
  readonly #settings: McpServerSettings;
  readonly #client: Client;
  readonly #link: Link;
  readonly #onEnd: (failure: Failure) => void;
  readonly #onClosed: (connection: Connection) => void;
  readonly #subscribed: Promise<void>;
  readonly #calls: CallsUnderWay;
  #tools: Promise<readonly RemoteTool[]> | undefined;
  #failure: Failure | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: ConnectionOptions) {
    const { client, link } = options;
    this.#sdk = options.sdk;
    this.#settings = options.settings;
    this.#client = client;
    this.#link = link;
    this.#onEnd = options.onEnd;
    this.#onClosed = options.onClosed;
    this.#calls = new CallsUnderWay((question) => {
      question.respond({ action: "decline" });
      options.onStray(question);
    });
    // The SDK's own handlers let nothing through but what they know: no patterns, no passwords.
    client.fallbackRequestHandler = (request, { mcpReq }) =>
      this.#takeRequest(request, mcpReq.signal);
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- There is no other way to hear it.
    client.onclose = () => this.#end(link.ending ?? "the connection was closed");
    client.setNotificationHandler("notifications/tools/list_changed", () => {
      this.#tools = undefined;
    });
    this.#subscribed = this.#subscribe();
    this.#subscribed.catch(() => undefined); // Then it never tells of changes.
    if (client.transport === undefined) client.onclose();
  }

  /** Kept until the server says that they have changed. Throws `mcp_listing_failed`. */
  tools(): Promise<readonly RemoteTool[]> {
    if (this.#tools !== undefined) return this.#tools;
    const listing = this.#listTools();
    this.#tools = listing;
    listing.catch(() => {
      if (this.#tools === listing) this.#tools = undefined;
    });
    return listing;
  }

  /** Throws the signal's reason, `ConnectionLost`, or what the SDK throws. */
  async call(leg: LegRequest): Promise<LegEnd> {
    const { tool, signal, onProgress } = leg;
    const options: CallToolRequestOptions = {
      signal,
      timeout: MAX_TIMER_MS, // Whoever calls has a limit that stands still while it is asked.
      toolDefinition: definitionOf(tool),
      allowInputRequired: true,
      ...(onProgress !== undefined && {
        onprogress: ({ progress, total, message }) => {
          const count = total === undefined ? `${progress}` : `${progress} of ${total}`;
          onProgress((message ?? count).slice(0, LONGEST_PROGRESS));
        },
      }),
    };
    await this.#calls.enter(leg);
    try {
      leg.onBegin();
      const params = { name: tool.name, arguments: leg.arguments, ...leg.retry };
      return this.#toEnd(await this.#client.callTool(params, options));
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof this.#sdk.UrlElicitationRequiredError)
        return toVisits(error.elicitations);
      if (!this.#isLost(error)) throw error;
      this.#end(reasonOf(error));
      throw new ConnectionLost(this.#failure ?? { reason: "it was closed", lastLines: [] });
    } finally {
      this.#calls.leave(leg);
      if (this.#failure !== undefined && this.#calls.isEmpty) void this.close();
    }
  }

  /** Ends it for something that the server did, as a sentence without its end. */
  fail(reason: string): void {
    this.#link.fail(reason);
    this.#end(reason);
  }

  /** Never rejects. Safe to call twice. */
  close(): Promise<void> {
    this.#closed ??= this.#link.close().then(() => this.#onClosed(this));
    return this.#closed;
  }

  #toEnd(result: CallToolResult | InputRequiredResult): LegEnd {
    const isModern = this.#client.getProtocolEra() === "modern";
    if (!isModern || !this.#sdk.isInputRequiredResult(result)) {
      return toCallResult(result as CallToolResult); // There are but two.
    }
    const { inputRequests = {}, requestState } = result;
    return {
      type: "input_required",
      requests: toInputRequests(inputRequests),
      ...(requestState !== undefined && { state: requestState }),
    };
  }

  /** A server of 2025 asks in the middle of a call; for anything else we have not offered ourselves. */
  async #takeRequest({ id, method, params }: JSONRPCRequest, withdrawn: AbortSignal) {
    const { ProtocolError, ProtocolErrorCode } = this.#sdk;
    const isSampling = method === SAMPLING && this.#settings.allowsSampling;
    if (method !== ELICITATION && !isSampling) {
      throw new ProtocolError(ProtocolErrorCode.MethodNotFound, "Method not found");
    }
    const { promise, resolve: respond } = Promise.withResolvers<InputResponse>();
    // What nobody wants to know must not be kept.
    withdrawn.addEventListener("abort", () => respond({ action: "cancel" }), { once: true });
    this.#calls.take({ key: String(id), method, params, withdrawn, respond });
    const response = await promise;
    // There is no other way to decline this one.
    if (isSampling && "action" in response) throw new ProtocolError(REJECTED, "Request rejected");
    return response;
  }

  #end(reason: string): void {
    if (this.#failure !== undefined || this.#closed !== undefined) return;
    this.#failure = { reason, lastLines: this.#link.lastLines };
    this.#onEnd(this.#failure);
  }

  /** True if later calls cannot work either, as opposed to this one alone. */
  #isLost(error: unknown): boolean {
    if (this.#client.transport === undefined) return true;
    if (error instanceof this.#sdk.ProtocolError) return isStreamLost(error);
    if (error instanceof this.#sdk.SdkHttpError) return SESSION_GONE.has(error.status);
    return !(error instanceof this.#sdk.SdkError);
  }

  /** Newer servers tell of changes only to those who ask for it. */
  async #subscribe(): Promise<void> {
    const { tools } = this.#client.getServerCapabilities() ?? {};
    if (this.#client.getProtocolEra() !== "modern" || tools?.listChanged !== true) return;
    await this.#client.listen({ toolsListChanged: true });
  }

  async #listTools(): Promise<readonly RemoteTool[]> {
    try {
      await isOverWithin(this.#subscribed, SUBSCRIBE_MS); // A change in between would be missed.
      return await listTools(this.#client, this.#settings.startupTimeoutMs);
    } catch (error) {
      const { ending, lastLines } = this.#link;
      const reason = ending ?? reasonOf(error);
      throw listingFailed(this.#settings.name, { reason, lastLines, cause: error });
    }
  }
}

/** With the schema of its result it would be the SDK that decides which results are good enough. */
function definitionOf({ name, inputSchema }: RemoteTool): Tool {
  return { name, inputSchema: inputSchema as Tool["inputSchema"] }; // As the SDK has parsed it.
}

function toVisits(elicitations: readonly unknown[]): LegEnd {
  const requests = elicitations.map((params, index) => {
    return { key: String(index), method: ELICITATION, params };
  });
  return { type: "visit_required", requests };
}
