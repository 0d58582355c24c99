/**
 * From settings to a server that has answered. Both generations of the protocol are spoken: a server
 * is asked on its own pipe which one it knows, so that no second process is needed to find out.
 */
import type { McpServerSettings } from "../config/index.ts";
import { abortable, MAX_TIMER_MS } from "../util/index.ts";
import { Connection, type ConnectionOptions } from "./connection.ts";
import { errorCodeOf } from "./error-code.ts";
import { createLink, type Link, type LinkOptions, type McpContext } from "./link.ts";
import { accessRefused, McpError, reasonOf, startFailed, startTimeout } from "./mcp-error.ts";
import { programNotFound } from "./program-checksum.ts";
import { loadSdk } from "./sdk.ts";

type Listeners = Pick<ConnectionOptions, "onEnd" | "onClosed" | "onStray">;

export interface OpenOptions extends Listeners {
  readonly settings: McpServerSettings;
  readonly context: McpContext;
  readonly signal: AbortSignal;
}

interface Start extends LinkOptions, Listeners {
  /** It has left when it was asked for its version, as older ones may: it is greeted at once. */
  readonly isOlder: boolean;
}

/** How long an older server may say nothing to a question that it does not know. */
const SILENCE_MS = 5000;

/** Throws `McpError`, or the signal's reason. Nothing is left running then. */
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
  const client = new sdk.Client(start.context.clientInfo, {
    versionNegotiation: { mode: "auto", probe: { timeoutMs: silenceOf(settings) } },
    inputRequired: { autoFulfill: false },
    // Questions, in both ways, and a model for those that may have one. Nobody gets our folders.
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
    const hasLeft =
      error instanceof sdk.SdkError && error.code === sdk.SdkErrorCode.EraNegotiationFailed;
    if (hasLeft && link.ending !== undefined && !isOlder)
      return connect({ ...start, isOlder: true });
    throw explain(start, link, error);
  }
  return new Connection({ ...start, client, link });
}

function silenceOf({ type, startupTimeoutMs }: McpServerSettings): number {
  return type === "stdio" ? Math.min(SILENCE_MS, startupTimeoutMs / 2) : MAX_TIMER_MS;
}

function explain({ sdk, settings, signal }: Start, link: Link, error: unknown): unknown {
  const { ending, lastLines } = link;
  if (signal.aborted) return startTimeout(settings, lastLines);
  if (settings.type === "stdio" && errorCodeOf(error) === "ENOENT") {
    return programNotFound(settings.name, settings.command);
  }
  const isRefused =
    (error instanceof sdk.SdkHttpError && (error.status === 401 || error.status === 403)) ||
    error instanceof sdk.UnauthorizedError ||
    error instanceof sdk.InsufficientScopeError;
  if (isRefused) return accessRefused(settings.name, reasonOf(error));
  return startFailed(settings, { reason: ending ?? reasonOf(error), lastLines, cause: error });
}
