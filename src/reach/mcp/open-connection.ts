/**
 * Connects to a server, from its settings to its first response. Supports both generations of the protocol: the version
 * is negotiated on the connection itself, without a second process.
 */
import type { McpServerSettings } from "../../settings/config/index.ts";
import { abortable, loadModule, MAX_TIMER_MS } from "../../util/index.ts";
import { Connection, type ConnectionOptions } from "./connection.ts";
import { createHttpLink, toRefusal } from "./http-transport.ts";
import {
  accessRefused,
  McpError,
  programNotFound,
  reasonOf,
  startFailed,
  startTimeout,
} from "./mcp-error.ts";
import type { ConnectionContext, ServerLink } from "./port.ts";
import { limitOpenRequests, loadSdk, type Sdk } from "./transport.ts";

type Listeners = Pick<ConnectionOptions, "onEnd" | "onClosed" | "onUnscoped" | "onShared">;

export interface OpenOptions extends Listeners {
  readonly settings: McpServerSettings;
  readonly context: ConnectionContext;
  readonly signal: AbortSignal;
}

interface Start extends OpenOptions {
  readonly sdk: Sdk;
  /** It exited when asked for its version, as older servers may: do not ask again. */
  readonly isOlder: boolean;
}

/** How long an older server may ignore an unknown request. */
const PROBE_MS = 5000;

/** Throws `McpError`, or the signal's reason, and then leaves nothing running. */
export async function openConnection(options: OpenOptions): Promise<Connection> {
  const { settings } = options;
  const deadline = new AbortController();
  const timer = setTimeout(
    () => deadline.abort(),
    Math.min(settings.startupTimeoutMs, MAX_TIMER_MS),
  );
  const signal = AbortSignal.any([options.signal, deadline.signal]);
  try {
    const sdk = await abortable(loadSdk(), signal);
    return await connect({ ...options, sdk, signal, isOlder: false });
  } catch (error) {
    options.signal.throwIfAborted();
    if (error instanceof McpError) throw error;
    if (deadline.signal.aborted) throw startTimeout(settings, []);
    throw startFailed(settings, { reason: reasonOf(error), lastLines: [], cause: error });
  } finally {
    clearTimeout(timer);
  }
}

async function connect(start: Start): Promise<Connection> {
  const { sdk, settings, signal, isOlder } = start;
  const link = await createLink(start);
  const probeMs =
    settings.type === "stdio" ? Math.min(PROBE_MS, settings.startupTimeoutMs / 2) : MAX_TIMER_MS;
  const client = new sdk.Client(start.context.clientInfo, {
    versionNegotiation: { mode: "auto", probe: { timeoutMs: probeMs } },
    inputRequired: { autoFulfill: false },
    // No `roots`: servers do not learn about our folders.
    capabilities: {
      elicitation: { form: {}, url: {} },
      ...(settings.allowsSampling && { sampling: {} }),
    },
  });
  const options = {
    timeout: MAX_TIMER_MS,
    ...(isOlder && { prior: { kind: "legacy" } as const }),
  };
  try {
    await abortable(client.connect(link.transport, options), signal);
  } catch (error) {
    await link.close();
    const hasExited =
      link.endReason !== undefined &&
      error instanceof sdk.SdkError &&
      error.code === sdk.SdkErrorCode.EraNegotiationFailed;
    if (hasExited && !isOlder) return connect({ ...start, isOlder: true });
    throw toStartError(start, link, error);
  }
  return new Connection({ ...start, client, link });
}

/** Throws `McpError` for invalid settings. */
async function createLink(start: Start): Promise<ServerLink> {
  const { settings, context } = start;
  const link = context.createLink?.(settings) ?? (await createLinkByType(start));
  limitOpenRequests(link.transport, (reason) => link.fail(reason));
  return link;
}

async function createLinkByType({ sdk, settings, context, signal }: Start): Promise<ServerLink> {
  if (settings.type === "http") return createHttpLink({ sdk, settings, context, signal });
  const { createStdioLink } = await loadModule(() => import("./stdio-transport.ts")); // Slow to load.
  return createStdioLink({ sdk, settings, context, signal });
}

function toStartError(start: Start, link: ServerLink, error: unknown): unknown {
  const { sdk, settings, context, signal } = start;
  const { endReason, lastLines } = link;
  if (signal.aborted) return startTimeout(settings, lastLines);
  const isMissing = error instanceof Error && "code" in error && error.code === "ENOENT";
  if (settings.type === "stdio" && isMissing) {
    return programNotFound(settings, context.variables);
  }
  const refusal = toRefusal(error, start);
  if (refusal !== undefined) return refusal;
  const isRefused =
    (error instanceof sdk.SdkHttpError && (error.status === 401 || error.status === 403)) ||
    error instanceof sdk.InsufficientScopeError;
  if (isRefused) return accessRefused(settings.name, reasonOf(error));
  return startFailed(settings, { reason: endReason ?? reasonOf(error), lastLines, cause: error });
}
