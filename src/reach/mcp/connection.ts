/** One connection to a server, from its first response to its end. Restarts are decided elsewhere. */
import type {
  CallToolRequestOptions,
  CallToolResult,
  Client,
  InputRequiredResult,
  JSONRPCRequest,
  Tool,
} from "@modelcontextprotocol/client";
import type { McpServerSettings } from "../../settings/config/index.ts";
import { type JsonObject, MAX_TIMER_MS, settlesWithin } from "../../util/index.ts";
import { ELICITATION } from "./elicitation.ts";
import { isStreamLost, toRefusal } from "./http-transport.ts";
import { type Failure, listingFailed, type McpError, reasonOf } from "./mcp-error.ts";
import {
  PendingCalls,
  type InputResponse,
  type ServerQuestion,
  type SharedServerQuestion,
  toInputRequests,
} from "./pending-calls.ts";
import type {
  CallIds,
  ConnectionContext,
  RemoteTool,
  ResourceContent,
  ServerLink,
} from "./port.ts";
import { listTools, toCallResult } from "./remote-tool.ts";
import { SAMPLING } from "./sampling.ts";
import type { OutgoingRequest, RequestEnd } from "./server-call.ts";
import { callAsTask } from "./task-call.ts";
import type { Sdk } from "./transport.ts";

export interface ConnectionOptions {
  readonly sdk: Sdk;
  readonly settings: McpServerSettings;
  readonly context: Pick<ConnectionContext, "cwd" | "variables" | "findLogins">;
  readonly client: Client;
  readonly link: ServerLink;
  /** Called when it can no longer be used, before calls in progress are rejected. */
  readonly onEnd: (failure: Failure) => void;
  /** Called when everything has stopped. */
  readonly onClosed: (connection: Connection) => void;
  /** Called for a question outside any call. It was cancelled. */
  readonly onUnscoped: (question: ServerQuestion) => void;
  /** Called for a question that any of several calls may have asked. Has to respond. */
  readonly onShared: (question: SharedServerQuestion<ToolRequest>) => void;
}

/** One `tools/call` request. */
export interface ToolRequest extends OutgoingRequest {
  readonly tool: RemoteTool;
  readonly arguments: JsonObject;
  readonly idempotencyKey?: string;
  readonly call: CallIds;
}

/** The `_meta` key for the idempotency key of a call. */
const IDEMPOTENCY_KEY = "jp-ts/idempotency-key";

/** Statuses of an HTTP server whose session is unknown or has expired. */
const SESSION_GONE: ReadonlySet<number> = new Set([400, 404]);
const SUBSCRIBE_MS = 1000;
/** Progress is shown on one line. */
const MAX_PROGRESS_LENGTH = 1000;
/** The protocol's error code for a rejected sampling request. */
const SAMPLING_REJECTED = -1;

/** Thrown to calls that were in progress when the connection ended. */
export class ConnectionLost extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.reason);
    this.failure = failure;
  }
}

/** Thrown for an invalid result. The tool has run. */
export class InvalidResult extends Error {}

/** Thrown for a call that the server answered with an error. The tool may have run. */
export class CallRejected extends Error {}

export class Connection {
  readonly #sdk: Sdk;
  readonly #settings: McpServerSettings;
  readonly #client: Client;
  readonly #link: ServerLink;
  readonly #findRefusal: (error: unknown) => McpError | undefined;
  readonly #onEnd: (failure: Failure) => void;
  readonly #onClosed: (connection: Connection) => void;
  readonly #subscribed: Promise<void>;
  readonly #calls: PendingCalls<ToolRequest>;
  #tools: Promise<readonly RemoteTool[]> | undefined;
  #failure: Failure | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: ConnectionOptions) {
    const { client, link } = options;
    this.#sdk = options.sdk;
    this.#settings = options.settings;
    this.#client = client;
    this.#link = link;
    this.#findRefusal = (error) => toRefusal(error, options);
    this.#onEnd = options.onEnd;
    this.#onClosed = options.onClosed;
    this.#calls = new PendingCalls({
      onUnscoped: (question) => {
        question.respond({ action: "cancel" });
        options.onUnscoped(question);
      },
      onShared: options.onShared,
    });
    // The SDK's own handlers drop keywords they do not know, such as patterns and password formats.
    client.fallbackRequestHandler = (request, { mcpReq }) =>
      this.#handleRequest(request, mcpReq.signal);
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- The SDK has no other way.
    client.onclose = () => this.#end(link.endReason ?? "the connection was closed");
    client.setNotificationHandler("notifications/tools/list_changed", () => {
      this.#tools = undefined;
    });
    this.#subscribed = this.#subscribe();
    this.#subscribed.catch(() => undefined); // Changes are then never reported.
    if (client.transport === undefined) client.onclose();
  }

  /** Cached until the server reports a change. Throws `mcp_listing_failed`. */
  tools(): Promise<readonly RemoteTool[]> {
    if (this.#tools !== undefined) return this.#tools;
    const listing = this.#listTools();
    this.#tools = listing;
    listing.catch(() => {
      if (this.#tools === listing) this.#tools = undefined;
    });
    return listing;
  }

  /** Throws the signal's reason, `McpError`, `ConnectionLost`, `InvalidResult`, `CallRejected`, or the SDK's error. */
  async call(request: ToolRequest): Promise<RequestEnd> {
    const { tool, signal, onProgress } = request;
    const options: CallToolRequestOptions = {
      signal,
      timeout: MAX_TIMER_MS, // `ServerCall` enforces the limit, which pauses during questions.
      toolDefinition: definitionOf(tool),
      allowInputRequired: true,
      ...(onProgress !== undefined && {
        onprogress: ({ progress, total, message }) => {
          const count = total === undefined ? `${progress}` : `${progress} of ${total}`;
          onProgress((message ?? count).slice(0, MAX_PROGRESS_LENGTH));
        },
      }),
    };
    if (!this.#isModern && Object.keys(request.retry).length > 0) {
      const reason = "it no longer supports the protocol in which it asked";
      throw new Error(reason);
    }
    await this.#calls.enter(request);
    try {
      request.onSend();
      const { idempotencyKey: key, arguments: args, retry } = request;
      const meta = key !== undefined && { _meta: { [IDEMPOTENCY_KEY]: key } };
      const params = { name: tool.name, arguments: args, ...meta, ...retry };
      if (tool.isTask === true && !this.#isModern) {
        const as = { client: this.#client, sdk: this.#sdk, params };
        return toCallResult(await callAsTask({ ...as, options: { ...options, signal } }));
      }
      return this.#toEnd(await this.#client.callTool(params, options));
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof this.#sdk.UrlElicitationRequiredError) {
        return toUrlRequired(error.elicitations);
      }
      const refusal = this.#findRefusal(error);
      if (refusal !== undefined) throw refusal;
      if (!this.#isConnectionLost(error)) throw this.#toCallError(error);
      this.#end(reasonOf(error));
      throw new ConnectionLost(
        this.#failure ?? { reason: "the connection was closed", lastLines: [] },
      );
    } finally {
      this.#calls.leave(request);
      if (this.#failure !== undefined && this.#calls.isEmpty) void this.close();
    }
  }

  /** Throws the signal's reason, or the SDK's error. */
  async readResource(uri: string, signal: AbortSignal): Promise<readonly ResourceContent[]> {
    const { contents } = await this.#client.readResource({ uri }, { signal });
    return contents.map((content) =>
      "text" in content
        ? { type: "text", text: content.text }
        : { type: "bytes", data: content.blob },
    );
  }

  /** Ends it because of the server's behavior; the reason is a sentence without its full stop. */
  fail(reason: string): void {
    this.#link.fail(reason);
    this.#end(reason);
  }

  /** Never rejects. Safe to call twice. */
  close(): Promise<void> {
    this.#closed ??= this.#link.close().then(() => this.#onClosed(this));
    return this.#closed;
  }

  get #isModern(): boolean {
    return this.#client.getProtocolEra() === "modern";
  }

  #toEnd(result: CallToolResult | InputRequiredResult): RequestEnd {
    if (!this.#isModern || !this.#sdk.isInputRequiredResult(result)) {
      return toCallResult(result as CallToolResult); // There are only two kinds.
    }
    const { inputRequests = {}, requestState } = result;
    return {
      type: "input_required",
      requests: toInputRequests(inputRequests),
      ...(requestState !== undefined && { state: requestState }),
    };
  }

  /** Servers of the 2025 protocol send requests in the middle of a call. We support only elicitation and sampling. */
  async #handleRequest({ id, method, params }: JSONRPCRequest, withdrawn: AbortSignal) {
    const { ProtocolError, ProtocolErrorCode } = this.#sdk;
    const isSampling = method === SAMPLING && this.#settings.allowsSampling;
    if (method !== ELICITATION && !isSampling) {
      throw new ProtocolError(ProtocolErrorCode.MethodNotFound, "Method not found");
    }
    const { promise, resolve: respond } = Promise.withResolvers<InputResponse>();
    withdrawn.addEventListener("abort", () => respond({ action: "cancel" }), { once: true });
    this.#calls.take({ key: String(id), method, params, withdrawn, respond });
    const response = await promise;
    // Sampling has no other way to refuse.
    if (isSampling && "action" in response)
      throw new ProtocolError(SAMPLING_REJECTED, "Request rejected");
    return response;
  }

  #end(reason: string): void {
    if (this.#failure !== undefined || this.#closed !== undefined) return;
    this.#failure = { reason, lastLines: this.#link.lastLines };
    this.#onEnd(this.#failure);
  }

  /** Whether later calls cannot work either. */
  #isConnectionLost(error: unknown): boolean {
    if (this.#client.transport === undefined) return true;
    if (error instanceof this.#sdk.ProtocolError) return isStreamLost(error);
    if (error instanceof this.#sdk.SdkHttpError) return SESSION_GONE.has(error.status);
    return !(error instanceof this.#sdk.SdkError);
  }

  #toCallError(error: unknown): unknown {
    const { ProtocolError, SdkError, SdkErrorCode } = this.#sdk;
    if (error instanceof ProtocolError) return new CallRejected("", { cause: error });
    const isInvalid =
      error instanceof SdkError &&
      (error.code === SdkErrorCode.InvalidResult ||
        error.code === SdkErrorCode.UnsupportedResultType);
    return isInvalid ? new InvalidResult("", { cause: error }) : error;
  }

  /** Newer servers report changes only to subscribers. */
  async #subscribe(): Promise<void> {
    const { tools } = this.#client.getServerCapabilities() ?? {};
    if (!this.#isModern || tools?.listChanged !== true) return;
    await this.#client.listen({ toolsListChanged: true });
  }

  async #listTools(): Promise<readonly RemoteTool[]> {
    try {
      await settlesWithin(this.#subscribed, SUBSCRIBE_MS); // Otherwise a change in between would be missed.
      return await listTools(this.#client, this.#settings.startupTimeoutMs);
    } catch (error) {
      const refusal = this.#findRefusal(error);
      if (refusal !== undefined) throw refusal;
      const { endReason, lastLines } = this.#link;
      const reason = endReason ?? reasonOf(error);
      throw listingFailed(this.#settings.name, { reason, lastLines, cause: error });
    }
  }
}

/** Leaves out the output schema: with it, the SDK would reject results that do not match. */
function definitionOf({ name, inputSchema }: RemoteTool): Tool {
  return { name, inputSchema: inputSchema as Tool["inputSchema"] }; // As parsed by the SDK.
}

function toUrlRequired(elicitations: readonly unknown[]): RequestEnd {
  const requests = elicitations.map((params, index) => {
    return { key: String(index), method: ELICITATION, params };
  });
  return { type: "url_required", requests };
}
