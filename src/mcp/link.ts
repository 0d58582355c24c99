/** The way to a server: a program that is ours to start and end, or an address. */
import type { Transport } from "@modelcontextprotocol/client";
import type { McpServerSettings } from "../config/index.ts";
import type { Clock } from "../util/index.ts";
import { createHttpLink } from "./http-transport.ts";
import type { InputRequest } from "./input-request.ts";
import { limitOpenRequests } from "./open-requests.ts";
import { ProcessTransport } from "./process-transport.ts";
import { checkedProgram } from "./program-checksum.ts";
import type { Sdk } from "./sdk.ts";
import { serverEnvironment, type Variables } from "./server-environment.ts";

/** What all servers have in common. */
export interface McpContext {
  readonly variables: Variables;
  readonly cwd: string;
  /** Who we are, for the servers. */
  readonly clientInfo: { readonly name: string; readonly version: string };
  /** The system's if absent. */
  readonly clock?: Clock;
  /** Called for a question that was refused since no call under way has asked it. Must not throw. */
  readonly onStrayQuestion?: (question: StrayQuestion) => void;
}

/** A question of a server that nobody was asked. */
export interface StrayQuestion {
  /** By its name in the config. */
  readonly server: string;
  readonly request: InputRequest;
  /** The server's words for it, or else the name of what it wants. */
  readonly message: string;
  /** The tool whose call has asked, by its name in the config. That call was cancelled, or has ended. */
  readonly tool?: string;
}

export interface Link {
  readonly transport: Transport;
  /** What the other side did to end it, as in "it exited with status 1". */
  readonly ending: string | undefined;
  readonly lastLines: readonly string[];
  /** Closes it for something that the server did, as a sentence without its end. */
  fail(reason: string): void;
  /** Never rejects; takes little more than a second. */
  close(): Promise<void>;
}

export interface LinkOptions {
  readonly sdk: Sdk;
  readonly settings: McpServerSettings;
  readonly context: McpContext;
  readonly signal: AbortSignal;
}

/** Nothing is started yet. Throws `McpError` for settings that cannot work. */
export async function createLink(options: LinkOptions): Promise<Link> {
  const link = await openLink(options);
  limitOpenRequests(link.transport, (reason) => link.fail(reason));
  return link;
}

async function openLink({ sdk, settings, context, signal }: LinkOptions): Promise<Link> {
  const { variables, cwd } = context;
  if (settings.type === "http") return createHttpLink(sdk, settings, variables);
  const transport = new ProcessTransport(sdk, {
    command: await checkedProgram(settings, { cwd, path: variables["PATH"], signal }),
    arguments: settings.arguments,
    environment: serverEnvironment(variables, settings.variables),
    cwd,
  });
  return {
    transport,
    get ending() {
      return transport.ending;
    },
    get lastLines() {
      return transport.stderr;
    },
    fail: (reason) => transport.fail(reason),
    close: () => transport.close(),
  };
}
