/** MCP servers for tests, closed when the test ends, and helpers to wait for them. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { setImmediate, setTimeout as delay } from "node:timers/promises";
import { InMemoryTransport } from "@modelcontextprotocol/client";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { inject, onTestFinished } from "vitest";
import type { McpServerSettings } from "../../src/settings/config/index.ts";
import {
  type CallResult,
  type McpContext,
  McpError,
  type McpServer,
  McpServers,
  type ServerLink,
  type Variables,
} from "../../src/reach/mcp/index.ts";
import type { JsonObject } from "../../src/util/index.ts";
import { temporaryFolder } from "../../src/stores/temporary-workspace.fixture.ts";
import { createTestServer, type TestServerOptions } from "./test-server-tools.ts";

type StdioSettings = Extract<McpServerSettings, { type: "stdio" }>;
type HttpSettings = Extract<McpServerSettings, { type: "http" }>;

export const TEST_PROGRAM = path.join(inject("programs"), "server.mjs");
const ROOT = path.join(import.meta.dirname, "..", "..");

export const EVERYTHING = path.join(
  ROOT,
  "node_modules/@modelcontextprotocol/server-everything/dist/index.js",
);

export const never = new AbortController().signal;

/** Programs in TypeScript start three times as fast the second time. */
export const NODE_COMPILE_CACHE = path.join(ROOT, "node_modules", ".cache", "node-compile");
const variables: Variables = { PATH: process.env["PATH"], NODE_COMPILE_CACHE };

export interface TestServer {
  readonly servers: McpServers;
  /** Waits until it is ready. */
  readonly get: () => Promise<McpServer>;
  /** What the server has logged, line by line. */
  readonly log: () => readonly string[];
}

export interface TestServerProgram extends TestServer {
  /** The processes that were started, in order. */
  readonly pids: () => readonly number[];
}

/** The generation of the protocol that a server supports: that of 2025, or that of 2026. */
export type Generation = "older" | "newer";

export const GENERATIONS: readonly Generation[] = ["older", "newer"];

interface InProcessOptions extends Omit<TestServerOptions, "log"> {
  readonly context?: Partial<McpContext>;
  readonly settings?: Partial<StdioSettings>;
}

/** The test server in this process, for tests that show nothing about programs. It takes no time to start. */
export function inProcessServer(
  generation: Generation,
  { context = {}, settings = {}, ...options }: InProcessOptions = {},
): TestServer {
  const lines: string[] = [];
  const make = () => createTestServer({ log: (line) => lines.push(line), ...options });
  const createLink = () =>
    inMemoryLink((transport) => {
      lines.push("connected");
      if (generation === "newer") serveStdio(make, { transport, legacy: "reject" });
      else void make().connect(transport);
    });
  const servers = serversOf([{ ...programSettings("test", []), ...settings }], {
    ...context,
    createLink,
  });
  return { servers, get: () => getServer(servers, "test"), log: () => lines };
}

function inMemoryLink(serve: (transport: InMemoryTransport) => void): ServerLink {
  const [transport, other] = InMemoryTransport.createLinkedPair();
  for (const end of [transport, other]) delayLikePipe(end);
  let endReason: string | undefined;
  serve(other);
  return {
    transport,
    get endReason() {
      return endReason;
    },
    lastLines: [],
    fail: (reason) => {
      endReason ??= reason;
      void transport.close();
    },
    close: () => transport.close(),
  };
}

/** Sends a copy of each message, and sends it later, as a pipe does. */
function delayLikePipe(transport: InMemoryTransport): void {
  const send = transport.send.bind(transport);
  transport.send = async (message, options) => {
    const copy = JSON.parse(JSON.stringify(message)) as typeof message;
    await setImmediate();
    await send(copy, options);
  };
}

/** The test server as a program, with flags such as `--mode=older`. */
export function testServer(
  flags: readonly string[] = [],
  { context = {}, ...changed }: Partial<StdioSettings> & { context?: Partial<McpContext> } = {},
): TestServerProgram {
  const file = path.join(temporaryFolder(), "log");
  const settings: StdioSettings = {
    ...programSettings("test", [TEST_PROGRAM, `--log=${file}`, ...flags]),
    ...changed,
  };
  const servers = serversOf([settings], context);
  const log = () => (existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : []);
  return {
    servers,
    get: () => getServer(servers, "test"),
    log,
    pids: () =>
      log()
        .filter((line) => line.startsWith("started "))
        .map((line) => Number(line.replace("started ", ""))),
  };
}

export function programSettings(name: string, args: readonly string[]): StdioSettings {
  return {
    type: "stdio",
    name,
    isOptional: false,
    allowsSecrets: false,
    allowsSampling: false,
    startupTimeoutMs: 20_000,
    command: process.execPath,
    arguments: args,
    variables: ["NODE_COMPILE_CACHE"],
  };
}

export function httpSettings(
  name: string,
  url: string,
  headers: HttpSettings["headers"] = {},
): HttpSettings {
  return {
    type: "http",
    name,
    url,
    headers,
    isOptional: false,
    allowsSecrets: false,
    allowsSampling: false,
    startupTimeoutMs: 20_000,
  };
}

export function serversOf(
  settings: readonly McpServerSettings[],
  context: Partial<McpContext> = {},
): McpServers {
  const servers = openServers(settings, context);
  onTestFinished(() => servers.close());
  return servers;
}

/** The same, but the caller closes them. */
export function openServers(
  settings: readonly McpServerSettings[],
  context: Partial<McpContext> = {},
): McpServers {
  return new McpServers(new Map(settings.map((server) => [server.name, server])), {
    cwd: ROOT,
    clientInfo: { name: "jp-test", version: "0.0.0" },
    ...context,
    variables: { ...variables, ...context.variables },
  });
}

export async function getServer(servers: McpServers, name: string): Promise<McpServer> {
  const reached = await servers.get(name, never);
  if (reached.type === "absent") throw reached.warning;
  return reached.server;
}

export interface CallOptions {
  readonly arguments?: JsonObject;
  readonly timeoutMs?: number;
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
  readonly onProgress?: (message: string) => void;
}

/** Calls a tool that does not ask. */
export async function call(
  server: McpServer,
  name: string,
  { arguments: given = {}, timeoutMs = 0, idempotencyKey, ...step }: CallOptions = {},
): Promise<CallResult> {
  const tool = { name, inputSchema: { type: "object" } };
  const { type, ...end } = await server
    .call({
      tool,
      name,
      arguments: given,
      timeoutMs,
      ...(idempotencyKey !== undefined && { idempotencyKey }),
    })
    .next({ signal: never, ...step });
  if (type === "asks" || !("content" in end)) throw new Error(`${name} asks`);
  return { type, content: end.content };
}

export async function errorOf(work: Promise<unknown>): Promise<McpError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof McpError) return error;
    throw error;
  }
  throw new Error("it did not throw");
}

/** Waits for a condition, for at most ten seconds. */
export async function until(isTrue: () => boolean): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!isTrue()) {
    if (Date.now() > deadline) throw new Error(`timed out waiting for ${String(isTrue)}`);
    await delay(10);
  }
}

/** Waits until the server has logged all of these lines, in any order. */
export function untilLogged(log: TestServer["log"], ...lines: readonly string[]): Promise<void> {
  return until(() => lines.every((line) => log().includes(line)));
}

/** Waits for the restart after a crash. A call during the crash may still fail. */
export async function untilRestarted(server: McpServer): Promise<void> {
  const deadline = Date.now() + 20_000;
  while ((await call(server, "pid")).type !== "success") {
    if (Date.now() > deadline) throw new Error("it was not restarted");
  }
}

/** False for a zombie. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    const stat = `/proc/${pid}/stat`;
    return !existsSync(stat) || !/\) [ZX] /.test(readFileSync(stat, "utf8"));
  } catch {
    return false;
  }
}
